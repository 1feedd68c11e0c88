//! Attention with one head, forward and backward, from the weights and the input of a case.
//!
//!     handformer check --write single-head case.safetensors
//!     rustc -O single_head.rs
//!     ./single_head case.safetensors dump.safetensors
//!     handformer check dump.safetensors --against case.safetensors

mod tensors;
use std::{env, io, process};
use tensors::{broken, Tensor, Tensors};

impl Tensor {
    /// A matrix, from what stands in row r and column c.
    fn matrix(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Tensor {
        let data = (0..rows * columns).map(|n| entry(n / columns, n % columns)).collect();
        Tensor { shape: vec![rows, columns], data }
    }

    fn at(&self, r: usize, c: usize) -> f64 {
        self.data[r * self.shape[1] + c]
    }

    fn turned(&self) -> Tensor {
        Tensor::matrix(self.shape[1], self.shape[0], |r, c| self.at(c, r))
    }

    fn times(&self, other: &Tensor) -> Tensor {
        let product = |r, c| (0..self.shape[1]).map(|n| self.at(r, n) * other.at(n, c)).sum();
        Tensor::matrix(self.shape[0], other.shape[1], product)
    }

    fn over_root(self, of: usize) -> Tensor {
        let root = (of as f64).sqrt();
        Tensor { data: self.data.iter().map(|number| number / root).collect(), ..self }
    }
}

/// attn[t,s] = exp(scores[t,s]) / sum(s, exp(scores[t,s])), from which the largest of a row cancels out
fn softmax(scores: &Tensor) -> Tensor {
    let rows = scores.data.chunks(scores.shape[1]).flat_map(|row| {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = row.iter().map(|score| (score - top).exp()).collect();
        let total: f64 = powers.iter().sum();
        powers.into_iter().map(move |power| power / total)
    });
    Tensor { shape: scores.shape.clone(), data: rows.collect() }
}

/// d_scores[t,s] = attn[t,s] * (d_attn[t,s] - sum(s, d_attn[t,s] * attn[t,s]))
fn softmax_backward(attn: &Tensor, d_attn: &Tensor) -> Tensor {
    let mean = |r| (0..attn.shape[1]).map(|c| d_attn.at(r, c) * attn.at(r, c)).sum::<f64>();
    Tensor::matrix(attn.shape[0], attn.shape[1], |r, c| attn.at(r, c) * (d_attn.at(r, c) - mean(r)))
}

/// Each array with the name of its variable.
macro_rules! named {
    ($($made:ident,)*) => { [$((stringify!($made).to_string(), $made)),*] };
}

fn run() -> io::Result<()> {
    let [_, case, dump] = &env::args().collect::<Vec<_>>()[..] else {
        return broken("expected CASE and DUMP, two files");
    };
    let from = Tensors::open(case)?;
    let [w_q, w_k, w_v, w_o] = [from.get("w_q")?, from.get("w_k")?, from.get("w_v")?, from.get("w_o")?];
    let [x, d_out] = [from.get("x")?, from.get("d_out")?];

    let [q, k, v] = [x.times(&w_q), x.times(&w_k), x.times(&w_v)];
    let scores = q.times(&k.turned()).over_root(q.shape[1]);
    let attn = softmax(&scores);
    let context = attn.times(&v);
    let out = context.times(&w_o);

    let d_w_o = context.turned().times(&d_out);
    let d_context = d_out.times(&w_o.turned());
    let d_v = attn.turned().times(&d_context);
    let d_attn = d_context.times(&v.turned());
    let d_scores = softmax_backward(&attn, &d_attn);
    let d_q = d_scores.times(&k).over_root(q.shape[1]);
    let d_k = d_scores.turned().times(&q).over_root(q.shape[1]);
    let [d_w_q, d_w_k, d_w_v] = [&d_q, &d_k, &d_v].map(|made| x.turned().times(made));

    tensors::write(dump, &named![
        q, k, v, scores, attn, context, out,
        d_context, d_attn, d_scores, d_q, d_k, d_v, d_w_q, d_w_k, d_w_v, d_w_o,
    ])
}

fn main() {
    if let Err(error) = run() {
        eprintln!("single_head: {error}");
        process::exit(2);
    }
}

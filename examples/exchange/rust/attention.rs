//! The first steps of attention in block 0 of a GPT-2, from the weights and the input of a case.
//!
//!     rustc -O attention.rs
//!     ./attention CASE.safetensors DUMP.safetensors
//!     handformer check DUMP.safetensors --against CASE.safetensors

mod tensors;
use std::{env, io, process};
use tensors::{broken, Tensor, Tensors};

/// out[b,h,t,c] = sum(i, x[b,t,i] * w[i,h*d_k+c]) + bias[h*d_k+c]
fn project(x: &Tensor, w: &Tensor, bias: &Tensor, heads: usize) -> Tensor {
    let [batch, places, width] = x.shape[..] else { panic!("x has three axes") };
    let (columns, d_k) = (w.shape[1], w.shape[1] / heads);
    let mut data = Vec::with_capacity(batch * places * columns);
    for b in 0..batch {
        for h in 0..heads {
            for t in 0..places {
                for j in h * d_k..(h + 1) * d_k {
                    let row = &x.data[(b * places + t) * width..][..width];
                    let products = row.iter().enumerate().map(|(i, x)| x * w.data[i * columns + j]);
                    data.push(products.sum::<f64>() + bias.data[j]);
                }
            }
        }
    }
    Tensor { shape: vec![batch, heads, places, d_k], data }
}

/// scores[b,h,t,s] = sum(c, q[b,h,t,c] * k[b,h,s,c]) / sqrt(d_k)
fn compare(q: &Tensor, k: &Tensor) -> Tensor {
    let [batch, heads, places, d_k] = q.shape[..] else { panic!("q has four axes") };
    let mut data = Vec::new();
    let one = places * d_k; // the numbers of one head
    for (queries, keys) in q.data.chunks(one).zip(k.data.chunks(one)) {
        for query in queries.chunks(d_k) {
            for key in keys.chunks(d_k) {
                let product: f64 = query.iter().zip(key).map(|(q, k)| q * k).sum();
                data.push(product / (d_k as f64).sqrt());
            }
        }
    }
    Tensor { shape: vec![batch, heads, places, places], data }
}

fn run() -> io::Result<()> {
    let [_, case, dump] = &env::args().collect::<Vec<_>>()[..] else {
        return broken("expected CASE and DUMP, two files");
    };
    let from = Tensors::open(case)?;
    let part = |name: &str| from.get(&format!("blocks.0.attention.{name}"));
    let (x, heads) = (from.get("blocks.0.norm_1.out")?, part("q")?.shape[1]);
    let q = project(&x, &part("w_q")?, &part("b_q")?, heads);
    let k = project(&x, &part("w_k")?, &part("b_k")?, heads);
    let scores = compare(&q, &k);
    let made = [("q", q), ("k", k), ("scores", scores)];
    tensors::write(dump, &made.map(|(name, made)| (format!("blocks.0.attention.{name}"), made)))
}

fn main() {
    if let Err(error) = run() {
        eprintln!("attention: {error}");
        process::exit(2);
    }
}

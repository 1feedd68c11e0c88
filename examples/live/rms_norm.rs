// RMSNorm's forward, as handformer calls it.
//
//     rustc -O --crate-type cdylib rms_norm.rs -o librms_norm.so
//     handformer check --op rms_norm --with ./librms_norm.so
//
// in[0] x, in[1] gamma, scalars[0] eps; out[0] rrms, out[1] x_hat, out[2] y.
// What isn't written (here: nothing) is computed by handformer itself; y has to be.

use std::os::raw::{c_int, c_void};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// # Safety
/// The pointers are handformer's: arrays of the shapes that stand beside them.
#[no_mangle]
pub unsafe extern "C" fn handformer_forward(
    n_in: c_int, inputs: *const *const c_void, in_shape: *const *const i64, in_rank: *const c_int,
    n_out: c_int, outputs: *const *mut c_void, _out_shape: *const *const i64,
    _out_rank: *const c_int, scalars: *const f64,
) -> c_int {
    if n_in != 2 || n_out != 3 {
        return 1;
    }
    let shape = from_raw_parts(*in_shape, *in_rank as usize);
    let width = shape[shape.len() - 1] as usize;
    let rows = shape[..shape.len() - 1].iter().product::<i64>() as usize;
    let x = from_raw_parts(*inputs as *const f32, rows * width);
    let gamma = from_raw_parts(*inputs.add(1) as *const f32, width);
    let rrms = from_raw_parts_mut(*outputs as *mut f32, rows);
    let x_hat = from_raw_parts_mut(*outputs.add(1) as *mut f32, rows * width);
    let y = from_raw_parts_mut(*outputs.add(2) as *mut f32, rows * width);
    let eps = *scalars as f32;
    for row in 0..rows {
        let at = row * width;
        let squares: f32 = x[at..at + width].iter().map(|v| v * v).sum();
        rrms[row] = 1.0 / (squares / width as f32 + eps).sqrt();
        for i in 0..width {
            x_hat[at + i] = x[at + i] * rrms[row];
            y[at + i] = x_hat[at + i] * gamma[i];
        }
    }
    0
}

// The first steps of attention in block 0 of a GPT-2, from the weights and the input of a case.
//
//   node attention.mjs CASE.safetensors DUMP.safetensors
//   handformer check DUMP.safetensors --against CASE.safetensors
import { readTensors, writeTensors } from "./tensors.mjs";

// out[b,h,t,c] = sum(i, x[b,t,i] * w[i,h*dK+c]) + bias[h*dK+c]
function project(x, w, bias, heads) {
  const [batch, places, width] = x.shape, columns = w.shape[1], dK = columns / heads;
  const data = [];
  for (let b = 0; b < batch; b++)
    for (let h = 0; h < heads; h++)
      for (let t = 0; t < places; t++)
        for (let j = h * dK; j < (h + 1) * dK; j++) {
          let sum = bias.data[j];
          for (let i = 0; i < width; i++) sum += x.data[(b * places + t) * width + i] * w.data[i * columns + j];
          data.push(sum);
        }
  return { shape: [batch, heads, places, dK], data };
}

// scores[b,h,t,s] = sum(c, q[b,h,t,c] * k[b,h,s,c]) / sqrt(dK)
function compare(q, k) {
  const [batch, heads, places, dK] = q.shape;
  const data = [];
  for (let pair = 0; pair < batch * heads; pair++)
    for (let t = 0; t < places; t++)
      for (let s = 0; s < places; s++) {
        let sum = 0;
        for (let c = 0; c < dK; c++) sum += q.data[(pair * places + t) * dK + c] * k.data[(pair * places + s) * dK + c];
        data.push(sum / Math.sqrt(dK));
      }
  return { shape: [batch, heads, places, places], data };
}

try {
  const [, , from, to, ...more] = process.argv;
  if (!to || more.length) throw new Error("expected CASE and DUMP, two files");
  const tensors = readTensors(from);
  const get = (name) => {
    if (!(name in tensors)) throw new Error(`no ${name} in the case`);
    return tensors[name];
  };
  const at = "blocks.0.attention.";
  const x = get("blocks.0.norm_1.out"), heads = get(at + "q").shape[1];
  const q = project(x, get(at + "w_q"), get(at + "b_q"), heads);
  const k = project(x, get(at + "w_k"), get(at + "b_k"), heads);
  writeTensors(to, { [at + "q"]: q, [at + "k"]: k, [at + "scores"]: compare(q, k) });
} catch (error) {
  console.error(`attention: ${error.message}`);
  process.exitCode = 2;
}

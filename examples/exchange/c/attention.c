/* The first steps of attention in block 0 of a GPT-2, from the weights and the input of a case.

     cc -O2 -o attention attention.c -lm
     ./attention CASE.safetensors DUMP.safetensors
     handformer check DUMP.safetensors --against CASE.safetensors */
#include <math.h>
#include "tensors.h"

/* out[b,h,t,c] = sum(i, x[b,t,i] * w[i,h*d_k+c]) + bias[h*d_k+c] */
static Tensor project(Tensor x, Tensor w, Tensor bias, size_t heads) {
    size_t B = x.shape[0], T = x.shape[1], I = x.shape[2], J = w.shape[1], d_k = J / heads;
    Tensor out = tensor_like(4, (size_t[]){B, heads, T, d_k});
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t t = 0; t < T; t++)
                for (size_t c = 0; c < d_k; c++) {
                    size_t j = h * d_k + c;
                    double sum = bias.data[j];
                    for (size_t i = 0; i < I; i++)
                        sum += x.data[(b * T + t) * I + i] * w.data[i * J + j];
                    out.data[((b * heads + h) * T + t) * d_k + c] = sum;
                }
    return out;
}

int main(int count, char **given) {
    if (count != 3) fail("expected CASE and DUMP, two files", "attention");
    Tensors from = tensors_open(given[1]);
    size_t heads = tensors_get(&from, "blocks.0.attention.q").shape[1];
    Tensor x = tensors_get(&from, "blocks.0.norm_1.out");
    Tensor q = project(x, tensors_get(&from, "blocks.0.attention.w_q"),
                       tensors_get(&from, "blocks.0.attention.b_q"), heads);
    Tensor k = project(x, tensors_get(&from, "blocks.0.attention.w_k"),
                       tensors_get(&from, "blocks.0.attention.b_k"), heads);
    /* scores[b,h,t,s] = sum(c, q[b,h,t,c] * k[b,h,s,c]) / sqrt(d_k) */
    size_t pairs = q.shape[0] * heads, T = q.shape[2], d_k = q.shape[3];
    Tensor scores = tensor_like(4, (size_t[]){q.shape[0], heads, T, T});
    for (size_t p = 0; p < pairs; p++)
        for (size_t t = 0; t < T; t++)
            for (size_t s = 0; s < T; s++) {
                double sum = 0;
                for (size_t c = 0; c < d_k; c++)
                    sum += q.data[(p * T + t) * d_k + c] * k.data[(p * T + s) * d_k + c];
                scores.data[(p * T + t) * T + s] = sum / sqrt((double)d_k);
            }
    const char *names[] = {"blocks.0.attention.q", "blocks.0.attention.k", "blocks.0.attention.scores"};
    tensors_write(given[2], 3, names, (Tensor[]){q, k, scores});
    return 0;
}

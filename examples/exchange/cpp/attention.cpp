// The first steps of attention in block 0 of a GPT-2, from the weights and the input of a case.
//
//   c++ -std=c++17 -O2 -o attention attention.cpp
//   ./attention CASE.safetensors DUMP.safetensors
//   handformer check DUMP.safetensors --against CASE.safetensors
#include <cmath>
#include <iostream>
#include "tensors.hpp"

// out[b,h,t,c] = sum(i, x[b,t,i] * w[i,h*d_k+c]) + bias[h*d_k+c]
Tensor project(const Tensor &x, const Tensor &w, const Tensor &bias, std::size_t heads) {
    const auto B = x.shape[0], T = x.shape[1], I = x.shape[2], J = w.shape[1], d_k = J / heads;
    Tensor out({B, heads, T, d_k});
    for (std::size_t b = 0; b < B; b++)
        for (std::size_t t = 0; t < T; t++)
            for (std::size_t j = 0; j < J; j++) {
                double sum = bias.data[j];
                for (std::size_t i = 0; i < I; i++) sum += x.data[(b * T + t) * I + i] * w.data[i * J + j];
                out.data[((b * heads + j / d_k) * T + t) * d_k + j % d_k] = sum;
            }
    return out;
}

// scores[b,h,t,s] = sum(c, q[b,h,t,c] * k[b,h,s,c]) / sqrt(d_k)
Tensor compare(const Tensor &q, const Tensor &k) {
    const auto T = q.shape[2], d_k = q.shape[3], pairs = q.shape[0] * q.shape[1];
    Tensor scores({q.shape[0], q.shape[1], T, T});
    for (std::size_t p = 0; p < pairs; p++)
        for (std::size_t t = 0; t < T; t++)
            for (std::size_t s = 0; s < T; s++) {
                double sum = 0;
                for (std::size_t c = 0; c < d_k; c++)
                    sum += q.data[(p * T + t) * d_k + c] * k.data[(p * T + s) * d_k + c];
                scores.data[(p * T + t) * T + s] = sum / std::sqrt(static_cast<double>(d_k));
            }
    return scores;
}

int main(int count, char **given) try {
    if (count != 3) throw std::runtime_error("expected CASE and DUMP, two files");
    const Tensors from(given[1]);
    const std::string at = "blocks.0.attention.";
    const auto heads = from.get(at + "q").shape.at(1);
    const Tensor x = from.get("blocks.0.norm_1.out");
    const Tensor q = project(x, from.get(at + "w_q"), from.get(at + "b_q"), heads);
    const Tensor k = project(x, from.get(at + "w_k"), from.get(at + "b_k"), heads);
    write_tensors(given[2], {{at + "q", q}, {at + "k", k}, {at + "scores", compare(q, k)}});
} catch (const std::exception &error) {
    std::cerr << "attention: " << error.what() << "\n";
    return 2;
}

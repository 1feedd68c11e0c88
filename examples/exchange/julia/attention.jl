# The first steps of attention in block 0 of a GPT-2, from the weights and the input of a case.
#
#   julia attention.jl CASE.safetensors DUMP.safetensors
#   handformer check DUMP.safetensors --against CASE.safetensors
include("tensors.jl")
using .Tensors

# out[b,h,t,c] = sum(i, x[b,t,i] * w[i,(h-1)*d_k+c]) + bias[(h-1)*d_k+c], with h and c from 1
function project(x, w, bias, heads)
    B, T, _ = size(x)
    d_k = size(w, 2) ÷ heads
    return [sum(x[b, t, :] .* w[:, (h-1)*d_k+c]) + bias[(h-1)*d_k+c]
            for b in 1:B, h in 1:heads, t in 1:T, c in 1:d_k]
end

# scores[b,h,t,s] = sum(c, q[b,h,t,c] * k[b,h,s,c]) / sqrt(d_k)
function compare(q, k)
    B, H, T, d_k = size(q)
    return [sum(q[b, h, t, :] .* k[b, h, s, :]) / sqrt(d_k) for b in 1:B, h in 1:H, t in 1:T, s in 1:T]
end

length(ARGS) == 2 || error("expected CASE and DUMP, two files")
from = read_tensors(ARGS[1])
at = "blocks.0.attention."
heads = size(from[at*"q"], 2)
x = from["blocks.0.norm_1.out"]
q = project(x, from[at*"w_q"], from[at*"b_q"], heads)
k = project(x, from[at*"w_k"], from[at*"b_k"], heads)
write_tensors(ARGS[2], Dict(at * "q" => q, at * "k" => k, at * "scores" => compare(q, k)))

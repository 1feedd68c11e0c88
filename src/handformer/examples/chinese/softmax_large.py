"""The softmax of large numbers, in Chinese."""

from math import e

from handformer.examples.language import Telling

SOFTMAX_LARGE = Telling(
    title="大数的 softmax：不会溢出",
    words=(
        "exp(1000) 是一个 435 位的数，float64 装不下（它到 exp(709) 为止，float32 到 exp(88) "
        "为止）。好在 softmax 只取决于各数之差。先把这一行里最大的数减掉，所有指数就都不超过 0，"
        "什么也不会溢出。"
    ),
    steps={
        "top": "这一行里最大的数。",
        "total": "各项的 exp 之和，其中最大的一项是 1。",
        "attn": "每一项都是前一项的 e 倍：1:e:e^2。",
        "d_scores": "最后一个权重怎样随每个数变化：随自己的增大，随别人的减小，合起来是 0。",
    },
    lesson=(
        f"0、1、2 的 softmax 完全相同：{1 / (1 + e + e * e):.4f}、{e / (1 + e + e * e):.4f}、"
        f"{e * e / (1 + e + e * e):.4f}。换成 1000、1001、1002，"
        "你自己的代码也能给出这个结果，而且不报警告吗？"
    ),
)

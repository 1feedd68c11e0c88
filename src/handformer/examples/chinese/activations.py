"""GELU and SwiGLU, in Chinese."""

from handformer.examples.by_hand.activations import CDF, TANH
from handformer.examples.language import Telling

GELU = Telling(
    title="GELU 在 -1、0、1 处：精确值与 tanh 近似",
    words=(
        "一个数越可能算得上大，GELU 就让它通过得越多：`x` 乘以从标准正态分布里抽到一个小于 `x` "
        f"的数的概率。查表可知，在 1 处这个概率是 {CDF:.4f}。"
        "GPT-2 用的是 tanh 近似，很接近，但不相同："
        "权重是用哪一种训练的，就该用哪一种来运行。"
    ),
    steps={
        "cdf": "从正态分布里抽一个数，它小于 x 的概率。",
        "exact": "x 乘以这个概率。",
        "density": "钟形曲线的高度，也就是 `cdf` 的斜率。",
        "d_x": "整个函数的斜率，用乘积法则求得。在 1 处，它大于 1。",
        "inner": "近似式：0.044715 是其中唯一拟合出来的数。",
        "approximate": "要到第四位小数才看得出差别。",
    },
    lesson=(
        f"在 1 处：精确值是 {CDF:.5f}，tanh 近似是 {TANH:.5f}。只比三位小数的测试，分不清这两者。"
    ),
)

SWIGLU = Telling(
    title="SwiGLU：一条路把门，另一条路过门",
    words=(
        "这是 Llama 的隐藏层：同一行算出两个数，一个经过 SiLU，决定另一个能通过多少。log(3) 的 "
        "sigmoid 是 3/4，0 的 sigmoid 是 1/2。"
    ),
    steps={
        "sigma": "sigmoid：门开了多大。",
        "act": "SiLU：门的输入，乘以 sigmoid 的结果。",
        "y": "再把两条路相乘。",
        "d_act": "反向，取 L = y[0] + y[1]：两个因子，各自得到对方。",
        "d_up": "这里也一样。",
        "d_gate": "再继续穿过 SiLU。",
    },
    lesson="门为 0 时什么也不放过，却照样能学习：它的梯度是 `up` 的一半。",
)

"""The first step of AdamW, in Chinese."""

from math import sqrt

from handformer.examples.language import Telling

ADAMW = Telling(
    title="AdamW 的一步：第一步",
    words=(
        "两个权重，梯度相差悬殊：0.5 和 -0.01，学习率是 0.1。`m` 和 `v` "
        "是梯度和梯度平方的滑动平均；第一步之前，两者都是 0。"
    ),
    steps={
        "m_new": "向梯度走十分之一。",
        "v_new": "向梯度的平方走二十分之一。",
        "m_hat": "两者都从 0 起步，所以偏小；这一步把它们校正过来。",
        "v_hat": "只走了一步，校正之后正好就是梯度的平方。",
        "decayed": "衰减：每个权重按 `lr` 乘 `weight_decay` 的比例缩小，与梯度无关。",
        "w_new": "然后迈出这一步：梯度除以自己的大小，是 1 或 -1，所以两个权重都移动 0.1。",
    },
    lesson=(
        "要是没有 1 - beta ** step 这个校正，步长就会是原来的 "
        f"0.05 / sqrt(0.0125) = {0.05 / sqrt(0.0125):.4f} 倍。"
        "`eps` 在根号外面。"
    ),
)

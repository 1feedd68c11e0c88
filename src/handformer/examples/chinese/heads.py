"""Several heads, in Chinese."""

from math import exp

from handformer.examples.by_hand.heads import P
from handformer.examples.language import Telling

TWO_HEADS = Telling(
    title="两个头：一个会挑选，一个只取平均",
    words=(
        "宽度为 4，两个头各宽 2：头 0 占 `w_q`、`w_k`、`w_v` 的第 0、1 列，头 1 占第 2、3 列。"
        "头 0 里的一切都和例子 identity 一样。`w_q` 里属于头 1 的列全是 0："
        "它什么也不问，所以觉得哪个键都一样好。"
    ),
    steps={
        "q": "`x` 乘以 `w_q`，每个头从结果里切出自己的几列。",
        "k": "键，切法相同。",
        "v": "值也一样。",
        "scores": "每个头各比各的。",
        "attn": (
            "头 0 偏爱词元自己；头 1 的得分都相等，于是各取一半。"
            "这里什么也没遮住，所以掩码的每一项都是 true。"
        ),
        "context": (
            "每个头从自己的值里取到的东西。（`attn_kept` 是经过 dropout 的 `attn`，"
            "而这里没有开 dropout。）"
        ),
        "out": (
            "各个头并排放进宽度为 4 的一行，再由 `w_o` 混合：这里的 `w_o` 把每个数往后挪一位。"
            "它不对称，所以要是用成了转置，一眼就看得出来。"
        ),
    },
    lesson=(
        "根号里是头的宽度 2，不是模型的宽度 4：要是用 sqrt(4)，头 0 得到的就是 "
        f"{exp(0.5) / (exp(0.5) + 1):.4f}，而不是 {P:.4f}。"
    ),
)

GROUPED_HEADS = Telling(
    title="分组的头：四个查询头读两组键和值",
    words=(
        "查询头有四个，键和值的头却只有两个：查询头 0 和 1 读第一组，2 和 3 读第二组"
        "（h // group，两个头一组）。一个查询，两个键，`d_k` = 1。键都取对数，"
        "好让权重成为简单的分数。"
    ),
    steps={
        "scores": "头 1 读的键和头 0 的一样。",
        "attn": "头 0 里是 1:3，头 2 里是 1:4；q 为 0 的头则各占一半。",
        "context": "同样是各占一半的权重，用在不同的值上。",
        "d_v": "反向时，一个值得到的是所有读过它的头传回的总和。",
    },
    lesson="生成文本时，最占内存的是键和值；这里只要一半。",
)

"""The causal mask and the hidden row, in Chinese."""

from handformer.examples.by_hand.masks import LEAST
from handformer.examples.language import Telling

CAUSAL_MASK = Telling(
    title="因果掩码：三个词元，谁也看不到后面的",
    words=(
        "逐个词元生成文本的模型，不能偷看后文：词元 t 只看得到它自己和前面的词元。"
        "这里只有一个宽度为 1 的头（它的编号 0 是第一个下标）。查询都是 1，键是 1、2、3 的对数，"
        "所以权重之比是 1:2:3。反向时取 L = context[0,1,0]。"
    ),
    steps={
        "causal": "查询 t 可以看到键 s 的地方是 true。",
        "scores": "所有得分都会算出来，后面词元的也不例外。",
        "total": "但 softmax 只在看得见的位置上求和。",
        "attn": "1；1:2；1:2:3。遮住的地方恰好是 0，而不是近似为 0。",
        "context": "词元 0 只看得到自己。",
        "d_scores": "反向：没有看到的地方，梯度也传不过去。",
        "d_v": "所以词元 1 取到的东西，与最后一个词元毫无关系。",
    },
    lesson=(
        "`attn` 每一行的和是 1，每一列的和却不是：softmax 要是沿着列做，在这里就会露馅。"
        "掩码要是把词元自己也遮住（s < t），第一行就一个键也不剩了。"
    ),
)

HIDDEN_ROW = Telling(
    title="整行都被遮住的情形",
    words=(
        "序列有填充时，某个查询可能一个键也看不到。什么都没有，softmax 就成了 0/0。"
        "正确的答案是全零的一行，正向如此，反向也如此：这样的查询什么也没取，也就没有梯度可传。"
    ),
    steps={
        "top": "被遮住的得分是 -inf；什么都没有时，最大值也是 -inf。",
        "total": "什么都没有，和就是 0。",
        "attn": "第一行是 1:3，第二行什么也没有。",
        "d_scores": "反向也不会冒出 NaN。",
    },
    lesson=(
        f"掩码若用 -10000 代替 -inf，第二行就会是 {LEAST:.4f} 和 {1 - LEAST:.4f}，"
        "好像什么都没遮住一样："
        "两个得分移动了同样的距离。"
    ),
)

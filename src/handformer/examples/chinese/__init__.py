"""The worked examples in Chinese: the same examples, told as one would tell them in Chinese.

A file a theme, as in `by_hand`. The numbers come from there, or from the same arithmetic; names in
backquotes are values, and stay as they are.
"""

from handformer.examples.chinese import (
    activations,
    adamw,
    attention,
    heads,
    masks,
    norms,
    rotation,
    softmax_large,
    tokens,
    top_p,
)
from handformer.examples.language import Language

CHINESE = Language(
    code="zh",
    places="字母表示位置，从 0 数起；求和遍历该字母的所有位置。",
    legend={
        "b": "批次：任意多个前导轴，也可以没有",
        "e": "批次中的一个样本：批次只有一个轴，序号参与计算",
        "t": "查询的位置",
        "s": "键的位置",
        "r": "键的位置（第二个字母）",
        "u": "键的位置（第三个字母）",
        "h": "头",
        "g": "键/值头",
        "c": "头内的位置",
        "p": "头内一起旋转的一对位置",
        "i": "模型宽度上的位置",
        "j": "模型宽度上的位置（第二个字母）",
        "f": "MLP 隐藏层中的位置",
        "n": "词表条目",
        "m": "词表条目（第二个字母）",
        "l": "层",
    },
    formula={"if": "若", "otherwise": "否则", "more": "项"},
    given="已知",
    every_digit="全部数位",
    take_home="要点",
    see="handformer example identity --language zh   显示第一个例子；"
    "--format markdown、latex、html 或 json",
    texts={
        "identity": attention.IDENTITY,
        "identity-backward": attention.IDENTITY_BACKWARD,
        "softmax-large": softmax_large.SOFTMAX_LARGE,
        "causal-mask": masks.CAUSAL_MASK,
        "hidden-row": masks.HIDDEN_ROW,
        "two-heads": heads.TWO_HEADS,
        "grouped-heads": heads.GROUPED_HEADS,
        "rotation": rotation.ROTATION,
        "layer-norm": norms.LAYER_NORM,
        "rms-norm": norms.RMS_NORM,
        "gelu": activations.GELU,
        "swiglu": activations.SWIGLU,
        "embedding": tokens.EMBEDDING,
        "cross-entropy": tokens.CROSS_ENTROPY,
        "adamw": adamw.ADAMW,
        "top-p": top_p.TOP_P,
    },
)

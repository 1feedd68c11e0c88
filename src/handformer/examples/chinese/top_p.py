"""Top-p, in Chinese."""

from handformer.examples.language import Telling

TOP_P = Telling(
    title="Top-p：只从最可能的九成里选",
    words=(
        "四个词元，概率是 0.5、0.35、0.1、0.05；`logits` 是它们的对数。`mass` 为 0.9 的 top-p，"
        "从最可能的开始，只留下合起来达到 0.9 的最少几个。前两个合起来是 0.85，不够。"
        "所以跨过 0.9 的第三个也留下。"
    ),
    steps={
        "probs": "softmax 把概率还原出来。",
        "before": "排在每个词元前面的，一共有多少概率。",
        "top_p": "只要它小于阈值，这个词元就留下。",
        "drawn_from": "把剩下的重新凑成 1。",
    },
    lesson=(
        "要是只留下完全落在阈值以内的，第三个就会丢掉；阈值取 0.4 时，"
        "更是一个也留不下，根本无从抽样。"
    ),
)

"""The embedding and the loss, in Chinese."""

from math import log

from handformer.examples.language import Telling

EMBEDDING = Telling(
    title="嵌入：词元重复出现时的查表与梯度",
    words=(
        "词表的每个条目在表里占一行，这里有三行，宽度为 2。文本是词元 2、0、2："
        "词元 2 出现两次，词元 1 一次也没有。"
    ),
    steps={
        "y": "每个词元取走自己的那一行。",
        "d_table": "反向时，重复的词元把梯度加进同一行。第 1 行什么也没得到。",
    },
    lesson="在 NumPy 里，d_table[tokens] += d_y 只留下最后一次：得到 10，而正确的是 11。",
)

CROSS_ENTROPY = Telling(
    title="交叉熵及其梯度，其中一个目标不计入",
    words=(
        "损失说的是：对真正出现的词元，模型给的概率有多小。这里有三行 logits，词表大小为 3。"
        "第一行是 1、2、5 的对数，所以概率是 1/8、2/8、5/8；第二行各项相等；"
        "第三行的目标是 -100：不计入。"
    ),
    steps={
        "top": "每一行最大的 logit，求 exp 之前先减掉。",
        "total": "各行的 exp 之和。",
        "probs": "softmax：模型给出的概率。",
        "losses": "目标的概率，取对数，再取负。",
        "count": "计入的目标有两个。",
        "loss": "对这些目标取平均。",
        "d_logits": (
            "概率，在目标处减去 1，再除以计入的个数。每一行的和是 0："
            "目标得到多少，其余的就失去多少。"
        ),
    },
    lesson=f"一无所知的模型，损失是 log(vocab_size)：第二行正是 log(3) = {log(3):.4f}。",
)

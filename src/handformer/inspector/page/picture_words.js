// What the parts of a model are called, and what each does, in one line for each direction.

import { last } from "./names.js";
import { known, register, t } from "./words.js";

// A unit's name for people: by its class and, for blocks and tables, by where it stands.
export function unitName({ path, class: kind }) {
  const numbered = path.match(/^(?:(.*)\.)?(\d+)$/);
  if (numbered) {
    return t(known(`unit.${numbered[1]}`) ? `unit.${numbered[1]}` : "unit.blocks", {
      number: numbered[2],
    });
  }
  const own = `unit.${last(path)}.${kind}`;
  return known(own) ? t(own) : className(kind);
}

// The name of a class of layers or models; that of the code where it has no other.
export function className(kind) {
  return known(`class.${kind}`) ? t(`class.${kind}`) : kind;
}

// What it does, or an empty text where its name says enough.
export function caption({ path, class: kind }, direction) {
  const keys = [`says.${last(path)}.${kind}.${direction}`, `says.${kind}.${direction}`];
  const key = keys.find(known);
  return key ? t(key) : "";
}

register({
  en: {
    "picture.lead.forward":
      "Read downwards: every token becomes a row of numbers, each part reads it, and adds what it found.",
    "picture.lead.back":
      "Read upwards: the loss asks every number how much it was to blame. Where a value was used twice, two gradients are added.",
    "picture.alone.forward": "Every value with its formula, in the order of the computation.",
    "picture.alone.back":
      "Every gradient with its formula, in the order of the computation: from the end backwards.",
    "picture.legend":
      "Usual size (bar, root mean square) and largest magnitude (tick) of all entries. One line is a factor of ten.",
    "picture.another": "Another text",
    "picture.open_all": "Open all blocks",
    "picture.close_all": "Close all",
    "picture.side.tokens": "Tokens to loss",
    "picture.side.source": "Source to memory",
    "picture.sum": "the sum of {terms}",
    "picture.memory": "the memory",
    "picture.logits": "logits",
    "picture.if": "if",
    "picture.otherwise": "otherwise",
    "picture.more": "more",
    "picture.weights": "weights",
    "picture.more_tokens": "and {count} more tokens",
    "picture.more_rows": "and {count} more rows",
    "picture.more_heads": "and {count} more heads",
    "picture.head": "Attention of head {head}",
    "picture.all_values": "All values of this part",
    "picture.one_number": "one number",
    "flow.rms": "root mean square",
    "flow.peak": "largest magnitude",
    "flow.said": "root mean square {rms}, largest magnitude {peak}",
    "flow.left_out": "left out of this trace",
    "flow.odd": "{odd} not finite",
    "unit.blocks": "Block {number}",
    "unit.encoder": "Encoder block {number}",
    "unit.decoder": "Decoder block {number}",
    "unit.position_embedding.Embedding": "Position embedding",
    "unit.type_embedding.Embedding": "Type embedding",
    "unit.source_embedding.Embedding": "Source embedding",
    "unit.target_embedding.Embedding": "Target embedding",
    "unit.embedding.Embedding": "Token embedding",
    "class.Example": "Worked example",
    "class.Decoder": "Decoder",
    "class.Encoder": "Encoder",
    "class.EncoderDecoder": "Encoder and decoder",
    "class.PreNormBlock": "Pre-norm block",
    "class.PostNormBlock": "Post-norm block",
    "class.CrossBlock": "Block with cross-attention",
    "class.Embedding": "Embedding",
    "class.SinusoidalPositions": "Sinusoidal positions",
    "class.SingleHeadAttention": "Attention",
    "class.MultiHeadAttention": "Attention",
    "class.FlashAttention": "Attention, no scores kept",
    "class.CrossAttention": "Cross-attention",
    "class.MLP": "MLP",
    "class.GatedMLP": "Gated MLP",
    "class.LayerNorm": "LayerNorm",
    "class.RMSNorm": "RMSNorm",
    "class.Dropout": "Dropout",
    "class.Head": "Head",
    "class.TiedHead": "Tied head",
    "class.MaskedTokenHead": "Masked-token head",
    "class.CrossEntropy": "Loss",
    "says.Embedding.forward": "Looks up a row of its table for every token.",
    "says.Embedding.back":
      "Each row of the table gathers the gradients of the tokens that used it.",
    "says.position_embedding.Embedding.forward":
      "Looks up a row for every place, so that order counts.",
    "says.position_embedding.Embedding.back":
      "Each place's row gathers the gradients that reached it.",
    "says.SinusoidalPositions.forward":
      "Writes every place as waves of many lengths; nothing is learned here.",
    "says.LayerNorm.forward":
      "Takes the mean out of each row, divides by its spread, then scales and shifts.",
    "says.LayerNorm.back":
      "Takes out of the gradient what a shift or a scaling of the row would undo.",
    "says.RMSNorm.forward": "Divides each row by its root mean square, then scales.",
    "says.RMSNorm.back": "Takes out of the gradient what a scaling of the row would undo.",
    "says.SingleHeadAttention.forward":
      "Every token asks with q, is found by k, and gathers v where the two fit.",
    "says.SingleHeadAttention.back":
      "Back through the weighted sum, the softmax and the products, to q, k and v.",
    "says.MultiHeadAttention.forward":
      "Every token asks with q, is found by k, and gathers v where the two fit.",
    "says.MultiHeadAttention.back":
      "Back through the weighted sum, the softmax and the products, to q, k and v.",
    "says.FlashAttention.forward": "The same attention, computed piece by piece.",
    "says.CrossAttention.forward": "The written side asks; the memory of the source answers.",
    "says.CrossAttention.back": "One gradient goes on to the writer, one to the memory.",
    "says.MLP.forward": "Widens every row, bends it, and brings it back to the model's width.",
    "says.MLP.back": "Back to the width; where the bend was flat, little gets through.",
    "says.GatedMLP.forward":
      "Two wide rows: one, bent, is the gate of the other; then back to the model's width.",
    "says.GatedMLP.back":
      "The gate and what it let through each get the gradient, times the other.",
    "says.Dropout.forward": "Drops entries by chance, and makes the others larger.",
    "says.Dropout.back": "What was dropped gets no gradient.",
    "says.Head.forward": "Scores every entry of the vocabulary: the logits.",
    "says.Head.back": "Every logit sends its gradient along its column.",
    "says.TiedHead.forward":
      "Compares each row with every row of the embedding's table: the logits.",
    "says.TiedHead.back": "The table is used a second time here, so it gets a second gradient.",
    "says.MaskedTokenHead.forward":
      "One more layer, then a comparison with the embedding's table: the logits.",
    "says.CrossEntropy.forward":
      "Minus the logarithm of the probability that the target got, averaged.",
    "says.CrossEntropy.back":
      "It begins here: the probabilities, minus one at the target, divided by the count.",
  },
  zh: {
    "picture.lead.forward":
      "自上而下读：每个词元变成一行数，各部件依次读取这一行，再把自己的结果加回去。",
    "picture.lead.back":
      "自下而上读：损失向每个数追问它该负多大的责任。前向中用过两次的数值，在这里要把两份梯度相加。",
    "picture.alone.forward": "按计算顺序列出每个数值及其公式。",
    "picture.alone.back": "按计算顺序列出每个梯度及其公式：从末尾往回。",
    "picture.legend": "所有元素的典型大小（色条，均方根）与最大幅值（竖线）；每一格相差十倍。",
    "picture.another": "换一段文本",
    "picture.open_all": "全部展开",
    "picture.close_all": "全部收起",
    "picture.side.tokens": "从词元到损失",
    "picture.side.source": "从源文本到记忆",
    "picture.sum": "{terms} 之和",
    "picture.memory": "编码器的记忆",
    "picture.logits": "logits（未归一化的分数）",
    "picture.if": "若",
    "picture.otherwise": "否则",
    "picture.more": "项",
    "picture.weights": "权重数",
    "picture.more_tokens": "另有 {count} 个词元",
    "picture.more_rows": "另有 {count} 行",
    "picture.more_heads": "另有 {count} 个头",
    "picture.head": "第 {head} 个头的注意力",
    "picture.all_values": "该部件的全部数值",
    "picture.one_number": "单个数",
    "flow.rms": "均方根",
    "flow.peak": "最大幅值",
    "flow.said": "均方根 {rms}，最大幅值 {peak}",
    "flow.left_out": "这份记录未保存",
    "flow.odd": "{odd} 个非有限值",
    "unit.blocks": "第 {number} 层",
    "unit.encoder": "编码器第 {number} 层",
    "unit.decoder": "解码器第 {number} 层",
    "unit.position_embedding.Embedding": "位置嵌入",
    "unit.type_embedding.Embedding": "类型嵌入",
    "unit.source_embedding.Embedding": "源端嵌入",
    "unit.target_embedding.Embedding": "目标端嵌入",
    "unit.embedding.Embedding": "词元嵌入",
    "class.Example": "算例",
    "class.Decoder": "解码器",
    "class.Encoder": "编码器",
    "class.EncoderDecoder": "编码器—解码器",
    "class.PreNormBlock": "前置归一化层",
    "class.PostNormBlock": "后置归一化层",
    "class.CrossBlock": "带交叉注意力的层",
    "class.Embedding": "嵌入",
    "class.SinusoidalPositions": "正弦位置编码",
    "class.SingleHeadAttention": "注意力",
    "class.MultiHeadAttention": "注意力",
    "class.FlashAttention": "注意力（不保存分数）",
    "class.CrossAttention": "交叉注意力",
    "class.MLP": "前馈网络",
    "class.GatedMLP": "门控前馈网络",
    "class.LayerNorm": "层归一化",
    "class.RMSNorm": "均方根归一化",
    "class.Dropout": "随机失活",
    "class.Head": "输出层",
    "class.TiedHead": "输出层（与嵌入共享权重）",
    "class.MaskedTokenHead": "掩码词元预测头",
    "class.CrossEntropy": "损失",
    "says.Embedding.forward": "为每个词元从表中取出对应的一行。",
    "says.Embedding.back": "表中每一行汇集所有用到它的词元传回的梯度。",
    "says.position_embedding.Embedding.forward": "为每个位置取出一行，让先后顺序有意义。",
    "says.position_embedding.Embedding.back": "每个位置对应的那一行汇集传到它的梯度。",
    "says.SinusoidalPositions.forward": "用多种波长的正弦波表示位置，没有需要学习的参数。",
    "says.LayerNorm.forward": "每行减去均值、除以标准差，再缩放、平移。",
    "says.LayerNorm.back": "从梯度中去掉会被整行的平移或缩放抵消的成分。",
    "says.RMSNorm.forward": "每行除以自身的均方根，再缩放。",
    "says.RMSNorm.back": "从梯度中去掉会被整行缩放抵消的成分。",
    "says.SingleHeadAttention.forward":
      "每个词元用 q 提问，用 k 应答；两者相合之处，取走对应的 v。",
    "says.SingleHeadAttention.back": "依次穿过加权求和、softmax 与内积，回到 q、k、v。",
    "says.MultiHeadAttention.forward": "每个词元用 q 提问，用 k 应答；两者相合之处，取走对应的 v。",
    "says.MultiHeadAttention.back": "依次穿过加权求和、softmax 与内积，回到 q、k、v。",
    "says.FlashAttention.forward": "同样的注意力，分块计算。",
    "says.CrossAttention.forward": "目标端提问，源文本的记忆作答。",
    "says.CrossAttention.back": "梯度一路传回目标端，一路传给记忆。",
    "says.MLP.forward": "把每一行展宽，经过非线性函数，再压回模型宽度。",
    "says.MLP.back": "沿原路压回；激活函数平坦之处，几乎没有梯度通过。",
    "says.GatedMLP.forward": "展宽成两行：一行经激活后作为另一行的门，再压回模型宽度。",
    "says.GatedMLP.back": "门与被门控的一行各得到梯度乘以对方。",
    "says.Dropout.forward": "随机丢弃一部分元素，其余按比例放大。",
    "says.Dropout.back": "被丢弃的元素没有梯度。",
    "says.Head.forward": "为词表中的每一项打分，得到 logits。",
    "says.Head.back": "每个 logit 把梯度沿自己那一列传回。",
    "says.TiedHead.forward": "把每一行与嵌入表的各行逐一比较，得到 logits。",
    "says.TiedHead.back": "嵌入表在这里第二次被使用，因此得到第二份梯度。",
    "says.MaskedTokenHead.forward": "再经过一层变换，然后与嵌入表逐行比较，得到 logits。",
    "says.CrossEntropy.forward": "目标词元所得概率取负对数，再求平均。",
    "says.CrossEntropy.back": "梯度由此出发：概率减去目标处的 1，再除以计入的个数。",
  },
});

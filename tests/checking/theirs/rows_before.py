"""Rows of the way in: embedding, positions, projections, heads."""

from tests.checking.theirs.row import ALL, BERT, BIASED, BOTH_SIDES, DECODERS, GPT2, LLAMA, Row

WAVES = Row((BOTH_SIDES,), "source_positions.out")
PLACES = Row((BOTH_SIDES, GPT2, BERT), "*position*.out")
EMBEDDING = {
    "EMB-1:none": Row((BOTH_SIDES,), "source_embedding.out"),
    "EMB-1:twice": Row((BOTH_SIDES,), "source_embedding.out"),
    "EMB-2": Row((BOTH_SIDES,), "source_embedding.out"),
    "EMB-3": Row((BOTH_SIDES,), "source_x"),
    "EMB-4:bf16": Row((BOTH_SIDES,), "source_embedding.out"),
    "EMB-4:fp16": Row((BOTH_SIDES,), "source_embedding.out"),
    "EMB-5:one more": Row(ALL, "*embedding.out"),
    "EMB-5:one less": Row(ALL, "*embedding.out"),
    "EMB-5:columns": Row(DECODERS, "embedding.out", "square vocabulary"),
}
POSITIONS = {
    "POS-1": WAVES,
    "POS-2:2i+1": WAVES,
    "POS-2:2i+2": WAVES,
    "POS-3:1000": WAVES,
    "POS-3:100": WAVES,
    "POS-3:1e5": WAVES,
    "POS-3:exchanged": WAVES,
    "POS-4": WAVES,
    "POS-5": WAVES,
    "POS-6": PLACES,
    "POS-7": PLACES,
    "POS-8": WAVES,
    "POS-9:left out": Row((GPT2, BERT, BOTH_SIDES), "x|norm.x|source_x"),
    "POS-9:concatenated": Row((GPT2, BERT, BOTH_SIDES), "x|norm.x|source_x", kind="shape"),
    "POS-10": Row((GPT2, LLAMA), "positions", "left padding"),
    "POS-10:shared": Row((GPT2, LLAMA), "positions", "left padding"),
    "POS-11": Row((GPT2, BERT), "position_embedding.out"),
}
ROTARY = {
    "ROPE-1": Row((LLAMA,), "*.q_rot"),
    "ROPE-2:half-split by angles of pairs": Row((LLAMA,), "*.q_rot"),
    "ROPE-2:pairs by half-split angles": Row((LLAMA,), "*.q_rot"),
    "ROPE-3:pairs, written in halves": Row((LLAMA,), "*.q_rot"),
    "ROPE-3:halves, written by turns": Row((LLAMA,), "*.q_rot"),
    "ROPE-4": Row((LLAMA,), "*.q_rot", "no padding"),
    "ROPE-5:d_model": Row((LLAMA,), "*.cos"),
    "ROPE-5:half": Row((LLAMA,), "*.cos"),
    "ROPE-5:no 2": Row((LLAMA,), "*.cos"),
    "ROPE-6:1e4": Row((LLAMA,), "*.cos", "long"),
    "ROPE-6:1e6": Row((LLAMA,), "*.cos", "long"),
    "ROPE-7": Row((LLAMA,), "*.q_rot"),
    "ROPE-8:positions in bf16": Row((LLAMA,), "*.cos", "very long"),
    "ROPE-8:angles in bf16": Row((LLAMA,), "*.cos", "long"),
    "ROPE-8:angles in fp16": Row((LLAMA,), "*.cos", "long"),
    "ROPE-9:v": Row((LLAMA,), "*.context"),
    "ROPE-9:v, and so written": Row((LLAMA,), "*.v"),
    "ROPE-10": Row((LLAMA,), "*.scores"),
}
FUSED = Row((GPT2, BERT, BOTH_SIDES), "*.q")
PROJECTIONS = {
    "QKV-1:v of k": Row(BIASED, "*.v"),
    "QKV-1:v is k": Row(ALL, "*.v"),
    "QKV-1:v by the matrix of k": Row(ALL, "*.v", alike=("QKV-2",)),
    "QKV-1:k and v of the queries' input": Row((BOTH_SIDES,), "*.cross.k", "same lengths"),
    "QKV-2:qvk": Row(BIASED, "*.k"),
    "QKV-2:kqv": FUSED,
    "QKV-2:kvq": FUSED,
    "QKV-2:vkq": FUSED,
    "QKV-2:vqk": FUSED,
    "QKV-3:thirds read by heads": Row(ALL, "*.q"),
    "QKV-3:heads read as thirds": Row(ALL, "*.q"),
    "QKV-4": Row(ALL, "*.q"),
    "QKV-5:q, k, v": Row(BIASED, "*.q"),
    "QKV-5:o": Row(BIASED, "*.attention.out"),
    "QKV-5:b_up": Row(BIASED, "*.pre"),
    "QKV-5:b_down": Row(BIASED, "*.mlp.out"),
    "QKV-6": Row(ALL, "*.q", alike=("LOAD-1", "LOAD-2")),
    "QKV-7": Row(DECODERS, "*.k"),
    "QKV-8": Row(ALL, "*.q"),
}
HEADS = {
    "HEAD-1": Row(ALL, "*.q"),
    "HEAD-2": Row(ALL, "*.attention.out"),
    "HEAD-3": Row(ALL, "*.attn"),
    "HEAD-4:mean": Row(ALL, "*.attention.out"),
    "HEAD-4:maximum": Row(ALL, "*.attention.out"),
    "HEAD-4:mean of the outputs": Row(ALL, "*.attention.out"),
    "HEAD-5": Row((LLAMA,), "*.scores"),
    "HEAD-6": Row((LLAMA,), "*.scores"),
    "HEAD-7": Row(ALL, "*.q"),
}
ROWS = EMBEDDING | POSITIONS | ROTARY | PROJECTIONS | HEADS

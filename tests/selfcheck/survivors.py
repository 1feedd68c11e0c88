"""The mistakes that change nothing where they are made, each with the reason.

Only what is truly the same may stand here. A hole in the cases is mended in the cases.
"""

from fnmatch import fnmatchcase

from tests.selfcheck.kills import Made

_NO_SUM = "the gradient of a key's bias is 0 whatever is added up: softmax sees no shift"
_OWN_OP = "the layer's scores stay within exp's range; the op that it calls is shown others"
# Mistakes, places, reason. A star stands for anything.
SAME = (
    ("NORM-3", "*.r*", "eps is that number already"),
    ("POS-3", "*", "the base is that number already"),
    ("EMB-1", "Embedding.out", "the scale is sqrt(d_model) already"),
    ("BF-3", "MaskedTokenHead.d_pre", "the head's activation is GELU by erf already"),
    ("SAMP-10", "*.probs", "no temperature stands before this softmax: it is the right line"),
    ("SM-3", "*Attention.*", _OWN_OP),
    ("SM-4", "*Attention.*", _OWN_OP),
    ("BW-*", "*.d_b_k", _NO_SUM),
    ("CLIP-3", "*.norm", "our training multiplies no loss: loss_scale is 1"),
    ("OPT-11", "AdamW.updates.*", "this weight has a gradient from the first update on"),
    ("ACC-3", "*.clipped.adapter.w", "this weight takes no part in the first update"),
    ("LR-4", "SGD.lr", "this schedule leaves room for a decay; it is seen with AdamW's"),
    ("KV-7", "*_all", "nothing is dropped in these passes"),
    ("KV-5", "*_all", "each head has keys and values of its own here"),
    ("SAMP-*", "Sampling.left_probs", "what is kept is given here, and decides; it is seen there"),
)


def reason(made: Made) -> str:
    """Why a mistake can't be seen where it was made; empty: it should be."""
    return next((why for row in SAME if (why := _why(row, made))), "")


def _why(row: tuple[str, str, str], made: Made) -> str:
    mistake, place, why = row
    return why if fnmatchcase(made.id, mistake) and fnmatchcase(made.place, place) else ""


def unused(survivors: list[Made]) -> list[str]:
    """The rows that no survivor needs."""
    return [row[0] for row in SAME if not any(_why(row, made) for made in survivors)]

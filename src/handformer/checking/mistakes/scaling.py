"""Mistakes in the scores: section 5 of the catalogue."""

from handformer.checking.mistakes.lines import ATTENTION, HEADS, attention, rounded_of_any_sign
from handformer.checking.mistakes.mistake import Edit, Mistake

_ROOT = "sqrt(d_k)"
_LINES = ("scores", "d_q", "d_k", "d_q_rot", "d_k_rot")


def _divided(other: str, says: str = "", lines: tuple[str, ...] = _LINES) -> tuple[Edit, ...]:
    """Another divisor: in the scores, and so in the gradients of q and k."""
    return tuple(Edit(line, f"{_ROOT} -> {other}", ATTENTION, says) for line in lines)


def _in_half(x: str) -> str:
    """A number as float16 has it."""
    beyond = f"where({x} < 0, -1, 1) * inf"
    return f"where(({x}) ** 2 >= 65520 ** 2, {beyond}, {rounded_of_any_sign(x, 10)})"


SCALING = (
    Mistake(
        "SCORE-1",
        "Queries and keys are exchanged, or the wrong axes were transposed: the score of t for s "
        "stands where that of s for t should.",
        "Scores are q @ k.T: a row for each query, a column for each key.",
        attention("scores", "scores[b,h,t,s] = scores[b,h,s,t]"),
    ),
    Mistake(
        "SCORE-2",
        "NumPy's `.T` turns all axes around, not the last two.",
        "Use swapaxes(-1, -2).",
        tuple(
            Edit("scores", f"{key}[b,h // group,s,c] -> {key}[b,s,c,h]", HEADS)
            for key in ("k", "k_rot")
        ),
    ),
    Mistake(
        "SCALE-1",
        "The scores are divided by {sqrt(d_model)}, the root of the model's width.",
        "Divide by {sqrt(d_k)}, the root of the width of one head.",
        _divided("sqrt(d_model)"),
    ),
    Mistake(
        "SCALE-2",
        "The scores aren't divided by anything.",
        "Divide them by {sqrt(d_k)}, the root of the width of one head.",
        _divided("1", lines=("scores",)),
    ),
    Mistake(
        "SCALE-3",
        "The scores are multiplied by {sqrt(d_k)}: a negative exponent under a division.",
        "Divide by sqrt(d_k), or multiply by d_k ** -0.5.",
        _divided("(1 / sqrt(d_k))"),
    ),
    Mistake(
        "SCALE-4",
        "The scores are divided by {d_k}: without the root, or twice by it.",
        "Divide once by {sqrt(d_k)}: either q or the scores.",
        (
            *_divided("d_k", lines=("scores",)),
            *attention("q", "q[b,h,t,c] = q[b,h,t,c] / sqrt(d_k)"),
        ),
    ),
    Mistake(
        "SCALE-5",
        "The scores are divided by {}.",
        "Divide by {sqrt(d_k)}, the root of the width of one head.",
        (
            *_divided("sqrt(n_queries)", "the root of the number of queries, {sqrt(n_queries)}"),
            *_divided("sqrt(n_keys)", "the root of the number of keys, {sqrt(n_keys)}"),
            *_divided("sqrt(n_heads)", "the root of the number of heads, {sqrt(n_heads)}"),
            *_divided("8", "8, which is right for heads 64 wide"),
        ),
    ),
    Mistake(
        "SCALE-6",
        "The product of q and k was held in float16 before it was scaled.",
        "Divide q by {sqrt(d_k)} before the product, or keep the product in float32.",
        tuple(
            Edit("scores", f"{product} -> ({_in_half(product)})", HEADS)
            for product in (
                "sum(c, q[b,h,t,c] * k[b,h // group,s,c])",
                "sum(c, q_rot[b,h,t,c] * k_rot[b,h // group,s,c])",
            )
        ),
    ),
)

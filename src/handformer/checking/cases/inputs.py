"""What parts of a model are given in their cases: arrays drawn by the name of the case."""

from typing import Any

import numpy as np

from handformer.checking.cases.alone import Arrays
from handformer.checking.cases.lively import normal, rows_of_tokens
from handformer.checking.cases.models import full, picture
from handformer.models.past import CAUSAL
from handformer.ops import masks
from handformer.ops.cross_entropy import IGNORED
from handformer.randomness import generator
from handformer.tracing.scopes import Scope

BATCH, TOKENS, MEMORY, D_MODEL, D_FF, VOCAB_SIZE, WINDOW = 5, 7, 9, 10, 14, 19, 3
ALONE, SQUARE = 5, 12  # tokens of a single row; the width of an attention whose w_o is square
LEVEL, DEPTH = 0.1, 1e-3  # around which a quiet row varies, and how much


def rows(name: str, width: int = D_MODEL) -> Arrays:
    """x and d_out, of several rows of tokens."""
    shape = (BATCH, TOKENS, width)
    return {"x": normal(name, "x", shape), "d_out": normal(name, "d_out", shape)}


def square_rows(name: str) -> Arrays:
    """The same, as wide as all heads together."""
    return rows(name, SQUARE)


def one_row(name: str) -> Arrays:
    """The same without a batch, as small as can be followed by hand."""
    return {key: array[0, :ALONE] for key, array in square_rows(name).items()}


def quiet_rows(name: str) -> Arrays:
    """The same; one row hardly varies, so that eps decides."""
    found = rows(name)
    found["x"] = np.float32(1.3) * found["x"] + np.float32(0.4)
    found["x"][1, 2] = normal(name, "quiet", (D_MODEL,), DEPTH) + np.float32(LEVEL)
    return found


def tiny_rows(name: str) -> Arrays:
    """The same; one row is nearly 0, for a norm that subtracts no mean."""
    found = quiet_rows(name)
    found["x"][1, 2] = normal(name, "quiet", (D_MODEL,), DEPTH)
    return found


def placed_rows(name: str) -> Arrays:
    """The same with positions that have gaps between them and reach beyond 64."""
    return {**rows(name), **positions(name)}


def positions(name: str) -> Arrays:
    """Positions that have gaps between them and reach beyond 64."""
    steps = generator(0, 0, f"case.{name}.positions").integers(1, 40, size=(BATCH, TOKENS))
    return {"positions": np.cumsum(steps, axis=-1)}


def two_sides(name: str) -> Arrays:
    """Rows with a memory of their own."""
    return {**rows(name), "memory": normal(name, "memory", (BATCH, MEMORY, D_MODEL))}


def tokens(name: str) -> Arrays:
    """Tokens that come again, and the gradient of what is looked up for them."""
    return {
        "tokens": rows_of_tokens(name, "tokens", (BATCH, TOKENS), VOCAB_SIZE),
        "d_out": normal(name, "d_out", (BATCH, TOKENS, D_MODEL)),
    }


def logits(name: str) -> Arrays:
    """Logits and targets, in each row one more of which is ignored."""
    rng = generator(0, 0, f"case.{name}.targets")
    targets = rng.integers(VOCAB_SIZE, size=(BATCH, TOKENS))
    for row in range(BATCH):
        targets[row, rng.permutation(TOKENS)[:row]] = IGNORED
    return {
        "logits": normal(name, "logits", (BATCH, TOKENS, VOCAB_SIZE), 2.0),
        "targets": targets,
    }


def scores(name: str) -> Arrays:
    """Rows far above 0, and far below, where exp leaves float32's range."""
    shape = (BATCH, TOKENS)
    level = np.array([0, 95, -120, 0, 40], np.float32)[:, None]
    return {"x": normal(name, "x", shape) + level, "d_y": normal(name, "d_y", shape)}


def causal(rows: str) -> dict[str, Any]:
    """The causal mask of rows in which a dot is padding, for `Alone`."""
    numbers = {"n_queries": TOKENS, "n_keys": TOKENS}
    scope = Scope("causal", "CausalMask", CAUSAL, numbers)
    return {"before": scope, "given": {"valid": picture(rows)}}


FULL = causal(full(BATCH, TOKENS))
PADDED_LATE = causal("xxxxxxx xxxxx.. xxxxxxx xxxxxx. xxxxxxx")
PADDED_EARLY = causal("xxxxxxx ..xxxxx xxxxxxx .xxxxxx xxxxxxx")
_SQUARE = {"n_queries": TOKENS, "n_keys": TOKENS, "width": WINDOW}
_OBLONG = {"n_queries": TOKENS, "n_keys": MEMORY}
BAND = {"before": Scope("window", "WindowMask", masks.window.FORMULAS, _SQUARE)}
LATEST = {"before": Scope("causal", "CausalMask", masks.causal.FORMULAS, _OBLONG)}
MEMORY_PADDED = {
    "before": Scope("padding", "PaddingMask", masks.padding.FORMULAS, _OBLONG),
    "given": {"valid": picture("xxxxxxxxx xxxxxxx.. xxxxxxxxx xxxxxxxx. xxxxxxxxx")},
}

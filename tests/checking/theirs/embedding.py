"""The table of tokens: a row for each id, and back."""

from typing import Any

import numpy as np

from tests.checking.theirs import halves
from tests.checking.theirs.program import At


def _scale(at: At) -> float:
    scale = at.number("scale")
    if scale == 1:
        return scale
    if at.wrong("EMB-1:none"):
        return 1.0
    if at.wrong("EMB-1:twice"):
        return scale * scale
    if at.wrong("EMB-2"):
        return 1 / scale
    if at.wrong("EMB-4:bf16"):
        return float(halves.bfloat16(scale))
    if at.wrong("EMB-4:fp16"):
        return float(np.float16(scale))
    return scale


def tokens(at: At, ids: Any) -> Any:
    """(b, t) to (b, t, d)."""
    table = at["table"]
    size = len(table)
    if at.wrong("EMB-5:one more"):
        rows = table[(ids + 1) % size]
    elif at.wrong("EMB-5:one less"):
        rows = table[(ids - 1) % size]
    elif size == table.shape[1] and at.wrong("EMB-5:columns"):
        rows = table[:, ids].transpose(1, 2, 0)
    elif at.wrong("EMBEDDING:by a product"):
        rows = np.eye(size, dtype=table.dtype)[ids] @ table
    else:
        rows = table[ids]
    return at.put("out", rows * _scale(at))


def plain(at: At, ids: Any) -> Any:
    """Another table, of positions or types."""
    return at.put("out", at["table"][ids])


def _gathered(ids: Any, d_out: Any, size: int) -> Any:
    """Each row of the table gets the sum over the places where it was used."""
    d_table = np.zeros((size, d_out.shape[-1]), d_out.dtype)
    np.add.at(d_table, ids, d_out)
    return d_table


def tokens_back(at: At, ids: Any, d_out: Any, elsewhere: Any = None) -> Any:
    """The gradient of the table; elsewhere is what reaches it through the head."""
    scale = 1.0 if at.number("scale") != 1 and at.wrong("BE-3") else at.number("scale")
    size = len(at["table"])
    if at.wrong("EMBEDDING BACK:by a product"):
        flat = np.eye(size, dtype=d_out.dtype)[ids.ravel()]
        lookup = at.product(flat.T, d_out.reshape(len(flat), -1))
    elif at.wrong("BE-1"):
        lookup = np.zeros((size, d_out.shape[-1]), d_out.dtype)
        lookup[ids] += d_out
    else:
        lookup = _gathered(ids, d_out, size)
    lookup = at.put("d_table_lookup", scale * lookup)
    if elsewhere is None:
        return at.put("d_table", lookup)
    if at.wrong("BE-2:lookup only"):
        return at.put("d_table", lookup)
    if at.wrong("BE-2:head only"):
        return at.put("d_table", elsewhere)
    return at.put("d_table", lookup + elsewhere)


def positions_back(at: At, ids: Any, d_out: Any) -> Any:
    """The gradient of a table of positions."""
    size = len(at["table"])
    d_table = _gathered(ids, d_out, size)
    if at.wrong("BE-4:mean"):
        d_table = d_table / len(ids)
    elif at.wrong("BE-4:not summed"):
        d_table = np.stack([_gathered(row, d, size) for row, d in zip(ids, d_out, strict=True)])
    elif at.wrong("BE-4:last row"):
        d_table = np.zeros_like(d_table)
        d_table[ids] += d_out
    at.put("d_table_lookup", d_table)
    return at.put("d_table", d_table)


def plain_back(at: At, ids: Any, d_out: Any) -> Any:
    d_table = _gathered(ids, d_out, len(at["table"]))
    at.put("d_table_lookup", d_table)
    return at.put("d_table", d_table)

"""Where a token stands: counted, looked up, or waves of many lengths."""

from typing import Any

import numpy as np

from tests.checking.theirs.program import At


def counted(at: At, valid: Any, name: str = "positions") -> Any:
    """A real token's place among the real ones of its row; 0 for padding."""
    size = valid.shape[1]
    if at.wrong("POS-10"):
        positions = np.broadcast_to(np.arange(size), valid.shape).copy()
    elif at.wrong("POS-10:shared"):
        one = np.where(valid[-1], np.cumsum(valid[-1]) - 1, 0)
        positions = np.broadcast_to(one, valid.shape).copy()
    else:
        positions = np.where(valid, np.cumsum(valid, axis=1) - 1, 0)
    return at.put(name, positions)


def _misplaced(at: At, table: Any, positions: Any) -> Any:
    """The rows of a table (places, d) that each token gets."""
    rows, size = positions.shape
    if at.wrong("POS-6"):
        return np.repeat(table[np.arange(rows)][:, None], size, axis=1)
    if at.wrong("POS-7"):
        return np.broadcast_to(table[size], (rows, size, table.shape[1])).copy()
    return table[positions]


def learned(at: At, positions: Any) -> Any:
    if at.wrong("POS-11"):
        return at.put("out", at["table"][positions + 2])
    return at.put("out", _misplaced(at, at["table"], positions))


def waves(at: At, positions: Any) -> Any:
    """Sines and cosines by turns, each pair slower than the one before."""
    width = int(at.number("d_model"))
    places = np.arange(max(positions.shape[1], int(positions.max())) + 1)[:, None]
    table = _waves(at, places.astype(at.program.dtype), width, at.number("base"))
    return at.put("out", _misplaced(at, table, positions))


def _waves(at: At, places: Any, width: int, base: float) -> Any:
    pair = (np.arange(width) // 2).astype(at.program.dtype)
    exponent = 2 * pair / width
    channel = np.arange(width).astype(at.program.dtype)
    odd = np.arange(width) % 2 == 1
    if at.wrong("POS-1"):
        exponent = 2 * channel / width
    elif at.wrong("POS-2:2i+1"):
        exponent = np.where(odd, (2 * pair + 1) / width, exponent)
    elif at.wrong("POS-2:2i+2"):
        exponent = np.where(odd, (2 * pair + 2) / width, exponent)
    bases = {"1000": 1e3, "100": 1e2, "1e5": 1e5}
    if form := at.form("POS-3", bases):
        base = bases[form]
    if at.wrong("POS-3:exchanged"):
        angle = places * exponent ** (1 / base)
    elif at.wrong("POS-4"):
        angle = places * base**exponent
    elif at.wrong("WAVES:exp of a log"):
        angle = places * np.exp(-np.log(np.asarray(base, places.dtype)) * exponent)
    else:
        angle = places / base**exponent
    if at.wrong("POS-5"):
        return np.concatenate([np.sin(angle[:, ::2]), np.cos(angle[:, 1::2])], axis=1)
    if at.wrong("POS-8"):
        return np.where(odd, np.sin(angle), np.cos(angle))
    return np.where(odd, np.cos(angle), np.sin(angle))


def added(at: At, name: str, embedded: Any, position: At) -> Any:
    """The sum of token and position, which goes into the first block."""
    placed = position["out"]
    if at.wrong("POS-9:left out"):
        position.leave_out("out")
        return at.put(name, embedded)
    if at.wrong("POS-9:concatenated"):
        at.put(name, np.concatenate([embedded, placed], axis=-1))
        return None
    if at.case.family == "transformer" and at.wrong("EMB-3"):
        scale = float(at.case.config["d_model"]) ** 0.5
        return at.put(name, embedded + placed * scale)
    return at.put(name, embedded + placed)

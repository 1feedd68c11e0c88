"""Weights as they are read, rightly or not."""

from typing import Any

import numpy as np

from tests.checking.theirs.program import At

MATRICES = ("w_q", "w_k", "w_v", "w_o", "w_up", "w_gate", "w_down")
STACKS = ("blocks", "encoder", "decoder")


def load(at: At) -> None:
    """Put the weights as this program reads them in the place of those that it was given."""
    given = at.program.given
    for path in [path for path in given if path.rpartition(".")[2] in MATRICES]:
        given[path] = _read(at, path, given[path])
    if at.wrong("INIT-1"):
        _share(given)


def _read(at: At, path: str, w: Any) -> Any:
    rows, columns = w.shape
    if at.wrong("LOAD-1"):
        return w.reshape(columns, rows).T.copy()
    if rows == columns and at.wrong("LOAD-2"):
        return w.T.copy()
    name = path.rpartition(".")[2]
    if name in ("w_q", "w_k") and at.case.family == "llama":
        width = at.case.width
        if at.wrong("LOAD-3:permuted"):
            return w.reshape(rows, -1, 2, width // 2).swapaxes(2, 3).reshape(w.shape)
        if at.wrong("LOAD-3:permuted back"):
            return w.reshape(rows, -1, width // 2, 2).swapaxes(2, 3).reshape(w.shape)
        if name == "w_k" and at.wrong("LOAD-3:k by the query heads"):
            small = columns // at.case.heads
            return w.reshape(rows, at.case.heads, 2, small // 2).swapaxes(2, 3).reshape(w.shape)
    return w


def _share(given: dict[str, Any]) -> None:
    """One block object in the place of all."""
    for path in list(given):
        stack, _, rest = path.partition(".")
        if stack in STACKS:
            given[path] = given[f"{stack}.0.{rest.partition('.')[2]}"]


def share_gradients(at: At) -> None:
    """The one block's weights get the gradients of all."""
    if not at.wrong("INIT-1"):
        return
    values = at.program.values
    weights = set(at.case.weights)
    sums: dict[str, list[str]] = {}
    for path in values:
        layer, _, name = path.rpartition(".")
        parts = layer.split(".")
        of_weight = name.startswith("d_") and f"{layer}.{name[2:]}" in weights
        if of_weight and parts[0] in STACKS:
            sums.setdefault(".".join([parts[0], *parts[2:], name]), []).append(path)
    for paths in sums.values():
        total = np.sum([values[path] for path in paths], axis=0)
        for path in paths:
            values[path] = total

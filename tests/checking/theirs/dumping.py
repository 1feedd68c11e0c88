"""Ways of writing right values so that they look wrong."""

from typing import Any

import numpy as np

from tests.checking.theirs.program import At

STEP = 0.1
HEADED = ("q", "k", "v", "q_rot", "k_rot", "scores", "attn", "context")


def write(at: At, dump: dict[str, Any]) -> dict[str, Any]:
    """The dump as it is written."""
    for change in (_counted, _summed, _updated):
        dump = change(at, dump)
    return {path: _laid(at, path, array) for path, array in dump.items()}


def _counted(at: At, dump: dict[str, Any]) -> dict[str, Any]:
    if not at.wrong("DUMP-2"):
        return dump
    ids = ("tokens", "targets", "positions", "source")
    return {
        path: array + (array >= 0) if path.rpartition(".")[2] in ids else array
        for path, array in dump.items()
    }


def _summed(at: At, dump: dict[str, Any]) -> dict[str, Any]:
    if not at.wrong("DUMP-6"):
        return dump
    count = dump["loss.count"]
    return {
        path: array * count if path == "loss.loss" or _is_gradient(path) else array
        for path, array in dump.items()
    }


def _updated(at: At, dump: dict[str, Any]) -> dict[str, Any]:
    if not at.wrong("DUMP-5"):
        return dump
    found = dict(dump)
    for path in at.case.weights:
        layer, _, name = path.rpartition(".")
        if path in found and (slope := dump.get(f"{layer}.d_{name}")) is not None:
            found[path] = found[path] - STEP * slope
    return found


def _is_gradient(path: str) -> bool:
    return path.rpartition(".")[2].startswith("d_")


def _laid(at: At, path: str, array: Any) -> Any:
    """In another order of axes."""
    name = path.rpartition(".")[2].removeprefix("d_")
    if array.ndim > 1 and at.wrong("DUMP-1:flat"):
        return array.ravel("F").reshape(array.shape)
    if array.ndim > 1 and at.wrong("DUMP-1:axes reversed"):
        return np.ascontiguousarray(array.T)
    if name.startswith("w_") and at.wrong("DUMP-3"):
        return np.ascontiguousarray(array.T)
    if name in HEADED and array.ndim == 4:
        if at.wrong("DUMP-7:merged"):
            return array.reshape(-1, *array.shape[2:])
        if at.wrong("DUMP-7:heads last"):
            return np.ascontiguousarray(np.moveaxis(array, 1, -1))
        if at.wrong("DUMP-7:after the tokens"):
            return np.ascontiguousarray(np.moveaxis(array, 1, 2))
    return array

"""A dump as one safetensors file: mapped, so that a large one opens at once."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from handformer.checking.exchange.dump import Dump, Dumped, require_numbers, require_shape
from handformer.checking.exchange.rounding import of_type, rounding
from handformer.tracing.file import DTYPES, Tensors

# The types that no trace has, but a dump may.
_WIDENED = {
    "float16": np.dtype(np.float16), "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn), "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
}  # fmt: skip
_WHOLE = {"I8": "int8", "I16": "int16", "U16": "uint16", "U32": "uint32", "U64": "uint64"}


def read(path: Path) -> Dump:
    """Open a file.

    Raises
    ------
    InputError
        where it can't be read, is damaged, or holds what no value can be
    """
    return Dump(path, _readers(Tensors(path, what="dump")))


def _readers(opened: Tensors) -> Iterator[tuple[str, Any]]:
    for name, (said, shape, *_) in opened.offsets.items():
        where = f"{opened.path}: {name}"
        require_shape(where, shape)
        dtype = _WIDENED.get(said) or _WHOLE.get(said, said)
        known = said in _WIDENED or said in _WHOLE or said in DTYPES.values()
        require_numbers(where, "f" if known else "?", said)
        yield name, partial(_read, opened, name, dtype, where)


def _read(opened: Tensors, name: str, dtype: Any, where: str) -> Dumped:
    stored = opened.array(name, dtype)
    if dtype == "bool":
        stored = stored.view(np.uint8) != 0  # some write 255 for true
    return widened(name, stored, where)


def widened(name: str, stored: NDArray[Any], where: str) -> Dumped:
    """An array as it was stored, in a type that NumPy computes with."""
    if stored.dtype in _WIDENED.values():
        unit, quantum = of_type(stored.dtype)
        return Dumped(name, stored.astype(np.float32), unit, quantum, where)
    if stored.dtype.kind == "f" and stored.dtype.itemsize > 8:
        stored = stored.astype(np.float64)
    return Dumped(name, stored, *rounding(stored), where)

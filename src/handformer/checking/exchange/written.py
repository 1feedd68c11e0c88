"""A dump as JSON: numbers in decimal, whose digits tell how they were rounded.

    {"blocks.0.attention.q": [[...]]}                           flat
    {"blocks": [{"attention": {"q": [[...]]}}]}                 nested
    {"blocks.0.attention.q": {"shape": [2, 5], "data": [...]}}  all numbers in a row

JSON knows no types: 1 and 1.0 are the same to many who write it. NaN, Infinity and -Infinity are
read, though the standard has none; so is null, as JavaScript writes NaN.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.exchange.dump import Dump, Dumped, require_shape
from handformer.checking.exchange.rounding import FLOAT32
from handformer.errors import InputError

LARGEST = 64 * 2**20
_FLAT = {"shape", "data"}
_FEWEST = 3  # digits; with fewer the numbers are taken as they stand: 0.5 is a half
_ENOUGH = 8  # different numbers, before an array's digits are its own
_DEEPEST = 16

Style = tuple[float, float]


class Decimal(str):
    """A number as it is written."""

    __slots__ = ()


Number = Decimal | int | float | bool


def read(path: Path) -> Dump:
    """Read a file.

    Raises
    ------
    InputError
        where it isn't JSON, or holds something else than numbers under names
    """
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise InputError(
                f"{path}: {size:,} bytes of JSON, {LARGEST:,} are read: write safetensors instead"
            )
        text = path.read_text(encoding="utf-8-sig")
        tree = json.loads(text, parse_float=Decimal, object_pairs_hook=partial(_once, path))
        if not isinstance(tree, dict):
            raise InputError(f'{path}: expected names on top, as in {{"scores": [[1.5, 2.5]]}}')
        arrays = list(_arrays(path, "", tree))
    except OSError as error:
        raise InputError(f"{path}: can't read the dump: {error.strerror or error}") from None
    except RecursionError:
        raise InputError(f"{path}: nested too deeply: expected names, lists, numbers") from None
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{path}: not a JSON file: {error}") from None
    usual = _style(number for _, _, numbers in arrays for number in numbers)
    return Dump(path, ((held[0], partial(_array, path, *held, usual)) for held in arrays))


def _once(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    counts = Counter(name for name, _ in pairs)
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise InputError(f"{path}: {twice!r} stands in it twice: keep one of them")
    return dict(pairs)


def _arrays(
    path: Path, name: str, node: Any
) -> Iterator[tuple[str, tuple[int, ...], list[Number]]]:
    """Every array below a node, with the parts of its name joined by dots."""
    where = f"{path}: {name}"
    if isinstance(node, dict) and node.keys() == _FLAT and isinstance(node["data"], list):
        if not isinstance(node["shape"], list):
            raise InputError(f"{where}: its shape is {node['shape']!r}: expected a list")
        shape, numbers = tuple(node["shape"]), node["data"]
        needed = require_shape(where, shape)
        if len(numbers) != needed:
            raise InputError(f"{where}: {len(numbers)} numbers; the shape {shape} has {needed}")
        yield name, shape, [_number(where, one) for one in numbers]
    elif isinstance(node, dict) or (isinstance(node, list) and node and isinstance(node[0], dict)):
        parts = node.items() if isinstance(node, dict) else enumerate(node)
        for part, below in parts:
            yield from _arrays(path, f"{name}.{part}" if name else str(part), below)
    else:
        shape = _shape(where, node)
        require_shape(where, shape)
        numbers = []
        _flatten(where, node, shape, numbers)
        yield name, shape, numbers


def _shape(where: str, node: Any) -> tuple[int, ...]:
    shape = []
    while isinstance(node, list):
        shape.append(len(node))
        if len(shape) > _DEEPEST:
            raise InputError(f"{where}: lists {_DEEPEST} deep: expected one for each axis")
        node = node[0] if node else None
    return tuple(shape)


def _flatten(where: str, node: Any, shape: tuple[int, ...], numbers: list[Number]) -> None:
    if not shape:
        numbers.append(_number(where, node))
        return
    if not isinstance(node, list) or len(node) != shape[0]:
        said = f"a list of {len(node)}" if isinstance(node, list) else repr(node)[:40]
        raise InputError(f"{where}: ragged: {said} where the first is a list of {shape[0]}")
    for below in node:
        _flatten(where, below, shape[1:], numbers)


def _number(where: str, node: Any) -> Number:
    if node is None:
        return float("nan")
    if isinstance(node, Decimal | int | float):
        return node
    said = "a list" if isinstance(node, list) else repr(node)[:40]
    raise InputError(f"{where}: {said} stands where a number is expected")


def _array(
    path: Path, name: str, shape: tuple[int, ...], numbers: list[Number], usual: Style
) -> Dumped:
    where = f"{path}: {name}"
    if all(isinstance(number, bool) for number in numbers):
        return Dumped(name, np.array(numbers, bool).reshape(shape), 0.0, 0.0, where)
    if all(isinstance(number, int) and abs(number) < 2**63 for number in numbers):
        whole: NDArray[Any] = np.array(numbers, np.int64).reshape(shape)
        return Dumped(name, whole, FLOAT32, 0.0, where)
    try:
        floats = np.array([float(number) for number in numbers]).reshape(shape)
    except OverflowError:
        raise InputError(f"{where}: a whole number that no floating-point type holds") from None
    style = _style(numbers) if len(set(numbers)) >= _ENOUGH else usual
    return Dumped(name, floats, *style, where)


def _style(numbers: Iterable[Number]) -> Style:
    """The relative and absolute error of numbers written so.

    Numbers with as many decimals each were rounded to a decimal place, those with as many digits
    each to a number of digits. Zeros at the end may have been left out: most numbers have none.
    """
    decimals: Counter[int] = Counter()
    digits: Counter[int] = Counter()
    for text in {number for number in numbers if isinstance(number, Decimal)}:
        mantissa, *power = text.lower().lstrip("-").split("e")
        digits[len(mantissa.replace(".", "").lstrip("0"))] += 1
        decimals[-1 if power else len(mantissa.partition(".")[2])] += 1
    places, length = _commonest(decimals), _commonest(digits)
    if places >= 0 and decimals[places] >= digits[length]:
        return FLOAT32, 0.5 * 10.0**-places if places >= _FEWEST else 0.0
    return max(FLOAT32, 0.5 * 10.0 ** (1 - length)) if length >= _FEWEST else FLOAT32, 0.0


def _commonest(counts: Counter[int]) -> int:
    return max(counts, key=lambda length: (counts[length], length), default=0)

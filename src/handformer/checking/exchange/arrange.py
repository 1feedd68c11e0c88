"""Orders of axes, as text: `b t h c` is theirs, `b h t c` ours; `(h c)` is two axes as one.

arrange(array, "b t h c", "b h t c", {})
arrange(array, "b t (h c)", "b h t c", {"h": 3})       the heads are split off, by their number
arrange(array, "h i c", "i (h c)", {})                 and joined
"""

import re
from collections.abc import Mapping
from math import prod
from typing import Any

from numpy.typing import NDArray

from handformer.errors import InputError

_AXIS = re.compile(r"\s*(?:([a-z])|\(\s*((?:[a-z]\s*)+)\))")
BATCH = "b"


def axes(text: str) -> tuple[tuple[str, ...], ...]:
    """The letters of each axis.

    Raises
    ------
    InputError
        where it isn't such a text
    """
    found, at = [], 0
    while at < len(text.rstrip()):
        axis = _AXIS.match(text, at)
        if axis is None:
            raise InputError(f"axes {text!r}: expected letters, as in 'b t h c' or 'b t (h c)'")
        found.append(tuple((axis[1] or axis[2]).replace(" ", "")))
        at = axis.end()
    letters = [letter for one in found for letter in one]
    if len(letters) != len(set(letters)):
        raise InputError(f"axes {text!r}: a letter stands twice")
    return tuple(found)


def arrange(
    array: NDArray[Any], theirs: str, ours: str, sizes: Mapping[str, int]
) -> NDArray[Any] | None:
    """An array in our order of axes, a view where that can be; None: it isn't in theirs.

    sizes
        the lengths of axes that are joined in theirs; one of each joint may be left out
    """
    before, after = axes(theirs), axes(ours)
    if len(before) == array.ndim + 1 and (BATCH,) in before and (BATCH,) in after:
        before = tuple(axis for axis in before if axis != (BATCH,))
        after = tuple(axis for axis in after if axis != (BATCH,))
    if len(before) != array.ndim:
        return None
    lengths: dict[str, int] = {}
    for axis, length in zip(before, array.shape, strict=True):
        *rest, last = sorted(axis, key=lambda letter: letter not in sizes)
        if rest and any(letter not in sizes for letter in rest):
            return None
        known = prod(sizes[letter] for letter in rest)
        if length % known or (rest and last in sizes and sizes[last] * known != length):
            return None
        lengths |= {letter: sizes[letter] for letter in rest} | {last: length // known}
    flat = [letter for axis in before for letter in axis]
    wanted = [letter for axis in after for letter in axis]
    split = array.reshape([lengths[letter] for letter in flat])
    turned = split.transpose([flat.index(letter) for letter in wanted])
    return turned.reshape([prod(lengths[letter] for letter in axis) for axis in after])

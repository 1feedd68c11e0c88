"""A long equation as text in lines of a terminal's width."""

import re
from collections.abc import Iterable, Iterator

WIDTH = 80
INDENT = " " * 4
_BREAKS = re.compile(r" (?=[-+*/] |and |or )|(?<=,) ")


def equation(label: str, sides: Iterable[str]) -> Iterator[str]:
    """`label = side = side`: a line each, its equals signs under each other, the same side once."""
    for side in dict.fromkeys(sides):
        yield from broken(label, side)
        label = " " * len(label)


def broken(label: str, side: str) -> Iterator[str]:
    """`label = side`, broken where it is too long: as far out and as late as can be."""
    start = f"{INDENT}{label} = "
    further = " " * (len(start) + 2)
    while len(start) + len(side) > WIDTH:
        room = WIDTH - len(start)
        breaks = [found.start() for found in _BREAKS.finditer(side) if found.start() <= room]
        if not breaks:
            break
        late = [place for place in breaks if 4 * place >= room] or breaks
        at = min(reversed(late), key=lambda place: _hold(side, place))
        yield start + side[:at]
        start, side = further, side[at + 1 :]
    yield start + side


def _hold(side: str, place: int) -> tuple[int, bool]:
    """How firmly the parts hold together that a break would separate: brackets, then products."""
    inside = sum((letter in "([") - (letter in ")]") for letter in side[:place])
    return inside, side[place + 1] in "*/"

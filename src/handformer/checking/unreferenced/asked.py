"""One question that needs no reference, and its answer."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """What was asked of one value, and how far it is from holding.

    path, called
        our path of the value, and their name
    question
        what must hold, as in "rows sum to 1"
    fine
        whether it does, within what rounding explains
    off, allowed
        how far the worst place is off, and what rounding explains there
    place
        where that is: the leading axes of a row, or an entry
    count, of
        how many places are too far off, of how many
    said
        what else was seen
    means
        what it means that it doesn't hold; empty where it does
    hints
        rows of the catalogue of mistakes that show like this
    """

    path: str
    called: str
    question: str
    fine: bool
    off: float = 0.0
    allowed: float = 0.0
    place: tuple[int, ...] = ()
    count: int = 0
    of: int = 0
    said: str = ""
    means: str = ""
    hints: tuple[str, ...] = ()

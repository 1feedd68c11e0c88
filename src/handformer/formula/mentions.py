"""What formulas mention: the names on their right sides, and on those of the names that are
followed.
"""

from collections.abc import Callable, Iterable

from handformer.formula.sheet import Formula, Sheet


def mentions(
    sheet: Sheet, formulas: Iterable[Formula], follows: Callable[[str], bool]
) -> dict[str, bool]:
    """Every name that is mentioned, in order, and whether it stands with places somewhere.

    A bare `d_k` is the width of a head, with places it is the gradient of k. Where `follows` a
    name, what its own formula in the sheet mentions comes right behind it.
    """
    found: dict[str, bool] = {}
    waiting = list(reversed([*formulas]))
    names: list[tuple[str, bool]] = []
    followed: set[str] = set()
    while waiting or names:
        if names:
            name, placed = names.pop()
            found[name] = found.get(name, False) or placed
            if name in followed or not follows(name):
                continue
            followed.add(name)
            formula = sheet[name]
        else:
            formula = waiting.pop()
        own = [*((n, True) for n in formula.inputs), *((n, False) for n in formula.scalars)]
        names += reversed(own)
    return found


def abbreviates(sheet: Sheet, name: str) -> bool:
    """Whether a name is an abbreviation: it has a formula, and isn't kept."""
    return name in sheet and not sheet[name].kept

"""Which entries of a value need a given entry of an array: a formula read backwards.

    q[t,c] = sum(i, x[t,i] * w[i,h*d_k + c])      x[2,5] is needed for q[2,*], w[5,7] for q[*,3]

Letters that stand alone in the array's places are known at once. Index arithmetic, look-ups
(`table[tokens[t],i]`) and conditions (`where(tokens[t] == n, ...)`) are solved by trying all places
of the letters in them: they are few, and no other way fits them all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from handformer.formula.evaluate import Evaluation, Scalars, Values
from handformer.formula.expression import (
    Call,
    Entry,
    Index,
    Node,
    Number,
    Operation,
    Scalar,
    parts,
    walk,
)
from handformer.formula.sheet import Formula, Sheet
from handformer.formula.sizes import split
from handformer.formula.substitute import Abbreviations, Place, fix

Somewhere = tuple[int | None, ...]
_MOST_TRIED = 10_000_000
_Use = tuple[Entry | Scalar, tuple[Node, ...]]


def users(
    sheet: Sheet, user: str, name: str, place: Place, values: Values, scalars: Scalars
) -> list[Somewhere]:
    """The places of `user` whose formula mentions the entry of `name` at `place`.

    None stands for every place along that axis. Where a condition hides the entry from a place, it
    isn't one of them.
    """
    return _Solver(sheet, sheet[user], values, scalars).solve(name, place)


class _Solver:
    def __init__(self, sheet: Sheet, formula: Formula, values: Values, scalars: Scalars) -> None:
        self.formula = formula
        self.evaluation = Evaluation(sheet, values, scalars, [formula.name])
        self.abbreviations = Abbreviations(sheet, values, scalars)
        letters = self.abbreviations.letters(formula, self.array)
        self.body = self.abbreviations.written_out(formula.body, formula, self.array)
        self.sizes = {**letters, **self.abbreviations.sizes}

    def array(self, node: Entry | Scalar) -> Any:
        return self.evaluation.array(node, self.formula)

    def solve(self, name: str, place: Place) -> list[Somewhere]:
        found: dict[Somewhere, None] = {}
        for use, conditions in _uses(self.body, name, ()):
            if isinstance(use, Scalar) and name in self.evaluation.scalars:
                continue  # a number of the config: d_k is the width of a head
            found |= dict.fromkeys(self.of_use(use, conditions, place))
        wide = self.gathered(found)
        kept = [one for one in wide if not any(_holds(other, one) for other in wide)]
        return sorted(kept, key=lambda one: [-1 if at is None else at for at in one])

    def gathered(self, found: Iterable[Somewhere]) -> list[Somewhere]:
        """The same places, those that fill an axis as one."""
        shape = tuple(n for letter in self.formula.axes for n in self.sizes[letter])
        places = [*found]
        for axis, size in enumerate(shape):
            rows: dict[Somewhere, set[int | None]] = {}
            for place in places:
                rows.setdefault((*place[:axis], None, *place[axis + 1 :]), set()).add(place[axis])
            full = {row for row, seen in rows.items() if None in seen or (len(seen) == size > 1)}
            places = [
                *full,
                *(p for p in places if (*p[:axis], None, *p[axis + 1 :]) not in full),
            ]
        return places

    def of_use(
        self, use: Entry | Scalar, conditions: Sequence[Node], place: Place
    ) -> Iterator[Somewhere]:
        """The places on the left at which this mention is the entry at `place`."""
        at: dict[str, Place] = {}
        equal: list[Node] = list(conditions)
        if isinstance(use, Entry):
            pieces = split(self.formula, use, self.array(use).shape)
            start = 0
            for index, piece in zip(use.indices, pieces, strict=True):
                here = place[start : start + len(piece)]
                start += len(piece)
                if isinstance(index, Index) and at.setdefault(index.letter, here) == here:
                    continue
                if isinstance(index, Index):  # twice the same letter, at two places
                    return
                equal.append(Operation("==", index, Number(here[0])))
        needed = [fix(condition, at) for condition in equal]
        free = {n.letter for one in needed for n in walk(one) if isinstance(n, Index)}
        letters = tuple(letter for letter in self.sizes if letter in free)
        for tried in self.true(needed, letters):
            yield self.left({**at, **tried})

    def true(self, needed: Sequence[Node], letters: tuple[str, ...]) -> list[dict[str, Place]]:
        """Every way of placing the letters for which all conditions hold."""
        if not needed:
            return [{}]
        shapes = [self.sizes[letter] for letter in letters]
        if prod(n for shape in shapes for n in shape) > _MOST_TRIED:
            return [{}]
        body = reduce(lambda one, other: Operation("and", one, other), needed)
        formula = replace(self.formula, name="", axes=letters, body=body)
        with np.errstate(all="ignore"):
            holds = np.asarray(self.evaluation.value(formula, {}, self.sizes), dtype=bool)
        seen: dict[tuple[Any, ...], dict[str, Place]] = {}
        kept = [letter in self.formula.axes for letter in letters]
        for found in np.argwhere(holds):
            at, start = dict[str, Place](), 0
            for letter, shape, keep in zip(letters, shapes, kept, strict=True):
                if keep:
                    at[letter] = tuple(map(int, found[start : start + len(shape)]))
                start += len(shape)
            seen.setdefault(tuple(at.values()), at)
        return list(seen.values())

    def left(self, at: Mapping[str, Place]) -> Somewhere:
        every = ((None,) * len(self.sizes[letter]) for letter in self.formula.axes)
        known = [at.get(x, none) for x, none in zip(self.formula.axes, every, strict=True)]
        return tuple(place for piece in known for place in piece)


def _uses(node: Node, name: str, conditions: tuple[Node, ...]) -> Iterator[_Use]:
    """Every mention of a name, with the conditions under which it counts."""
    if isinstance(node, Entry | Scalar) and node.name == name:
        yield node, conditions
    if isinstance(node, Call) and node.function == "where":
        condition, yes, no = node.arguments
        yield from _uses(condition, name, conditions)
        yield from _uses(yes, name, (*conditions, condition))
        yield from _uses(no, name, (*conditions, Operation("==", condition, Number(0))))
        return
    for part in parts(node):
        yield from _uses(part, name, conditions)


def _holds(one: Somewhere, other: Somewhere) -> bool:
    """Whether the first stands for the second and for more."""
    return one != other and all(a is None or a == b for a, b in zip(one, other, strict=True))

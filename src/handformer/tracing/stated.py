"""What the formulas of all layers say of a value: its own formula, its axes, and who needs it."""

from dataclasses import dataclass, field
from typing import Any

from handformer import tree
from handformer.formula import Formula, Sheet
from handformer.formula.expression import Entry, Index, walk
from handformer.layers.layer import Layer
from handformer.tracing.cost import mentioned
from handformer.tracing.scopes import scopes


@dataclass(frozen=True)
class Stated:
    """Three tables by dotted path.

    formulas
        the formula of a value or gradient
    axes
        the letters of its axes, where a formula tells them
    needed_by
        the gradients whose formulas mention it
    """

    formulas: dict[str, Formula] = field(default_factory=dict)
    axes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    needed_by: dict[str, list[str]] = field(default_factory=dict)

    def add(self, scope: str, sheet: Sheet) -> None:
        """Enter a sheet that stands at this path."""
        self._add(scope, _read(sheet))

    def _add(self, scope: str, sheet: "_Read") -> None:
        for formula, names in sheet.formulas:
            path = tree.join(scope, formula.name)
            self.formulas[path] = formula
            for name in names if formula.backward else ():
                self.needed_by.setdefault(tree.join(scope, name), []).append(path)
        for name, letters in sheet.axes.items():
            self.axes.setdefault(tree.join(scope, name), letters)


@dataclass(frozen=True)
class _Read:
    """A sheet's kept formulas, each with the names that it mentions, and the letters of arrays."""

    formulas: tuple[tuple[Formula, tuple[str, ...]], ...]
    axes: dict[str, tuple[str, ...]]


def stated(layer: Layer, cache: Any, back: Any, **others: Sheet) -> Stated:
    """What is stated by a layer or model and all its parts; `others` are sheets by their paths."""
    found, known = Stated(), dict[int, _Read]()
    for scope in scopes(layer, cache, back):  # equal layers have the very same sheet
        if id(scope.sheet) not in known:
            known[id(scope.sheet)] = _read(scope.sheet)
        found._add(scope.path, known[id(scope.sheet)])
    for path, sheet in others.items():
        found.add(path, sheet)
    return found


def _read(sheet: Sheet) -> _Read:
    axes: dict[str, tuple[str, ...]] = {}
    for formula in sheet:
        axes[formula.name] = formula.axes
        weight = formula.name.removeprefix("d_")
        axes.setdefault(weight, formula.axes)
    for letters_of in (_plain_letters, _letters_inside):  # a plain mention tells more
        for formula in sorted(sheet, key=lambda formula: not formula.kept):
            for node in walk(formula.body):
                if isinstance(node, Entry) and (letters := letters_of(node)):
                    axes.setdefault(node.name, letters)
    kept = tuple((formula, mentioned(sheet, formula)) for formula in sheet if formula.kept)
    return _Read(kept, axes)


def _plain_letters(entry: Entry) -> tuple[str, ...]:
    """The letters of an entry's places, if all of them are single letters."""
    letters = tuple(place.letter for place in entry.indices if isinstance(place, Index))
    return letters if len(letters) == len(entry.indices) else ()


def _letters_inside(entry: Entry) -> tuple[str, ...]:
    """A letter for each place: itself, or the first in an index calculation; if each has one."""
    letters: list[str] = []
    for place in entry.indices:
        inside = [*walk(place)]
        found = [node.letter for node in inside if isinstance(node, Index)]
        if any(isinstance(node, Entry) for node in inside) or not {*found} - {*letters}:
            return ()
        letters.append(next(letter for letter in found if letter not in letters))
    return tuple(letters)

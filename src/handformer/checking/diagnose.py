"""Which mistake reproduces their numbers: edits of formulas, each tried on their own inputs.

A value that isn't right may have gone wrong in its own formula, or in one before it that they
didn't write. Each edit of each of these lines is tried: on a few places of each axis first, where
there are many, and what fits there on all. A mistake is usually made in every block, since code is
a loop: so it is tried in all places at once, and then in one alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from handformer.checking.case import Case, Step
from handformer.checking.compare import AnyArray, compare
from handformer.checking.desk import Desk
from handformer.checking.mistakes.edited import edited, line_of, matches, told
from handformer.checking.mistakes.mistake import Edit, Mistake
from handformer.checking.report import Cause
from handformer.checking.slabs import pick
from handformer.formula import FormulaError, Sheet
from handformer.formula.evaluate import At
from handformer.formula.mentions import abbreviates, mentions
from handformer.formula.rounding import Rounded

WHOLE = 20_000  # entries: fewer are looked at all at once
PLACES = 5  # of each axis, where there are more
STEP = 5_000  # what a step counts in a search, beside its entries
# Times what rounding explains of the right value: no edit that fits is farther off.
ROUGHLY = 1000.0
NEAR = 0.05  # of the largest number: closer than that is worth while in any case
DOUBLE = 2.0**-50  # more than float64's rounding
CLEARLY = 0.3  # how much closer than the right formula an edited one has to come
LINK = "https://github.com/handformer/handformer/blob/main/docs/mistakes.md"
Edits = tuple[Edit, ...]
_Found = tuple[Step, dict[tuple[str, str], Sheet]]


@dataclass(frozen=True)
class Trial:
    """A mistake, one of its edits, and the sheets that it makes of those of some steps."""

    mistake: Mistake
    edits: Edits
    sheets: dict[tuple[str, str], Sheet]
    steps: tuple[Step, ...]


def causes(
    desk: Desk,
    step: Step,
    theirs: AnyArray,
    catalogue: Iterable[Mistake],
    *,
    clearly: float = CLEARLY,
    before: bool = True,
) -> tuple[Cause, ...]:
    """The mistakes of a catalogue that reproduce their numbers of a value.

    Those of its own formula come first; only where none fits, and if `before`, those of steps
    before it, as long as the desk has room for that. They have to come `clearly` closer than the
    right formula: to such a part of its distance.
    """
    wrong = _Wrong.of(desk, step, theirs, clearly)
    catalogue = tuple(catalogue)
    way = [desk.case[path] for path in desk.before(step.path)]
    for chain in ([step], way[::-1]) if before else ([step],):
        found: dict[tuple[str, str], Cause] = {}
        for trial in trials(desk.case, chain, catalogue, reshaped=wrong.right is None):
            key = (trial.mistake.id, trial.steps[0].path)
            if key in found:
                continue
            changed = _after(desk.case, [*way, step], trial)
            if len(changed) > 1:
                desk.room -= sum(prod(desk.case[path].value.shape) + STEP for path in changed)
                if desk.room < 0:
                    break
            if wrong.reproduced(desk, trial, changed):
                found[key] = cause(desk.case, trial)
        if found:
            return tuple(found.values())
    return ()


@dataclass(frozen=True)
class _Wrong:
    """A value that isn't right; `at`: the places that are looked at first; None: all."""

    step: Step
    theirs: AnyArray
    at: At | None
    right: Rounded | None
    limit: float

    @classmethod
    def of(cls, desk: Desk, step: Step, theirs: AnyArray, clearly: float) -> "_Wrong":
        if theirs.shape != step.value.shape:
            return cls(step, theirs, None, None, 1.0)
        at = sample(step, theirs, desk)
        right = desk.right_at(step.path, at)
        worst = compare(pick(theirs, step, at), right).worst
        return cls(step, theirs, at, right, min(1.0, clearly * worst))

    def reproduced(self, desk: Desk, trial: Trial, changed: set[str]) -> bool:
        """Whether a trial gives their numbers, and clearly better than what is right."""
        odd = self.theirs.dtype.kind == "f" and not np.isfinite(self.theirs).all()
        single = odd and desk.rounding(self.step.path) > DOUBLE
        other = desk.fork(trial.sheets, changed, np.float32 if single else np.float64)
        for places in (self.at, None) if self.at is not None else (None,):
            wanted = pick(self.theirs, self.step, places)
            try:
                if places is self.at:
                    made = other.value_at(self.step.path, places)
                    if not self._near(wanted, made):
                        return False
                right = other.right_at(self.step.path, places)
            except (FormulaError, KeyError, ValueError, IndexError):
                return False  # it speaks of what isn't there
            if not compare(wanted, right).worst <= self.limit:
                return False
        return True

    def _near(self, wanted: AnyArray, made: AnyArray) -> bool:
        """Whether it is worth while to ask what rounding explains."""
        if made.shape != wanted.shape:
            return False
        if self.right is None:
            return True
        sizes = np.abs(np.asarray(made, np.float64))
        largest = float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))
        roughly = Rounded(made, ROUGHLY * self.right.error + NEAR * largest)
        return compare(wanted, roughly).worst <= 1 or not np.isfinite(roughly.error).all()


def _after(case: Case, way: list[Step], trial: Trial) -> set[str]:
    """What may differ by a trial: the values on the way that are made of its steps'."""
    found = {one.path for one in trial.steps}
    for one in way:
        if not found.isdisjoint(case.parents(one)):
            found.add(one.path)
    return found


def trials(
    case: Case, chain: list[Step], catalogue: Iterable[Mistake], *, reshaped: bool = False
) -> Iterator[Trial]:
    """Every edit of every line of some steps: in all places that have it, then in each alone.

    With other axes, if `reshaped`, else with the same.
    """
    own = {step.path: _lines(case, step) for step in chain}
    alone: list[Trial] = []
    for mistake in catalogue:
        for edits in (*_alone(mistake), *(_together(mistake) if len(chain) > 1 else ())):
            found = list(_changed(case, chain, own, edits, reshaped))
            if not found:
                continue
            yield _trial(mistake, edits, found)
            places: dict[str, list[_Found]] = {}
            for one in found:
                places.setdefault(one[0].scope, []).append(one)
            if len(places) > 1:
                alone += [_trial(mistake, edits, here) for here in places.values()]
    yield from alone


def _trial(mistake: Mistake, edits: Edits, found: list[_Found]) -> Trial:
    sheets = {key: sheet for _, own in found for key, sheet in own.items()}
    return Trial(mistake, edits, sheets, tuple(at for at, _ in found))


def _alone(mistake: Mistake) -> Iterator[Edits]:
    for edit in mistake.edits:
        yield edit if isinstance(edit, tuple) else (edit,)


def _together(mistake: Mistake) -> Iterator[Edits]:
    """A mistake made in several lines at once, as with keys and values: an edit of each line."""
    found: dict[str, dict[str, Edit]] = {}
    for edit in mistake.edits:
        if isinstance(edit, Edit):
            found.setdefault(edit.says, {}).setdefault(edit.line, edit)
    yield from (tuple(lines.values()) for lines in found.values() if len(lines) > 1)


def _changed(
    case: Case, chain: list[Step], own: dict[str, set[str]], edits: Edits, reshaped: bool
) -> Iterator[_Found]:
    """The steps that edits change, each with its new sheet."""
    for step in chain:
        key = (edits, case.sheet_of(step), step.name, reshaped)
        if key not in case.editions:
            case.editions[key] = _edited(case, step, own[step.path], edits, reshaped)
        sheet = case.editions[key]
        if sheet is not None:
            yield step, {(step.scope, step.name): sheet}


def _edited(case: Case, step: Step, lines: set[str], edits: Edits, reshaped: bool) -> Sheet | None:
    """The sheet of a step with some edits made in the lines that make it; None: none applies."""
    sheet, changed = case.sheet(step), False
    for edit in edits:
        if edit.layers and case.layer(step.scope) not in edit.layers:
            continue
        for line in lines:
            if matches(edit, line):
                try:
                    made = edited(edit, sheet, line, reshaped=reshaped)
                except FormulaError:
                    continue  # a letter that runs in this sheet already
                sheet, changed = made or sheet, changed or made is not None
    return sheet if changed else None


def _lines(case: Case, step: Step) -> set[str]:
    """The lines that make a value: its own, and those of the abbreviations in it."""
    if step.formula is None:
        return {step.name}
    sheet = case.sheet(step)
    short = mentions(sheet, [step.formula], lambda name: abbreviates(sheet, name))
    return {step.name, *(name for name in short if abbreviates(sheet, name))}


def sample(step: Step, theirs: AnyArray, desk: Desk) -> At | None:
    """A few places of each axis, those among them where the difference is greatest; None: all."""
    shape = step.value.shape
    if prod(shape) <= WHOLE or step.value.axes.count("b") > 1:
        return None
    worst = desk.held(step.path, theirs).difference.place
    at: dict[str, list[int]] = {}
    for letter, size, far in zip(step.value.axes, shape, worst, strict=True):
        spread = np.linspace(0, size - 1, min(size, PLACES)).astype(int).tolist()
        at[letter] = sorted({*spread, int(far)})
    return {**at, **({"e": at["b"]} if "b" in at else {})}


def stated(mistake: Mistake, path: str) -> Cause:
    """A mistake that is seen without an edit."""
    wrong, cure = (told(text, "", {}) for text in (mistake.wrong, mistake.cure))
    return Cause(mistake.id, wrong, cure, path, formula="", link=f"{LINK}#{mistake.id.lower()}")


def cause(case: Case, trial: Trial) -> Cause:
    """What a trial that fits says."""
    mistake, step = trial.mistake, trial.steps[0]
    scalars = case.scalars(step)
    says = next((edit.says for edit in trial.edits if edit.says), "")
    sheet = trial.sheets[step.scope, step.name]
    original = case.sheet(step)
    changed = [
        name for name in _lines(case, step)
        if name in sheet and sheet[name] != original[name]
    ]  # fmt: skip
    line = min(changed, default=step.name)
    return Cause(
        id=mistake.id,
        wrong=told(mistake.wrong, says, scalars),
        cure=told(mistake.cure, says, scalars),
        at=step.path,
        formula=line_of(sheet, line),
        link=f"{LINK}#{mistake.id.lower()}",
        right=line_of(original, line),
    )

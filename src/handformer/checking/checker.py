"""Go through a computation step by step, and say of each value whether it is right.

Two comparisons are made. *Local*: against our formula applied to their own earlier values; so one
mistake doesn't hide the next, and what only inherits a mistake isn't blamed for it. *Global*:
against the reference. A value that doesn't follow from the earlier ones is right all the same, if
it comes far nearer to the reference: then an earlier one was written wrongly, not used wrongly.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from handformer.checking.case import Case, Step
from handformer.checking.compare import AnyArray, Comparison, compare, together
from handformer.checking.desk import Desk
from handformer.checking.diagnose import causes, stated
from handformer.checking.fit import Reading, fit, readings
from handformer.checking.hidden import seen
from handformer.checking.hints import hints
from handformer.checking.mistakes import ALIKE, CATALOGUE, HARMLESS, Mistake
from handformer.checking.reference import Reference
from handformer.checking.report import BAD, Cause, Status, Verdict
from handformer.checking.sights import sights
from handformer.checking.slabs import SLAB
from handformer.checking.theirs import Theirs
from handformer.fast.workers import Workers, cores
from handformer.formula.rounding import Rounded

# So much nearer to the reference is what only was written wrongly before: by the size of the one
# mistake in it, whatever that is. And so many times what rounding explains may be the luck of a
# draw, where steps in between weren't written: each stands for the roundings of a whole program.
FAR_NEARER, LITTLE = 20.0, 10.0
DUMPS = "DUMP-"  # rows of the catalogue that speak of how a dump was written


class Checker:
    """One dump against one case."""

    def __init__(
        self,
        case: Case,
        theirs: Mapping[str, Theirs],
        copies: Mapping[str, Theirs] | None = None,
        catalogue: Iterable[Mistake] = CATALOGUE,
    ) -> None:
        """`theirs` by our paths, and `copies` by second paths of values; see `exchange.match`.

        catalogue
            the mistakes that are tried
        """
        self.case, self.given, self.catalogue = case, theirs, tuple(catalogue)
        self.copies = copies or {}
        unit = usual(theirs.values())
        # Their values are used as soon as they are found to be of use.
        self.local = Desk(case, {}, unit, copies=self.copies, written=theirs)
        self.reference = Reference(case, unit, theirs)
        self.workers = Workers(cores())
        self.wrong: dict[str, set[str]] = {}  # from which wrong values each value descends
        self.kept: dict[str, AnyArray] = {}
        self.right: dict[str, AnyArray] = {}

    @np.errstate(all="ignore")  # theirs may be any numbers at all
    def verdicts(self, said: Callable[[str], None] = lambda _: None) -> tuple[Verdict, ...]:
        """What is found of every step; `said` is told each path before it is looked at."""
        with self.workers:
            return tuple(verdict for step in self.case for verdict in self._of(step, said))

    def _of(self, step: Step, said: Callable[[str], None]) -> Iterator[Verdict]:
        said(step.path)
        parents = self.case.parents(step)
        self.wrong[step.path] = set[str]().union(*(self.wrong.get(p, ()) for p in parents))
        one = self.given.get(step.path)
        if one is None and step.formula is None:
            return  # it was given to them: nobody has to write it again
        verdict = self._missing(step) if one is None else self._verdict(step, one)
        if verdict.status in BAD:
            self.wrong[step.path] = {step.path}
        elif verdict.status is Status.RIGHT:
            self.wrong[step.path] = set()
        yield verdict
        for path in step.value.also:
            if path in self.copies:
                yield self._copy(step, path, self.copies[path])
                self.wrong[step.path] |= {path}

    def _missing(self, step: Step) -> Verdict:
        return Verdict(step.path, Status.MISSING, axes=step.value.axes, shape=step.value.shape)

    def _copy(self, step: Step, path: str, one: Theirs) -> Verdict:
        """What they wrote where the numbers of a step are seen again, and weren't the same ones."""
        right = Rounded(self._held(step), np.zeros(step.value.shape))
        verdict = Verdict(
            path, Status.WRONG, one.called, step.value.axes, step.value.shape, note=one.note
        )
        if one.array.shape != step.value.shape:
            shapes = f"its shape is {one.array.shape}, expected {step.value.shape}"
            return replace(verdict, status=Status.UNREADABLE, hints=(shapes,))
        self.kept[path], self.right[path] = one.array, right.value
        found = (f"it should be what {step.path} is", *hints(self.local, step, one.array, right))
        named = self._seen_in(step, one, right)
        local = compare(one.array, right).difference
        return replace(verdict, local=local, causes=named, hints=() if named else found)

    def _held(self, step: Step) -> AnyArray:
        held = self.local.theirs.get(step.path)
        return self.local.right(step.path).value if held is None else held.array

    def _verdict(self, step: Step, one: Theirs) -> Verdict:
        verdict = Verdict(
            step.path, Status.RIGHT, one.called, step.value.axes, step.value.shape, note=one.note
        )
        fitted = fit(one, step, self.case.trace[step.path])
        if fitted.theirs is None:
            named = causes(self.local, step, one.array, self.catalogue) if fitted.shape else ()
            return replace(verdict, status=Status.UNREADABLE, causes=named, hints=(fitted.refused,))
        one = seen(self.case, step, fitted.theirs)
        verdict = replace(verdict, note=one.note)
        self.local.theirs[step.path] = one  # its own rounding counts
        local = self._compared(self.local, step.path, one.array)
        verdict = replace(verdict, local=local.difference)
        if fitted.layout:
            self._keep(step, one)
            return self._lying(verdict, fitted.layout)
        if not self.wrong[step.path] and local.fine:
            return replace(verdict, against=verdict.local)
        against = self._against(step.path, one.array, local)
        verdict = replace(verdict, against=against.difference)
        # What rounding explains in all steps up to a value may be much: a step that doesn't follow
        # from the one before is right only if little is amiss, or if it comes far nearer to the
        # reference.
        nearer = not FAR_NEARER * against.difference.off > local.difference.off
        if against.fine and (local.worst <= LITTLE or nearer):
            return verdict
        if local.fine:
            since = tuple(sorted(self.wrong[step.path]))
            return replace(verdict, status=Status.INHERITED, since=since)
        return self._diagnosed(step, one, verdict)

    def _against(self, path: str, array: AnyArray, local: Comparison) -> Comparison:
        """Their numbers against the reference.

        What all roundings explain is only worked out where those of the last step alone don't
        explain it, and where it isn't far beyond any.
        """
        found = self.reference.far(path, array, local.most if local.fine else 0.0)
        if found is None and local.fine and array.size <= SLAB:
            found = compare(
                array, Rounded(self.case.trace[path], self.local.right_at(path, None).error)
            )
            found = found if found.fine else None
        return found or self._compared(self.reference, path, array)

    def _compared(self, desk: Desk, path: str, array: AnyArray) -> Comparison:
        """Their numbers of a value against what it should be; a large one side by side."""
        pieces = desk.pieces(path, array, self.workers.count)
        found = self.workers.map(lambda one: one(), pieces) if pieces[1:] else [pieces[0]()]
        return together([(0, one) for one in found])

    def _diagnosed(self, step: Step, one: Theirs, verdict: Verdict) -> Verdict:
        right = self._keep(step, one)
        verdict = replace(verdict, reads=tuple(self.case.parents(step)))
        alike = causes(self.local, step, one.array, ALIKE, clearly=1.0, before=False)
        harmless = alike or causes(self.local, step, one.array, HARMLESS, clearly=1.0, before=False)
        if alike or (harmless and self._well_after(step) is not False):
            if not alike:
                del self.local.theirs[step.path]
            note = "; ".join(filter(None, (one.note, harmless[0].wrong)))
            return replace(verdict, note=note)
        named = causes(self.local, step, one.array, self.catalogue)
        if named:
            verdict = replace(verdict, status=Status.WRONG, causes=named)
            written = all(cause.id.startswith(DUMPS) for cause in named)
            return self._unused(verdict) if written else verdict
        turned = self._turned(step, one, right)
        if turned is not None:
            return self._lying(verdict, turned)
        named = self._seen_in(step, one, right)
        if named:
            return replace(verdict, status=Status.WRONG, causes=named)
        found = hints(self.local, step, one.array, right)
        if np.isfinite(one.array).all() and self._well_after(step):
            after = "all that follows is right: something else was written under this name"
            return self._unused(verdict, after, *found)
        return replace(verdict, status=Status.WRONG, hints=found)

    def _seen_in(self, step: Step, one: Theirs, right: Rounded) -> tuple[Cause, ...]:
        """The mistakes that their numbers look like, though no formula makes them."""
        rows = sights(self.local, step, one.array, right)
        return tuple(stated(known, step.path) for known in self.catalogue if known.id in rows)

    def _well_after(self, step: Step) -> bool | None:
        """Whether the next values that they wrote follow from what this one should have been.

        None: there are none.
        """
        found = [one for one in self._next(step) if one.formula is not None]
        desk = self.local.fork({}, set(), np.float64)
        del desk.theirs[step.path]
        for one in found:
            fitted = fit(self.given[one.path], one, self.case.trace[one.path])
            if fitted.theirs is None or fitted.layout:
                return False
            desk.theirs[one.path] = seen(self.case, one, fitted.theirs)
            if not desk.held(one.path, desk.theirs[one.path].array).fine:
                return False
        return bool(found) or None

    def _next(self, step: Step) -> list[Step]:
        """The values made of this one that they wrote, past those that they didn't."""
        found, waiting = dict[str, Step](), [step.path]
        while waiting:
            for after in self.case.users(waiting.pop()):
                if after.path in found:
                    continue
                if after.path not in self.given:
                    waiting.append(after.path)
                found[after.path] = after
        return [one for path, one in found.items() if path in self.given]

    def _lying(self, verdict: Verdict, way: Reading) -> Verdict:
        """Numbers that lie in another order; which row of the catalogue says so."""
        found = tuple(stated(one, verdict.path) for one in self.catalogue if one.id == way.row)
        return replace(self._unused(verdict, way.said), causes=found)

    def _turned(self, step: Step, one: Theirs, right: Rounded) -> Reading | None:
        """Whether the numbers are right, and lie in another order."""
        for way in readings(one.array, step):
            for wanted in (right, self.reference.right(step.path)):
                if compare(way.array, wanted).fine:
                    return way
        return None

    def _keep(self, step: Step, one: Theirs) -> Rounded:
        """Keep both sides, for a page that shows them."""
        right = self.local.right(step.path)
        self.kept[step.path], self.right[step.path] = one.array, right.value
        return right

    def _unused(self, verdict: Verdict, *said: str) -> Verdict:
        """A dump that is wrong, not a model: what follows is held against what is right."""
        del self.local.theirs[verdict.path]
        return replace(verdict, status=Status.LAYOUT, hints=said)


def usual(theirs: Iterable[Theirs]) -> float:
    """The unit of the type in which most of their numbers were computed.

    A few arrays may look as if it had been another: one whose numbers are nothing but roundings.
    """
    sizes: dict[float, int] = {}
    for one in theirs:
        if one.unit:
            sizes[one.unit] = sizes.get(one.unit, 0) + one.array.size
    return max(sizes, key=sizes.__getitem__, default=2.0**-53)

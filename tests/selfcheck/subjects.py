"""What the proof of our own code looks at, as cases that mistakes can be tried on.

Every op, layer and model of `selfcheck` with the numbers that our code computes. Training,
generation and sampling keep no record of every number: there only what our code hands out is held.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.case import Case, Step
from handformer.checking.desk import Desk
from handformer.checking.mistakes import Edit, Mistake
from handformer.checking.mistakes.edited import edited, matches
from handformer.checking.theirs import Theirs
from handformer.formula import FormulaError, Sheet
from handformer.formula.expression import Entry, Index, walk
from handformer.formula.mentions import abbreviates, mentions
from handformer.ops import cross_entropy
from handformer.selfcheck import layers, ops
from handformer.selfcheck.cases import all_cases
from handformer.selfcheck.cases.layers import layers as layer_cases
from handformer.selfcheck.cases.models import models as model_cases
from handformer.selfcheck.layers import LayerCase
from handformer.tracing.layer import of_layer
from handformer.tracing.scopes import Scope
from handformer.tracing.sheet import of_sheet
from handformer.tracing.trace import Trace

Arrays = Mapping[str, NDArray[Any]]
Edits = tuple[Edit, ...]

MASKS = "given_masks"


def drawn() -> np.random.Generator:
    """The random numbers of each run: the same ones."""
    return np.random.default_rng(1)


@dataclass(frozen=True)
class Subject:
    """Something of ours whose numbers are held against formulas.

    kind, name
        op, layer, model, training, ...; and which
    trace
        its numbers by path, each with its formula
    ours
        those of them that our code computed
    of
        the case of `selfcheck`, where it is one
    """

    kind: str
    name: str
    trace: Trace
    ours: Arrays
    of: Any = None

    @cached_property
    def case(self) -> Case:
        """The formulas, as steps."""
        return Case(self.trace)

    @cached_property
    def desk(self) -> Desk:
        """Our numbers, and what comes of them by formulas."""
        held = {path: Theirs(path, path, array, 0.0) for path, array in self.ours.items()}
        return Desk(self.case, held, 0.0)

    @cached_property
    def steps(self) -> list[tuple[Step, list[Step]]]:
        """What our code computed, and the steps by which formulas come to it."""
        found = (self.case[path] for path in self.ours)
        return [
            (step, [step, *map(self.case.__getitem__, self.desk.before(step.path))])
            for step in found
            if step.formula is not None
        ]

    def place(self, step: Step) -> str:
        """What a step is called wherever such a layer stands."""
        return f"{self.case.layer(step.scope)}.{step.name}"

    def sheets(self, steps: list[Step], edits: Edits) -> dict[tuple[str, str], Sheet]:
        """The sheets of those steps that some edits change, by scope and name."""
        found = {}
        for step in steps:
            key = (edits, self.case.sheet_of(step), step.name)
            if key not in self.case.editions:
                self.case.editions[key] = self._edited(step, edits)
            sheet = self.case.editions[key]
            if sheet is not None:
                found[step.scope, step.name] = sheet
        return found

    def _edited(self, step: Step, edits: Edits) -> Sheet | None:
        sheet = original = self.case.sheet(step)
        for edit in edits:
            if self.kind != "op" and edit.layers and self.case.layer(step.scope) not in edit.layers:
                continue
            for line in self._lines(step):
                if matches(edit, line):
                    try:
                        sheet = edited(edit, sheet, line) or sheet
                    except FormulaError:  # a letter that runs in this sheet already
                        continue
        return None if sheet is original else sheet

    def lines(self, steps: list[Step]) -> frozenset[str]:
        """The lines that make the values of some steps."""
        return frozenset(line for step in steps for line in self._lines(step))

    def _lines(self, step: Step) -> list[str]:
        """The lines that make a value: its own, and those of the abbreviations in it."""
        sheet = self.case.sheet(step)
        assert step.formula is not None
        short = mentions(sheet, [step.formula], lambda name: abbreviates(sheet, name))
        return [step.name, *(name for name in short if abbreviates(sheet, name))]

    def mistaken(self, path: str, sheets: dict[tuple[str, str], Sheet]) -> NDArray[Any] | None:
        """What edited formulas make of our numbers; None: they speak of what isn't here."""
        changed = {path, *self.desk.before(path)}
        try:
            return self.desk.fork(sheets, changed, np.float64).value_at(path, None)
        except (FormulaError, KeyError, ValueError, IndexError):
            return None


def every(mistake: Mistake) -> Iterator[Edits]:
    """The edits of a mistake, those together that are made together."""
    for edit in mistake.edits:
        yield edit if isinstance(edit, tuple) else (edit,)


def of_ops() -> Iterator[Subject]:
    """Every case of an op."""
    for case in all_cases(np.random.default_rng(2)):
        sheet, values = case.sheet, ops.run(case, drawn())
        if case.op is cross_entropy and case.arrays["targets"].ndim == 2:
            sheet = sheet.rename(b="b t")  # as in a model
        else:
            values = _one_leading_axis(sheet, values)
        made = {name: values[name] for name in (*sheet.forward, *sheet.backward)}
        given = {name: array for name, array in values.items() if name not in made}
        name = case.op.__name__.partition(".ops.")[2]
        trace = of_sheet(sheet, given, made, case.scalars, name=name, layer=name)
        yield Subject("op", name, trace, {path: trace[path] for path in made}, case)


def _one_leading_axis(sheet: Sheet, values: Arrays) -> dict[str, NDArray[Any]]:
    """The same with all leading axes as one, as a trace has them."""
    leads = {f.name: len(f.axes) for f in sheet if f.axes[:1] == ("b",)}
    for node in (node for formula in sheet for node in walk(formula.body)):
        if isinstance(node, Entry) and node.indices[0] == Index("b"):
            leads[node.name] = len(node.indices)
    return {
        name: array.reshape(-1, *array.shape[array.ndim - leads[name] + 1 :])
        if name in leads
        else array
        for name, array in ((name, np.asarray(array)) for name, array in values.items())
    }


def of_layers() -> Iterator[Subject]:
    """Every case of a layer, those first in which formulas show most; then every model."""
    rng = np.random.default_rng(2)
    for case in layer_cases(rng, ((2,),)):
        if not case.sent:  # of what other parts send, a trace of one layer knows nothing
            yield _of_layer("layer", case)
    for case in model_cases(rng):
        yield _of_layer("model", case)


def _of_layer(kind: str, case: LayerCase) -> Subject:
    ran = layers.run(case, drawn())
    d_out = ran.values["d_out"] if ran.back is not None else None
    masks = {name: part for name, part in case.inputs.items() if name.endswith("mask")}
    inputs = {n: part for n, part in case.inputs.items() if n not in masks and n != "dtype"}
    trace = of_layer(
        case.layer, inputs, d_out, name=case.name, drop=case.drop, before=_given(masks),
        given={f"seen_{name}": mask for name, mask in masks.items()},
    )  # fmt: skip
    made = {
        v.path: trace[v.path]
        for v in trace.manifest.values
        if v.kept and not v.path.startswith(MASKS)
    }
    return Subject(kind, type(case.layer).__name__, trace, made, case)


def _given(masks: Arrays) -> Scope | None:
    """Where masks come from that a layer is given: a trace wants each seen once."""
    letters = {name: "bts"[-mask.ndim :] for name, mask in masks.items()}
    lines = (f"{n}[{','.join(at)}] = seen_{n}[{','.join(at)}]" for n, at in letters.items())
    return Scope(MASKS, "GivenMasks", Sheet.parse("\n".join(lines)), {}) if masks else None

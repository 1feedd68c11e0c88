"""Everything that proves the numbers on this machine, part by part: the rows of a table.

Every op, layer and model is held against its formulas; the derivation, or the gradients of weights
and inputs, against finite differences; and all of it against what must hold whatever the weights.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from handformer.randomness import generator
from handformer.selfcheck import gradients, layers, ops
from handformer.selfcheck.cases import all_cases
from handformer.selfcheck.cases.invariants import Invariant, invariants
from handformer.selfcheck.cases.layers import layers as layer_cases
from handformer.selfcheck.cases.models import models as model_cases
from handformer.selfcheck.layers import LayerCase
from handformer.selfcheck.ops import Case, Finding

Findings = tuple[Finding, ...]
_Case = TypeVar("_Case")

VALUES, GRADIENTS = 1e-12, gradients.LIMIT


@dataclass(frozen=True)
class Row:
    """What was found for one part: how far values and gradients are from what they should be.

    limit
        the greatest difference that a value may have; a gradient may have `GRADIENTS`
    raised
        the error that ended the check, if one did
    """

    section: str
    name: str
    values: Findings
    gradients: Findings = ()
    limit: float = VALUES
    raised: str = ""

    @property
    def failures(self) -> Findings:
        """The values and gradients that are too far off; NaN is."""
        checked = ((self.values, self.limit), (self.gradients, GRADIENTS))
        return tuple(f for found, limit in checked for f in found if not f.difference <= limit)

    @property
    def fine(self) -> bool:
        """Whether all is as it should be, and anything was compared at all."""
        return bool(self.values) and not self.failures


@dataclass(frozen=True)
class Part:
    """One row of the table to be."""

    section: str
    name: str
    limit: float
    check: Callable[[], tuple[Findings, Findings]]

    def row(self) -> Row:
        """Check it. An error is something found too: the check goes on with the next part."""
        try:
            return Row(self.section, self.name, *self.check(), self.limit)
        except Exception as error:
            raised = f"{type(error).__name__}: {error}".splitlines()[0]
            return Row(self.section, self.name, (), (), self.limit, raised)


def parts(seed: int = 0) -> list[Part]:
    """Every part, in the order from the ground up: ops, layers, models, invariants.

    The inputs depend on the seed alone, and a part's random numbers on nothing before it.
    """
    rng = np.random.default_rng(seed)
    found = [
        _part("op", name, cases, _op, seed)
        for name, cases in _groups(all_cases(rng), lambda c: c.op.__name__.partition(".ops.")[2])
    ]
    found += [
        _part("layer", name, cases, _layer, seed)
        for name, cases in _groups(layer_cases(rng), lambda c: type(c.layer).__name__)
    ]
    found += [
        _part("model", name, cases, _layer, seed)
        for name, cases in _groups(model_cases(rng), lambda c: c.model.config.family)
    ]
    return found + [_invariant(one) for one in invariants(rng)]


def _groups(cases: Iterable[_Case], name: Callable[[_Case], str]) -> list[tuple[str, list[_Case]]]:
    """The cases of one name together, in the order of their first ones."""
    groups: dict[str, list[_Case]] = {}
    for case in cases:
        groups.setdefault(name(case), []).append(case)
    return list(groups.items())


def _part(
    section: str,
    name: str,
    cases: Iterable[Any],
    check: Callable[[Any, np.random.Generator], tuple[Findings, Findings]],
    seed: int,
) -> Part:
    """All cases of one op, layer or kind of model."""

    def both() -> tuple[Findings, Findings]:
        rng = generator(seed, 0, f"selfcheck.{section}.{name}")
        pairs = [(case.label, *check(case, rng)) for case in cases]
        values = [_at(label, found) for label, every, _ in pairs for found in every]
        slopes = [_at(f"{label}; by differences", f) for label, _, every in pairs for f in every]
        return tuple(values), tuple(slopes)

    return Part(section, name, VALUES, both)


def _at(label: str, found: Finding) -> Finding:
    return Finding(f"{found.value} ({label})", found.difference)


def _op(case: Case, rng: np.random.Generator) -> tuple[Findings, Findings]:
    verdict = ops.verify(case, rng)
    return verdict.values, verdict.gradients


def _layer(case: LayerCase, rng: np.random.Generator) -> tuple[Findings, Findings]:
    ran = layers.run(case, rng)
    values = layers.verify(case.layer, ran.cache, ran.back, ran.values)
    return values, gradients.verify(case, ran, rng)


def _invariant(one: Invariant) -> Part:
    return Part("invariant", one.name, one.limit, lambda: (tuple(one.findings()), ()))

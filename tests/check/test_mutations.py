"""The checker is checked: one mistake, in a formula or in the code, is seen and named rightly.

A mistake that changes nothing can't be seen: those are listed here, each with the reason.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from types import ModuleType

import numpy as np
import pytest

from handformer.check.cases import all_cases
from handformer.check.ops import Arrays, Case, distance, outputs, run, verify
from handformer.formula import Formula, Sheet, evaluate, slope
from handformer.formula.mutate import BOUNDARY, FACTOR, SIGN, TERM, Mutation, mutations
from tests.check.mutated_code import code_mutations

SEEN = 1e-9  # right values differ by less, mistakes by more


def by_op(cases: list[Case]) -> dict[str, list[Case]]:
    found = defaultdict(list)
    for case in cases:
        found[case.op.__name__.removeprefix("handformer.ops.")].append(case)
    return found


OPS = by_op(all_cases(np.random.default_rng(2)))
every_op = pytest.mark.parametrize("op", OPS)

ANY_TOP = "whatever is taken out of a row, softmax is the same"
NO_CORNER = "no case stands at 0, where ReLU has no derivative"
NO_TARGETS = "without targets the losses, or the gradients, are 0 whatever they are divided by"
# (op, value, mistake): the reason
SAME = {
    ("softmax", "top", "twice max(i, x[b,i])"): ANY_TOP,
    ("attention", "top", "twice max(r, scores[b,t,r])"): ANY_TOP,
    ("masked_softmax", "top", "twice max(i, where(mask[b,i], x[b,i], -inf))"): ANY_TOP,
    ("masked_softmax", "top", "twice x[b,i]"): ANY_TOP,
    ("masked_attention", "top", "twice max(r, where(mask[b,h,t,r], scores[b,h,t,r], -inf))"): ANY_TOP,
    ("masked_attention", "top", "twice scores[b,h,t,r]"): ANY_TOP,
    ("cross_entropy", "top", "twice max(m, logits[b,m])"): ANY_TOP,
    ("cross_entropy", "loss", "twice 1"): NO_TARGETS,
    ("cross_entropy", "d_logits", "twice 1"): NO_TARGETS,
    ("cross_entropy", "d_logits", "count >= 0, not count > 0"): NO_TARGETS,
    ("relu", "y", "x[b] >= 0, not x[b] > 0"): "0 is 0 on both sides",
    ("relu", "d_x", "x[b] >= 0, not x[b] > 0"): NO_CORNER,
    ("alibi", "power", "twice 1"): "with two heads or more, a power of two above 1 is the greatest",
}  # fmt: skip
# (op, mistake in the code): the reason
SAME_CODE = {
    ("softmax", "with the sign swapped: x - x.max("): ANY_TOP,
    ("softmax", "without the last term: x - x.max("): ANY_TOP,
    ("masked_softmax", "with the sign swapped: visible - np.where(top"): ANY_TOP,
    ("masked_softmax", "without the last term: visible - np.where(top"): ANY_TOP,
    ("cross_entropy", "with the sign swapped: logits - logits.max("): ANY_TOP,
}


def drawn() -> np.random.Generator:
    return np.random.default_rng(1)


def mistakes(case: Case) -> Iterator[tuple[Formula, Mutation]]:
    sizes = [name for name in ("d_k", "n_heads", "n_queries", "n_keys") if name in case.scalars]
    for formula in case.sheet:
        for mutation in mutations(formula, sizes=sizes):
            yield formula, mutation


def users(sheet: Sheet, formula: Formula) -> set[str]:
    """The kept values that a formula states: its own, or those that its abbreviation stands in."""
    if formula.kept:
        return {formula.name}
    direct = (f for f in sheet if formula.name in (*f.inputs, *f.scalars))
    return set(chain.from_iterable(users(sheet, user) for user in direct))


def wrong_values(case: Case, sheet: Sheet, values: Arrays) -> set[str]:
    """The values whose formula in this sheet doesn't give what the code computed."""
    return {
        name
        for name in (*sheet.forward, *sheet.backward)
        if not distance(values[name], evaluate(sheet, name, values, case.scalars)) <= SEEN
    }


@every_op
def test_every_mistake_in_a_formula_is_seen_at_its_value(op: str) -> None:
    unseen: dict[tuple[str, str, str], set[str]] = {}
    for case in OPS[op]:
        values, slopes = run(case, drawn()), dict[str, object]()
        for formula, mutation in mistakes(case):
            key = (formula.name, mutation.what, formula.text)
            if unseen.setdefault(key, set()):
                continue
            sheet = case.sheet.replace(mutation.formula)
            wrong = wrong_values(case, sheet, values)
            stated = users(case.sheet, formula)
            assert wrong <= stated if len(stated) > 1 else wrong in (set(), stated)
            unseen[key] |= wrong
            for name in wrong & {formula.name} & {*sheet.backward}:
                if name not in slopes:
                    start = outputs(case.sheet)
                    slopes[name] = slope(case.sheet, start, name[2:], values, case.scalars)
                found = evaluate(sheet, name, values, case.scalars)
                assert distance(found, slopes[name]) > 1e-7, "the differences don't see it"
    survivors = {(op, name, what) for (name, what, _), wrong in unseen.items() if not wrong}
    assert survivors == {key for key in SAME if key[0] == op}


def with_sheet(case: Case, sheet: Sheet) -> Case:
    """The case of the same code under other formulas."""
    op = ModuleType(case.op.__name__)
    vars(op).update(vars(case.op), FORMULAS=sheet)
    return replace(case, op=op)


def some() -> list[tuple[Case, Formula, Mutation]]:
    """A few mistakes of each op, of every kind."""
    found = []
    for cases in OPS.values():
        case = cases[-1]
        plain = [(case, f, m) for f, m in mistakes(case) if f.kept]
        found += plain[:: max(1, len(plain) // 4)]
    return [(c, f, m) for c, f, m in found if (c.name.split()[0], f.name, m.what) not in SAME]


SOME = some()


def test_the_few_mistakes_are_of_every_kind() -> None:
    assert {FACTOR, TERM, SIGN, BOUNDARY} <= {mutation.kind for _, _, mutation in SOME}


@pytest.mark.parametrize(
    ("case", "formula", "mutation"), SOME, ids=[f"{c.name} {m.formula.text}" for c, _, m in SOME]
)
def test_verify_names_the_value_and_only_that(
    case: Case, formula: Formula, mutation: Mutation
) -> None:
    mistaken = with_sheet(case, case.sheet.replace(mutation.formula))
    verdict = verify(mistaken, drawn(), differences=formula.backward)
    assert [f.value for f in verdict.values if not f.difference <= SEEN] == [formula.name]
    slopes = [f.value for f in verdict.gradients if not f.difference <= 1e-7]
    assert slopes == ([formula.name] if formula.backward else [])


@every_op
def test_a_mistake_in_the_code_is_seen_first_at_a_value_of_its_line(op: str) -> None:
    cases = OPS[op]
    survivors = []
    for mutation in code_mutations(cases[0].op):
        seen = False
        for case in cases:
            try:
                verdict = verify(replace(case, op=mutation.op), drawn(), differences=False)
            except Exception:  # shapes that don't fit any more, a warning: seen by anybody
                seen = True
                continue
            wrong = [f.value for f in verdict.values if not f.difference <= SEEN]
            assert not wrong or wrong[0] in mutation.values, (mutation.line, mutation.what)
            seen = seen or bool(wrong)
        if not seen:
            survivors.append(mutation.what)
    same = [what for name, what in SAME_CODE if name == op]
    assert [any(what.startswith(part) for part in same) for what in survivors] == [True] * len(same)

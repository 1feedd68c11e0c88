"""The checker is checked: one mistake, in a formula or in the code, is seen and named rightly.

A mistake that changes nothing can't be seen: those are listed here, each with the reason.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from handformer.formula import Formula, FormulaError, Sheet, evaluate, slope
from handformer.formula.mutate import Mutation, mutations
from handformer.selfcheck.cases import all_cases
from handformer.selfcheck.ops import Arrays, Case, distance, outputs, run, verify
from tests.selfcheck.mutated_code import code_mutations

SEEN = 1e-9  # code that is right differs from its formula by less
DERIVED = 1e-7  # and a formula that is right from finite differences

Key = tuple[tuple[str, str, str], str]


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
    ("masked_attention", "top",
     "twice max(r, where(mask[b,h,t,r], scores[b,h,t,r], -inf))"): ANY_TOP,
    ("masked_attention", "top", "twice scores[b,h,t,r]"): ANY_TOP,
    ("flash_attention", "top",
     "twice max(s, where(mask[b,h,t,s], scores[b,h,t,s], -inf))"): ANY_TOP,
    ("flash_attention", "top", "twice scores[b,h,t,s]"): ANY_TOP,
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

    def right(name: str) -> bool:
        try:
            found = evaluate(sheet, name, values, case.scalars)
        except FormulaError:  # an abbreviation that has lost what told it how far a letter runs
            return False
        return distance(values[name], found) <= SEEN

    return {name for name in (*sheet.forward, *sheet.backward) if not right(name)}


@every_op
def test_every_mistake_in_a_formula_is_seen_at_its_value(op: str) -> None:
    """By the code in some case of the op; one in a gradient by the differences too."""
    met, seen = set[Key](), set[Key]()
    for case in OPS[op]:
        values, slopes = run(case, drawn()), dict[str, Any]()
        for formula, mutation in mistakes(case):
            name, key = formula.name, ((op, formula.name, mutation.what), formula.text)
            if key in seen:
                continue
            met.add(key)
            sheet = case.sheet.replace(mutation.formula)
            wrong = wrong_values(case, sheet, values)
            assert wrong <= users(case.sheet, formula)
            if wrong and name in sheet.backward:
                if name not in slopes:
                    start = outputs(sheet)
                    slopes[name] = slope(sheet, start, name[2:], values, case.scalars)
                found = evaluate(sheet, name, values, case.scalars)
                if distance(found, slopes[name]) > DERIVED:
                    seen.add(key)
            elif wrong:
                seen.add(key)
    assert {key for key, _ in met - seen} == {key for key in SAME if key[0] == op}


def with_sheet(case: Case, sheet: Sheet) -> Case:
    """The case of the same code under other formulas."""
    op = ModuleType(case.op.__name__)
    vars(op).update(vars(case.op), FORMULAS=sheet)
    return replace(case, op=op)


@every_op
def test_verify_names_the_value_of_a_wrong_formula_and_no_other(op: str) -> None:
    every = [(f, m) for f, m in mistakes(OPS[op][0]) if f.kept and (op, f.name, m.what) not in SAME]
    for formula, mutation in every[:: max(1, len(every) // 4)]:
        only = [formula.name]
        seen = derived = False
        for case in (case for case in OPS[op] if formula in case.sheet.formulas):
            mistaken = with_sheet(case, case.sheet.replace(mutation.formula))
            verdict = verify(mistaken, drawn(), differences=formula.backward)
            wrong = [f.value for f in verdict.values if not f.difference <= SEEN]
            underived = [f.value for f in verdict.gradients if not f.difference <= DERIVED]
            assert wrong in ([], only)
            assert underived in ([], only)
            seen, derived = seen or wrong == only, derived or underived == only
            if seen and derived is formula.backward:
                break
        assert seen, mutation.what
        assert derived is formula.backward, mutation.what


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
@every_op
def test_a_mistake_in_the_code_is_seen_first_at_a_value_of_its_line(op: str, every: int) -> None:
    cases = OPS[op]
    survivors = []
    for mutation in islice(code_mutations(cases[0].op), 0, None, every):
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
    same = tuple(what for name, what in SAME_CODE if name == op)
    assert [what for what in survivors if not what.startswith(same or ("?",))] == []
    assert len(survivors) == len(same) or every > 1

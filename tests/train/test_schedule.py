"""The learning rate of each update: worked numbers, and what holds for all of them."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from handformer.formula import evaluate
from handformer.formula.mutate import mutations
from handformer.formula.sheet import Sheet
from handformer.train.schedule import (
    CONSTANT_FORMULAS,
    COSINE_FORMULAS,
    constant,
    warmup_cosine,
)


@pytest.mark.smoke
def test_by_hand() -> None:
    # Two updates of warm-up, then half a wave from 1 to 0.2 over five: a step is a quarter of pi.
    rates = [warmup_cosine(s, lr=1.0, min_lr=0.2, warmup=2, steps=7) for s in range(9)]
    half = 0.4 * math.sqrt(0.5)
    assert_allclose(rates, [0.5, 1, 1, 0.6 + half, 0.6, 0.6 - half, 0.2, 0.2, 0.2], rtol=1e-14)
    assert [constant(s, lr=3.0, warmup=3) for s in range(5)] == [1, 2, 3, 3, 3]
    assert constant(0, lr=3.0) == 3


@given(st.integers(0, 40), st.integers(1, 60), st.floats(1e-6, 1.0), st.floats(0.0, 1.0))
def test_it_rises_to_the_rate_then_falls_to_the_least_without_a_jump(
    warmup: int, steps: int, lr: float, part: float
) -> None:
    least = lr * part
    rates = [
        warmup_cosine(s, lr=lr, min_lr=least, warmup=warmup, steps=steps) for s in range(steps)
    ]
    assert_allclose(rates[0], lr / max(1, warmup), rtol=1e-12)
    rise, fall = rates[: warmup + 1], rates[warmup:]
    assert rise == sorted(rise)
    assert_allclose(fall, sorted(fall, reverse=True), rtol=1e-15)
    room = steps - 1 - warmup
    if room > 0:
        assert rates[warmup] == lr
        assert rates[-1] == least
    greatest = max(lr / max(1, warmup), (lr - least) * math.pi / 2 / max(1, room))
    if room != 1:  # one step has to do it all
        jumps = [abs(b - a) for a, b in pairwise(rates)]
        assert max(jumps, default=0.0) <= greatest * (1 + 1e-9)


# (warm-up, updates in all): a wave, none left after the warm-up, no warm-up, a wave of two updates.
LENGTHS = ((3, 9), (4, 5), (4, 4), (0, 5), (2, 4))


def rates_by_code(warmup: int, steps: int, wave: bool) -> list[float]:
    if not wave:
        return [constant(step, lr=0.7, warmup=warmup) for step in range(12)]
    return [
        warmup_cosine(step, lr=0.7, min_lr=0.2, warmup=warmup, steps=steps) for step in range(12)
    ]


def rates(sheet: Sheet, warmup: int, steps: int) -> list[float]:
    scalars = {"lr": 0.7, "min_lr": 0.2, "warmup": warmup, "steps": steps}
    return [float(evaluate(sheet, "rate", {}, {**scalars, "step": step})) for step in range(12)]


@pytest.mark.parametrize(("sheet", "wave"), [(CONSTANT_FORMULAS, False), (COSINE_FORMULAS, True)])
def test_code_equals_the_formulas(sheet: Sheet, wave: bool) -> None:
    for length in LENGTHS:
        assert_allclose(rates(sheet, *length), rates_by_code(*length, wave), rtol=1e-14)


# At its last update the wave's formula has come to 1 by itself.
SAME = {
    "progress := where(step < steps, (step - warmup) / (steps - 1 - warmup), 1)",
    "progress := where(step <= steps - 1, (step - warmup) / (steps - 1 - warmup), 1)",
}


@pytest.mark.parametrize(("sheet", "wave"), [(CONSTANT_FORMULAS, False), (COSINE_FORMULAS, True)])
def test_every_mistake_in_a_formula_is_seen(sheet: Sheet, wave: bool) -> None:
    unseen = set()
    for formula in sheet:
        for mutation in mutations(formula):
            mistaken = sheet.replace(mutation.formula)
            if all(
                rates(mistaken, *length) == pytest.approx(rates_by_code(*length, wave), rel=1e-12)
                for length in LENGTHS
            ):
                unseen.add(repr(mutation.formula))
    assert unseen == (SAME if wave else set())

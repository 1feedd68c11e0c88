"""Sampling: its formulas, the numbers that people get wrong, and what it promises."""

from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from handformer.axes import Array
from handformer.errors import InputError
from handformer.formula import evaluate
from handformer.generate import sampling
from handformer.generate.sampling import Sampling, draw

# A coarse grid, so that rows have ties.
ROWS = arrays(
    np.float64, st.tuples(st.integers(1, 3), st.integers(1, 7)), elements=st.integers(-9, 9)
).map(lambda a: a / 2)


def kept(logits: Array) -> list[int]:
    return np.flatnonzero(np.isfinite(logits)).tolist()


def logits_of(*probs: float) -> Array:
    return np.log(np.array(probs))


@settings(deadline=None, max_examples=40)
@given(ROWS, st.data())
def test_every_function_equals_its_formula(logits: Array, data: st.DataObject) -> None:
    n = logits.shape[-1]
    seen = data.draw(arrays(np.bool_, logits.shape))
    u = data.draw(arrays(np.float64, logits.shape[:1], elements=st.floats(0, 1, exclude_max=True)))
    k, p = data.draw(st.integers(1, n + 1)), data.draw(st.sampled_from([1e-9, 0.3, 0.8, 1.0]))
    probs = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    logits.flags.writeable = seen.flags.writeable = probs.flags.writeable = False
    found = {
        "repetition_penalty": sampling.repetition_penalty(logits, seen, 1.5),
        "temperature": sampling.temperature(logits, 0.7),
        "greedy": sampling.temperature(logits, 0),
        "top_k": sampling.top_k(logits, k),
        "top_p": sampling.top_p(logits, p),
        "min_p": sampling.min_p(logits, p),
        "draw": draw(probs, u),
    }
    scalars = {"penalty": 1.5, "value": 0.7, "k": k, "mass": p, "share": p, "vocab_size": n}
    for name, value in found.items():
        given_probs = {"probs": probs, "chance": u} if name == "draw" else {}
        values = {"logits": logits, "seen": seen, **given_probs}
        right = evaluate(sampling.FORMULAS, name, values, scalars)
        assert_allclose(value, right, rtol=1e-14, atol=1e-14, err_msg=name)


def test_top_p_keeps_the_entry_that_crosses() -> None:
    logits = logits_of(0.5, 0.35, 0.1, 0.05)
    assert kept(sampling.top_p(logits, 0.9)) == [0, 1, 2]
    assert kept(sampling.top_p(logits, 1e-9)) == [0]


def test_top_p_stops_where_the_mass_is_exactly_p() -> None:
    logits = np.array([3.0, 3.0, 3.0, 3.0])  # masses of 1/4, exactly
    assert [kept(sampling.top_p(logits, p)) for p in (0.25, 0.5, 0.75)] == [[0], [0, 1], [0, 1, 2]]


def test_top_p_of_one_keeps_all_whatever_rounding_says() -> None:
    logits = np.array([0.0] + [-40.0] * 50)  # the first alone has mass 1 in floating point
    assert len(kept(sampling.top_p(logits, 1.0))) == 51


def test_top_k_keeps_exactly_k_the_lower_ids_among_equals() -> None:
    logits = np.array([1.0, 2.0, 2.0, 0.0, 2.0, -1.0])
    assert kept(sampling.top_k(logits, 2)) == [1, 2]
    assert kept(sampling.top_k(logits, 3)) == [1, 2, 4]
    assert kept(sampling.top_k(logits, 99)) == [0, 1, 2, 3, 4, 5]


def test_min_p_is_a_share_of_the_most_probable() -> None:
    logits = logits_of(0.5, 0.26, 0.14, 0.1)
    assert kept(sampling.min_p(logits, 0.27)) == [0, 1, 2]
    assert kept(sampling.min_p(logits, 1.0)) == [0]
    assert kept(sampling.min_p(logits, 0.0)) == [0, 1, 2, 3]


def test_a_repeated_token_gets_less_likely_on_both_sides_of_zero() -> None:
    seen = np.array([True, True, False])
    found = sampling.repetition_penalty(np.array([2.0, -1.0, 2.0]), seen, 1.5)
    assert_allclose(found, [4 / 3, -1.5, 2.0], rtol=1e-15)


def test_the_temperature_divides_the_logits_once() -> None:
    probs = Sampling(temperature=0.5).probabilities(np.array([1.0, 0.0]), np.zeros(2, dtype=bool))
    assert_allclose(probs, [1 / (1 + exp(-2)), exp(-2) / (1 + exp(-2))], rtol=1e-15)


@pytest.mark.parametrize("value", [0, 1e-320, 1e-4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_temperature_near_zero_is_greedy(value: float, dtype: type) -> None:
    logits = np.array([[-1e30, 2.5, 3.0, -inf]], dtype=dtype)
    probs = Sampling(temperature=value).probabilities(logits, np.zeros((1, 4), dtype=bool))
    assert_array_equal(probs, [[0, 0, 1, 0]])


def test_at_temperature_zero_the_first_of_equals_is_taken() -> None:
    probs = Sampling(temperature=0).probabilities(np.array([1.0, 2, 2]), np.zeros(3, dtype=bool))
    assert_array_equal(probs, [0, 1, 0])


def test_order_top_p_judges_after_the_temperature_and_after_top_k() -> None:
    nobody = np.zeros(4, dtype=bool)
    logits = logits_of(0.45, 0.3, 0.2, 0.05)
    warm = Sampling(top_p=0.8).probabilities(logits, nobody)
    cold = Sampling(temperature=0.5, top_p=0.8).probabilities(logits, nobody)
    assert [np.count_nonzero(warm), np.count_nonzero(cold)] == [3, 2]
    # After top-k = 2 the two weigh .6 and .4: the first alone reaches .55, of the whole it doesn't.
    both = Sampling(top_k=2, top_p=0.55).probabilities(logits, nobody)
    assert np.count_nonzero(both) == 1


def test_order_the_penalty_comes_before_the_cuts() -> None:
    probs = Sampling(top_k=1, repetition_penalty=2.0).probabilities(
        np.array([3.0, 2.0]), np.array([True, False])
    )
    assert_array_equal(probs, [0, 1])


@settings(deadline=None, max_examples=60)
@given(
    ROWS,
    st.builds(
        Sampling,
        st.floats(0, 50),
        st.none() | st.integers(1, 9),
        st.none() | st.floats(0.01, 1),
        st.none() | st.floats(0, 1),
        st.floats(0.5, 2),
    ),
    st.sampled_from([np.float32, np.float64]),
)
def test_probabilities_are_a_distribution_of_the_same_dtype(
    logits: Array, how: Sampling, dtype: type
) -> None:
    probs = how.probabilities(logits.astype(dtype), np.zeros(logits.shape, dtype=np.bool_))
    assert probs.dtype == dtype
    assert (probs >= 0).all()
    assert_allclose(probs.sum(axis=-1), 1, rtol=4 * np.finfo(dtype).eps)
    assert (np.take_along_axis(probs, logits.argmax(-1)[:, None], -1) > 0).all()
    assert (np.count_nonzero(probs, axis=-1) <= (how.top_k or 9)).all()


def test_a_draw_is_the_inverse_of_the_distribution() -> None:
    probs = np.array([[0.0, 0.25, 0.0, 0.5, 0.25, 0.0]] * 5)
    u = np.array([0.0, 0.2499, 0.25, 0.75, np.nextafter(1, 0)])
    assert_array_equal(draw(probs, u), [1, 1, 3, 4, 4])


@settings(deadline=None)
@given(arrays(np.float32, 6, elements=st.floats(0, 1, width=32)), st.floats(0, 1, exclude_max=True))
def test_what_has_no_mass_is_never_drawn(mass: Array, u: float) -> None:
    mass[3] = 0.5
    assert mass[draw(mass / mass.sum(), np.array(u))] > 0


def test_draws_follow_the_probabilities() -> None:
    probs = np.array([0.1, 0.0, 0.6, 0.3])
    u = np.random.default_rng(5).random(20_000)
    share = np.bincount(draw(np.tile(probs, (u.size, 1)), u), minlength=4) / u.size
    assert_allclose(share, probs, atol=4 * 0.5 / u.size**0.5)  # four standard deviations


def test_every_part_that_acts_tells_what_it_left() -> None:
    logits, first = logits_of(0.4, 0.3, 0.2, 0.1), np.array([True, False, False, False])
    how = Sampling(temperature=0.5, top_k=3, top_p=0.75, min_p=0.9, repetition_penalty=2)
    stages = dict(how.stages(logits, first))
    assert {name: kept(left) for name, left in stages.items()} == {
        "repetition_penalty": [0, 1, 2, 3],
        "temperature": [0, 1, 2, 3],
        "top_k": [0, 1, 2],
        "top_p": [1, 2],
        "min_p": [1],
    }
    assert_array_equal(how.probabilities(logits, first), [0, 1, 0, 0])
    assert [name for name, _ in Sampling().stages(logits, first)] == ["temperature"]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"temperature": -0.1}, "temperature -0.1: expected 0 "),
        ({"temperature": inf}, "temperature inf: expected 0 "),
        ({"temperature": float("nan")}, "temperature nan: expected 0 "),
        ({"top_k": 0}, "top_k 0: expected a whole number from 1 on"),
        ({"top_k": 2.5}, "top_k 2.5: expected a whole number from 1 on"),
        ({"top_p": 0}, "top_p 0: expected above 0"),
        ({"top_p": 1.1}, "top_p 1.1: expected above 0"),
        ({"min_p": -0.1}, "min_p -0.1: expected 0 to 1"),
        ({"min_p": float("nan")}, "min_p nan: expected 0 to 1"),
        ({"repetition_penalty": 0}, "repetition_penalty 0: expected a number above 0"),
        ({"repetition_penalty": inf}, "repetition_penalty inf: expected a number above 0"),
    ],
)
def test_a_number_out_of_range_is_named(wrong: dict[str, float], named: str) -> None:
    with pytest.raises(InputError, match=named) as caught:
        Sampling(**wrong)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_min_p_in_logits_is_a_distance_from_the_top() -> None:
    logits = np.array([0.0, log(0.3) + 1e-9, log(0.3) - 1e-9])
    assert kept(sampling.min_p(logits, 0.3)) == [0, 1]

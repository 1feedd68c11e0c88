"""Draws follow from seed, step and place alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handformer.randomness import generator

triples = st.tuples(st.integers(-(2**70), 2**70), st.integers(-5, 2**40), st.text(max_size=12))


@pytest.mark.smoke
def test_the_draws_are_these_on_every_machine_and_in_every_process() -> None:
    first = generator(1, 500, "batch").bit_generator.random_raw(2)
    np.testing.assert_array_equal(first, [16606365458829026868, 2561877477052679597])


@given(triples, triples)
def test_equal_places_draw_equally_and_unequal_ones_dont(
    here: tuple[int, int, str], there: tuple[int, int, str]
) -> None:
    a, b = (generator(*place).bit_generator.random_raw(2).tolist() for place in (here, there))
    assert (a == b) == (here == there)


def test_moving_a_digit_from_one_argument_to_another_makes_another_stream() -> None:
    draws = {
        tuple(generator(*place).bit_generator.random_raw(2).tolist())
        for place in [(1, 12, "3"), (11, 2, "3"), (1, 1, "23"), (1, 12, ":3"), (1, 12, "")]
    }
    assert len(draws) == 5


def test_numpy_numbers_are_numbers() -> None:
    plain = generator(3, 4, "x").random()
    assert generator(np.int64(3), np.int32(4), "x").random() == plain  # type: ignore[arg-type]

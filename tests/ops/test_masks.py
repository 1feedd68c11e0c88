"""Masks: which keys are visible, row by row, by hand."""

from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from handformer.axes import BoolArray
from handformer.ops import masks
from handformer.ops.masks import causal, padding, window
from handformer.selfcheck.ops import Case
from tests.ops.mistakes import difference

pytestmark = pytest.mark.smoke


def visible(mask: BoolArray) -> list[list[int]]:
    assert mask.dtype == np.bool_
    return [np.flatnonzero(row).tolist() for row in mask]


def test_causal_by_hand() -> None:
    assert visible(causal.forward(3, 3)) == [[0], [0, 1], [0, 1, 2]]
    assert visible(causal.forward(2, 5)) == [[0, 1, 2, 3], [0, 1, 2, 3, 4]]
    assert visible(causal.forward(1, 4)) == [[0, 1, 2, 3]]
    assert visible(causal.forward(3, 2)) == [[], [0], [0, 1]]


def test_window_by_hand() -> None:
    assert visible(window.forward(4, 4, 2)) == [[0], [0, 1], [1, 2], [2, 3]]
    assert visible(window.forward(2, 5, 3)) == [[1, 2, 3], [2, 3, 4]]
    assert visible(window.forward(3, 3, 1)) == [[0], [1], [2]]
    assert_array_equal(window.forward(3, 5, 5), causal.forward(3, 5))


def test_padding_hides_keys_from_every_query() -> None:
    valid = np.array([[True, True, False], [False, True, True]])
    mask = padding.forward(valid, 3)
    assert visible(mask[0]) == [[0, 1]] * 3
    assert visible(mask[1]) == [[1, 2]] * 3
    assert np.shares_memory(mask, valid)
    assert not mask.flags.writeable
    assert padding.forward(valid[0], 4).shape == (4, 3)
    assert padding.forward(valid[None], 4).shape == (1, 2, 4, 3)


def test_combined_masks_all_hold() -> None:
    valid = np.array([[False, True, True], [True, True, False]])
    mask = masks.combine(causal.forward(3, 3), padding.forward(valid, 3))
    assert visible(mask[0]) == [[], [1], [1, 2]]
    assert visible(mask[1]) == [[0], [0, 1], [0, 1]]
    three = masks.combine(causal.forward(3, 3), padding.forward(valid, 3), window.forward(3, 3, 2))
    assert visible(three[1]) == [[0], [0, 1], [1]]
    assert_array_equal(masks.combine(mask), mask)


@pytest.mark.parametrize(
    ("op", "wrong"),
    [
        (causal, "mask[t,s] = s < t + n_keys - n_queries"),
        (causal, "mask[t,s] = s <= t + n_keys - n_queries + 1"),
        (causal, "mask[t,s] = s >= t + n_keys - n_queries"),
        (causal, "mask[t,s] = s > t + n_keys - n_queries"),
        (causal, "mask[t,s] = s <= t"),
        (window, "mask[t,s] = s <= own[t] and s >= own[t] - width"),
        (window, "mask[t,s] = s <= own[t] and s > own[t] - width + 1"),
        (window, "mask[t,s] = s <= own[t]"),
        (window, "mask[t,s] = s <= t and s > t - width"),
        (padding, "mask[b,t,s] = valid[b,t]"),
    ],
)
def test_known_mistakes_are_seen(op: ModuleType, wrong: str) -> None:
    scalars = {"n_queries": 3, "n_keys": 3 if op is padding else 5, "width": 2}
    arrays = {"valid": np.array([[True, False, True]])} if op is padding else {}
    assert difference(Case(op, arrays, scalars), wrong) == 1

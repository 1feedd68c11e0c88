"""The window: the rule in one formula equals the rule played out token by token."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from handformer.generate import window


@settings(deadline=None)
@given(st.integers(1, 20), st.integers(0, 50), st.integers(1, 11))
def test_the_window_is_what_the_rule_leaves(prompt: int, more: int, context: int) -> None:
    seen = list(range(prompt))[-context:]
    for length in range(prompt, prompt + more + 1):
        if length > prompt:
            if len(seen) == context:
                seen = seen[(context + 1) // 2 :]
            seen.append(length - 1)
        start = window.start(prompt, length, context)
        assert list(range(start, length)) == seen
        assert 1 <= length - start <= context


def test_windows_by_hand() -> None:
    starts = [window.start(2, length, 4) for length in range(2, 10)]
    assert starts == [0, 0, 0, 2, 2, 4, 4, 6]
    assert [window.start(7, length, 4) for length in range(7, 11)] == [3, 5, 5, 7]
    assert [window.start(1, length, 1) for length in (1, 2, 3)] == [0, 1, 2]


def test_rows_are_padded_on_the_left() -> None:
    tokens, valid = window.pad([[7], [1, 2, 3]])
    assert_array_equal(tokens, [[0, 0, 7], [1, 2, 3]])
    assert_array_equal(valid, [[False, False, True], [True, True, True]])
    assert tokens.dtype == np.int64

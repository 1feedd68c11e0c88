"""Memory: the same buffers round after round, each thread its own, and zeros that cost nothing."""

import threading
from typing import Any

import numpy as np
import pytest

from handformer.fast.memory import Arena, empty, reuse, zeros


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def test_outside_every_array_is_new() -> None:
    one, other = empty((3, 4), np.float32), empty((3, 4), np.float32)
    assert one.shape == (3, 4)
    assert one.dtype == np.float32
    assert address(one) != address(other)


def test_a_round_gets_the_buffers_of_the_round_before_in_its_order() -> None:
    arena, rounds = Arena(), []
    for _ in range(3):
        with reuse(arena):
            arrays = [empty((5, 7), np.float64), empty((), np.float32), empty((2, 0), np.float32)]
        assert [array.shape for array in arrays] == [(5, 7), (), (2, 0)]
        arrays[0][:] = 1
        rounds.append([address(array) for array in arrays[:2]])
    assert rounds[0] == rounds[1] == rounds[2]
    assert len({*rounds[0]}) == 2
    assert arena.nbytes == 5 * 7 * 8 + 4


def test_a_larger_request_gets_a_larger_buffer_and_a_smaller_one_a_part() -> None:
    arena = Arena()
    for size in (10, 100, 30):
        with reuse(arena):
            array = empty((size,), np.float64)
            array[:] = size
            assert array.shape == (size,)
    assert arena.nbytes == 800


def test_buffers_begin_at_a_cache_line() -> None:
    with reuse(Arena()):
        assert [address(empty((size,), np.uint8)) % 64 for size in (1, 3, 1000)] == [0, 0, 0]


def test_after_an_exception_the_arena_before_is_used_again() -> None:
    outer, inner = Arena(), Arena()
    with reuse(outer):
        with pytest.raises(KeyError), reuse(inner):
            raise KeyError
        empty((4,), np.float32)
    assert (outer.nbytes, inner.nbytes) == (16, 0)
    empty((4,), np.float32)
    assert outer.nbytes == 16


def test_another_thread_has_an_arena_of_its_own_or_none() -> None:
    arena = Arena()
    with reuse(arena):
        thread = threading.Thread(target=lambda: empty((1000,), np.float64))
        thread.start()
        thread.join()
    assert arena.nbytes == 0


@pytest.mark.parametrize("shape", [(3, 4), (1200, 1000)])
def test_zeros_are_zeros_each_time(shape: tuple[int, ...]) -> None:
    arena = Arena()
    for _ in range(2):
        with reuse(arena):
            array = zeros(shape, np.float32)
            assert array.shape == shape
            assert array.dtype == np.float32
            assert not array.any()
            array[1] = 5

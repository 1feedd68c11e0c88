"""Workers: results in order, exceptions raised, one BLAS thread each."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from handformer.fast.memory import empty
from handformer.fast.workers import Workers, cores


def blas_threads() -> set[int]:
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(count: int) -> None:
    with Workers(count) as workers:
        assert workers.map(lambda n: n * n, range(20)) == [n * n for n in range(20)]
        assert workers.map_in_arenas(lambda n: -n, [1, 2, 3]) == [-1, -2, -3]
        assert workers.map_in_arenas(lambda n: -n, []) == []


def test_so_many_work_at_once() -> None:
    meeting = threading.Barrier(3, timeout=20)
    with Workers(3) as workers:
        workers.map(lambda _: meeting.wait(), range(3))  # one alone would wait for ever


@pytest.mark.parametrize("count", [1, 2])
def test_an_exception_comes_out(count: int) -> None:
    with Workers(count) as workers, pytest.raises(ZeroDivisionError):
        workers.map(lambda n: 1 / n, [1, 0])


def test_results_stay_valid_until_the_next_call() -> None:
    def filled(value: int) -> np.ndarray:
        array = empty((1000,), np.float64)
        array[:] = value
        return array

    with Workers(2) as workers:
        for first in range(3):
            values = [first, first + 1, first + 2]
            arrays = workers.map_in_arenas(filled, values)
            assert [array.mean() for array in arrays] == values
        assert workers.nbytes == 3 * 8000


def test_blas_has_one_thread_inside_and_its_own_after() -> None:
    with threadpool_limits(2, user_api="blas"):
        with Workers(2):
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_there_is_a_core() -> None:
    assert cores() >= 1

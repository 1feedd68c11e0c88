"""Helpers: whoever is free takes a piece, and nobody is waited for who has none."""

import multiprocessing
import threading
import time

import numpy as np
import pytest

from handformer.fast import crew, row_product
from handformer.fast.crew import Crew

X = np.random.default_rng(0).normal(size=(1, 300)).astype(np.float32)
TABLE = np.random.default_rng(1).normal(size=(2000, 300)).astype(np.float32)
RIGHT = X @ TABLE.T
ORDERS = 50


def multiply(crew_of_some: Crew) -> float:
    """How far a shared product is off."""
    y = np.zeros((1, 2000), np.float32)
    crew_of_some.run(row_product.multiply, row_product.piece_of_product(), 0, X, TABLE, y)
    return float(np.abs(y - RIGHT).max())


@pytest.mark.parametrize("helpers", [0, 1, 3])
def test_order_after_order_is_done_to_the_end(helpers: int) -> None:
    some = Crew(helpers)
    assert max(multiply(some) for _ in range(ORDERS)) < 1e-4
    some.close()


def test_helpers_fall_asleep_and_are_woken() -> None:
    some = Crew(2)
    for _ in range(3):
        assert multiply(some) < 1e-4
        end = time.monotonic() + 20
        while some.awake and time.monotonic() < end:
            time.sleep(0.01)
        assert some.awake == 0
    some.close()


def test_two_callers_at_once_are_both_served() -> None:
    some, wrong = Crew(1), list[float]()

    def call() -> None:
        wrong.extend(multiply(some) for _ in range(ORDERS))

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(wrong) == 3 * ORDERS
    assert max(wrong) < 1e-4
    some.close()


def test_who_was_kept_waiting_works_alone_for_a_while() -> None:
    some = Crew(1)
    some._board[crew._ALONE] = 2
    assert [multiply(some) < 1e-4 for _ in range(3)] == [True] * 3
    assert some._board[crew._ALONE] == 0
    some.close()


def test_helpers_that_were_sent_home_are_gone() -> None:
    some = Crew(2)
    multiply(some)
    some.close()
    assert not any(thread.is_alive() for thread in some._threads)


def _in_a_child() -> None:
    own = crew.shared()
    assert multiply(own) < 1e-4
    assert all(thread.is_alive() for thread in own._threads)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_forked_child_has_a_crew_of_its_own() -> None:
    assert multiply(crew.shared()) < 1e-4
    child = multiprocessing.get_context("fork").Process(target=_in_a_child)
    child.start()
    child.join(60)
    assert child.exitcode == 0

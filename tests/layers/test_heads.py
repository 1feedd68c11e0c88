"""What an attention remembers: it grows where it stands, and nobody sees it change."""

from threading import Thread

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from handformer import tree
from handformer.axes import Array
from handformer.layers.heads import KeysValues


def new(seed: int, n: int = 1) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    k, v = rng.normal(size=(2, 2, 3, n, 4)).astype(np.float32)
    return k, v


def grown(lengths: list[int]) -> tuple[KeysValues, Array, Array]:
    """A past that grew by these lengths, and its keys and values set side by side."""
    parts = [new(seed, n) for seed, n in enumerate(lengths)]
    past = KeysValues(*parts[0])
    for part in parts[1:]:
        past = past.then(*part)
    k, v = (np.concatenate(kind, axis=-2) for kind in zip(*parts, strict=True))
    return past, k, v


@pytest.mark.parametrize("lengths", [[1], [3, 1], [1] * 20, [5, 2, 0, 7, 1, 1, 40]])
def test_a_past_holds_what_was_added(lengths: list[int]) -> None:
    past, k, v = grown(lengths)
    assert_array_equal(past.k, k)
    assert_array_equal(past.v, v)
    assert (past.k.dtype, past.k.shape[-2]) == (np.float32, sum(lengths))


def test_it_grows_in_place_and_is_copied_only_now_and_then() -> None:
    past, places = grown([1, 1])[0], set()
    for seed in range(1000):
        past = past.then(*new(seed))
        places.add(past.k.__array_interface__["data"][0])
    assert len(places) < 10


def test_two_continuations_of_one_past_do_not_meet() -> None:
    past, k, v = grown([3, 1, 1])
    first, second = past.then(*new(10)), past.then(*new(11))
    third, longer = past.then(*new(12)), first.then(*new(13))
    for one, seeds in ((first, [10]), (second, [11]), (third, [12]), (longer, [10, 13])):
        added = [new(seed) for seed in seeds]
        assert_array_equal(one.k, np.concatenate([k, *(a[0] for a in added)], axis=-2))
        assert_array_equal(one.v, np.concatenate([v, *(a[1] for a in added)], axis=-2))
    assert_array_equal(past.k, k)


def test_threads_that_continue_one_past_do_not_meet() -> None:
    past, k, _ = grown([3, 1])
    found: dict[int, KeysValues] = {}

    def go_on(seed: int) -> None:
        found[seed] = past.then(*new(seed))

    threads = [Thread(target=go_on, args=(seed,)) for seed in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(20):
        assert_array_equal(found[seed].k, np.concatenate([k, new(seed)[0]], axis=-2))


def test_chosen_rows_go_on_for_themselves() -> None:
    past, k, v = grown([3, 1, 1])
    chosen = tree.transform(past, lambda _, array: array[[1]])
    for step in range(3):
        chosen = chosen.then(*(part[[1]] for part in new(20 + step)))
    assert_array_equal(chosen.k[..., :5, :], k[[1]])
    assert_array_equal(past.k, k)
    whole = past.then(*new(30))  # the rest is still the tip
    assert_array_equal(whole.v, np.concatenate([v, new(30)[1]], axis=-2))


def test_a_view_of_some_rows_is_not_the_tip() -> None:
    past, k, _ = grown([3, 1, 1])
    rows = KeysValues(past.k[::-1], past.v[::-1], past.room)
    turned = rows.then(*(part[::-1] for part in new(5)))
    assert_array_equal(turned.k[::-1], np.concatenate([k, new(5)[0]], axis=-2))
    other = KeysValues(past.k, past.v + 1, past.room).then(*new(6))
    assert_array_equal(other.v[..., :5, :], past.v + 1)

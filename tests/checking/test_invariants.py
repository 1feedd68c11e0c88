"""The invariants hold for our code, and each is broken by numbers that are wrong."""

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from handformer.axes import Array, BoolArray, IntArray
from handformer.checking import invariants as hold
from handformer.models import decoder, past
from handformer.ops import (
    cross_entropy,
    dropout,
    layer_norm,
    masked_softmax,
    rotary,
    softmax,
)
from handformer.ops.drops import RandomDropout
from handformer.ops.masks import causal
from handformer.selfcheck.cases.invariants import Invariant, invariants

OURS = invariants(np.random.default_rng(6))
INF = float("inf")

# Two queries that see some keys, and one that sees none.
MASK = np.array([[True, False, False], [True, True, False], [False, False, False]])
ATTN = np.array([[1.0, 0, 0], [0.3, 0.7, 0], [0, 0, 0]])


def changed(array: Array, place: tuple[int, ...], value: float) -> Array:
    other = array.copy()
    other[place] = value
    return other


@pytest.mark.parametrize("one", OURS, ids=lambda one: one.name)
def test_it_holds_for_our_code(one: Invariant) -> None:
    findings = one.findings()
    assert findings
    assert not [found for found in findings if not found.difference <= one.limit]


def test_rows_of_attention_sum_to_one() -> None:
    assert hold.rows_sum_to_one(ATTN, MASK) < 1e-15
    assert hold.rows_sum_to_one(ATTN[:2]) < 1e-15
    assert hold.rows_sum_to_one(ATTN) == 1  # without a mask, every query sees something
    assert hold.rows_sum_to_one(changed(ATTN, (1, 0), 0.31), MASK) == pytest.approx(0.01)
    assert hold.rows_sum_to_one(changed(ATTN, (2, 1), 0.2), MASK) == pytest.approx(0.2)
    assert hold.rows_sum_to_one(changed(ATTN, (1, 0), np.nan), MASK) == INF
    narrow = np.full((1, 50_000), 1 / 50_000, dtype=np.float32)
    assert hold.rows_sum_to_one(narrow) < 1e-7  # the sum adds no rounding of its own


def test_rows_of_gradients_sum_to_zero() -> None:
    d_scores = np.array([[2.0, -3, 1], [0, 0, 0]])
    assert hold.rows_sum_to_zero(d_scores) == 0
    assert hold.rows_sum_to_zero(changed(d_scores, (0, 2), 1.03)) == pytest.approx(0.01)
    assert hold.rows_sum_to_zero(1e-20 * ATTN) < 1e-15  # nothing but rounding
    assert hold.rows_sum_to_zero(changed(d_scores, (0, 0), INF)) == INF


def test_what_is_hidden_is_exactly_zero() -> None:
    assert hold.hidden_is_zero(ATTN, MASK) == 0
    assert hold.hidden_is_zero(np.stack([ATTN, ATTN]), MASK) == 0
    assert hold.hidden_is_zero(changed(ATTN, (0, 2), 1e-30), MASK) == 1e-30
    assert hold.hidden_is_zero(changed(ATTN, (2, 2), np.nan), MASK) == INF
    context = np.array([[1.0, 2], [3, 4], [0, 0]])
    assert hold.unseeing_rows_are_zero(context, MASK) == 0
    assert hold.unseeing_rows_are_zero(changed(context, (2, 1), -1e-30), MASK) == 1e-30
    assert hold.unseeing_rows_are_zero(np.stack([context, context + 1]), MASK) == 1


def test_rows_are_orthogonal() -> None:
    rows, others = np.array([[1.0, -2, 1], [0, 0, 0]]), np.array([[3.0, 3, 3], [1, 2, 3]])
    assert hold.orthogonal(rows, others) < 1e-15
    assert hold.orthogonal(1e-9 * rows, 1e9 * others) < 1e-15
    assert hold.orthogonal(others, others) == pytest.approx(1)
    tilted = hold.orthogonal(changed(rows, (0, 0), 1.01), others)
    assert tilted == pytest.approx(0.01 / np.sqrt(3) / np.sqrt(6), rel=0.01)
    assert hold.orthogonal(changed(rows, (0, 0), np.nan), others) == INF


def test_a_turn_keeps_norms() -> None:
    rows = np.array([[3.0, 4], [0, 1]])
    assert hold.keeps_norms(rows, np.array([[-4.0, 3], [0.6, 0.8]])) < 1e-15
    assert hold.keeps_norms(rows, np.array([[-4.0, 3.1], [0.6, 0.8]])) == pytest.approx(
        0.0121, 0.01
    )


def test_how_far_arrays_are_apart() -> None:
    assert hold.apart(ATTN, ATTN.copy()) == 0
    assert hold.apart(2 * changed(ATTN, (1, 1), 0.701), 2 * ATTN) == pytest.approx(0.001)
    assert hold.apart(ATTN[:2], ATTN) == INF  # not by broadcasting
    assert hold.apart(ATTN[:1], ATTN) == INF
    assert hold.apart(changed(ATTN, (0, 0), INF), changed(ATTN, (0, 0), INF)) == INF
    assert hold.apart(changed(ATTN, (0, 0), np.nan), ATTN) == INF


def test_a_look_ahead_is_seen() -> None:
    tokens = np.array([[3, 1, 2, 0], [0, 0, 1, 1]])

    def running(tokens: IntArray) -> Array:
        return np.cumsum(tokens, axis=-1)[..., None] * np.ones(5)

    assert [hold.looks_ahead(running, tokens, place, 4) for place in range(1, 4)] == [0, 0, 0]
    assert hold.looks_ahead(lambda tokens: running(tokens[:, ::-1]), tokens, 2, 4) > 0
    assert_array_equal(tokens, [[3, 1, 2, 0], [0, 0, 1, 1]])
    d_x = np.array([[[1.0, 2], [3, 4], [0, 0]]])
    assert hold.flows_back(d_x, 2) == 0
    assert hold.flows_back(d_x, 1) == 4


def test_pieces_that_forget_are_seen() -> None:
    tokens, valid = np.array([[3, 1, 2, 5]]), np.array([[False, True, True, True]])
    whole = np.cumsum(tokens, axis=-1)[..., None] * np.ones(2)

    def extend(
        tokens: IntArray, valid: BoolArray, past: float | None, *, keep: float
    ) -> tuple[Array, Any]:
        sums = np.cumsum(tokens, axis=-1) + (past or 0)
        return sums[..., None] * np.ones(2), keep * sums[..., -1:]

    pieces = [(1, 1, 1, 1), (4,), (2, 1, 1), (1, 3)]
    for sizes in pieces:
        remembering = partial(extend, keep=1)
        assert hold.differs_in_pieces(remembering, tokens, valid, sizes, whole) == 0
    forgetful = partial(extend, keep=0.9)
    found = [hold.differs_in_pieces(forgetful, tokens, valid, sizes, whole) for sizes in pieces]
    assert found[1] == 0
    assert min(found[0], *found[2:]) > 0.01
    padded = changed(whole, (0, 0, 0), 99)  # what a padded place gives is nobody's input
    assert hold.differs_in_pieces(partial(extend, keep=1), tokens, valid, (4,), padded) == 0


def test_a_loss_that_sees_a_shift_is_seen() -> None:
    logits, shift = np.array([[1.0, 2, 4], [0, 0, 5]]), np.array([[7.0], [-3]])

    def spread(logits: Array) -> list[Array]:
        return [logits - logits.max(axis=-1, keepdims=True), np.zeros(2)]

    def total(logits: Array) -> list[Array]:
        return [np.zeros(2), logits.sum(axis=-1)]

    assert hold.shift_changes(spread, logits, shift) == 0
    assert hold.shift_changes(total, logits, shift) > 1


def large_negative(x: Array, mask: BoolArray) -> Array:
    return softmax.forward(np.where(mask, x, -1e1))


def see_one_more(n_queries: int, n_keys: int) -> BoolArray:
    return np.tri(n_queries, n_keys, n_keys - n_queries + 1, dtype=np.bool_)


def no_mean(d_y: Array, gamma: Array, beta: Array | None, rstd: Array, x_hat: Array) -> Any:
    d_x_hat = d_y * gamma
    d_x = rstd[..., None] * (d_x_hat - x_hat * (d_x_hat * x_hat).mean(axis=-1, keepdims=True))
    return right_layer_norm(d_y, gamma, beta, rstd, x_hat)._replace(d_x=d_x)


def no_x_hat(d_y: Array, gamma: Array, beta: Array | None, rstd: Array, x_hat: Array) -> Any:
    d_x_hat = d_y * gamma
    d_x = rstd[..., None] * (d_x_hat - d_x_hat.mean(axis=-1, keepdims=True))
    return right_layer_norm(d_y, gamma, beta, rstd, x_hat)._replace(d_x=d_x)


right_layer_norm = layer_norm.backward
right_rotary = rotary.forward
right_loss_backward = cross_entropy.backward
right_loss = cross_entropy.forward


def stretched(x: Array, cos: Array, sin: Array) -> Array:
    return right_rotary(x, 1.01 * cos, sin)


def undivided(d_y: Array, y: Array) -> Array:
    return y * d_y


def unaimed(d_loss: Array, probs: Array, *rest: Any) -> Array:
    return right_loss_backward(d_loss, probs, *rest) + 1e-3 * probs


def unshifted(logits: Array, targets: IntArray, smoothing: float) -> Any:
    found = right_loss(logits, targets, smoothing)
    return found._replace(losses=found.losses + 1e-6 * logits[..., 0])


def always_dropping(x: Array, keep: BoolArray, rate: float) -> Array:
    return x * 0.999


def count_padding(valid: BoolArray, context: int) -> IntArray:
    return np.broadcast_to(np.arange(valid.shape[-1]), valid.shape)


def count_anew(tokens: IntArray, valid: Any, before: Any, context: int, ops: ModuleType) -> Any:
    valid, positions, mask = right_look_back(tokens, valid, before, context, ops)
    return valid, positions * 0 + np.arange(tokens.shape[-1]), mask


right_look_back = past.look_back


@pytest.mark.parametrize(
    ("place", "name", "wrong", "broken"),
    [
        (masked_softmax, "forward", large_negative, "hidden weights and gradients are 0"),
        (masked_softmax, "forward", large_negative, "rows of attn sum to 1, or to 0"),
        (masked_softmax, "forward", large_negative, "a query that sees nothing sends 0"),
        (causal, "forward", see_one_more, "a later token changes no earlier logit"),
        (causal, "forward", see_one_more, "no gradient flows to a later token"),
        (softmax, "backward", undivided, "rows of d_scores sum to 0"),
        (layer_norm, "backward", no_mean, "a LayerNorm's d_x is orthogonal to 1"),
        (layer_norm, "backward", no_x_hat, "and with eps 0 to x_hat"),
        (rotary, "forward", stretched, "a rotation keeps norms"),
        (cross_entropy, "backward", unaimed, "rows of d_logits sum to 0"),
        (cross_entropy, "forward", unshifted, "the loss sees no shift of logits"),
        (dropout, "forward", always_dropping, "extend, in any pieces, equals forward"),
        (decoder, "look_back", count_anew, "extend, in any pieces, equals forward"),
        (RandomDropout, "rate", lambda drop, rate: 0.1, "dropout at rate 0 changes nothing"),
        (past, "places", count_padding, "padding changes nothing"),
    ],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_wrong_code_breaks_it(
    place: Any,
    name: str,
    wrong: Callable[..., Any],
    broken: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(place, name, wrong)
    (one,) = (one for one in invariants(np.random.default_rng(6)) if one.name == broken)
    assert max(found.difference for found in one.findings()) > max(one.limit, 1e-9)

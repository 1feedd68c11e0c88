"""What must hold for our own code, and where: the invariants on small layers and models."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from handformer import tree
from handformer.axes import Array, BoolArray, IntArray
from handformer.checking import invariants as hold
from handformer.layers import LayerNorm
from handformer.models import Decoder, Encoder, EncoderDecoder
from handformer.ops import cross_entropy
from handformer.ops.drops import RandomDropout
from handformer.selfcheck.cases import layers, models
from handformer.selfcheck.cases.models import ModelCase
from handformer.selfcheck.layers import Arrays, LayerCase, run
from handformer.selfcheck.ops import Finding

EXACT, ROUNDING = 0.0, 1e-12


@dataclass(frozen=True)
class Invariant:
    """One invariant: `findings` holds it on every number that it speaks of.

    `limit` is 0 where it must hold bit for bit.
    """

    name: str
    limit: float
    findings: Callable[[], list[Finding]]


def invariants(rng: np.random.Generator) -> list[Invariant]:
    """Every invariant, on models of every kind and on the layers with attention and norms."""
    whole = models.models(rng)
    seed = int(rng.integers(2**32))

    def fresh() -> np.random.Generator:
        """Random numbers that don't depend on which invariants were held before."""
        return np.random.default_rng(seed)

    @cache
    def ran() -> list[tuple[str, Arrays]]:
        numbers = fresh()
        cases: list[LayerCase] = [*layers.layers(numbers, ((2,),)), *whole]
        return [(case.name, run(case, numbers).values) for case in cases]

    def every(one: Callable[[Arrays, str], Iterator[Finding]]) -> Callable[[], list[Finding]]:
        return lambda: [
            Finding(f"{name}, {found.value}", found.difference)
            for name, values in ran()
            for scope in _scopes(values)
            for found in one(values, scope)
        ]

    def each(one: Callable[[ModelCase], Iterator[Finding]]) -> Callable[[], list[Finding]]:
        return lambda: [
            Finding(f"{case.label}{found.value}", found.difference)
            for case in whole
            for found in one(case)
        ]

    return [
        Invariant("rows of attn sum to 1, or to 0", ROUNDING, every(_attn)),
        Invariant("hidden weights and gradients are 0", EXACT, every(_hidden)),
        Invariant("a query that sees nothing sends 0", EXACT, every(_unseeing)),
        Invariant("rows of d_scores sum to 0", ROUNDING, every(_d_scores)),
        Invariant("rows of d_logits sum to 0", ROUNDING, lambda: list(_d_logits(fresh()))),
        Invariant("the loss sees no shift of logits", ROUNDING, lambda: list(_shift(fresh()))),
        Invariant("a LayerNorm's d_x is orthogonal to 1", ROUNDING, every(_orthogonal)),
        Invariant("and with eps 0 to x_hat", ROUNDING, lambda: list(_without_eps(fresh()))),
        Invariant("a rotation keeps norms", ROUNDING, every(_turned)),
        Invariant("a later token changes no earlier logit", EXACT, each(_looks_ahead)),
        Invariant(
            "no gradient flows to a later token", EXACT, each(lambda c: _flows_back(c, fresh()))
        ),
        Invariant("padding changes nothing", ROUNDING, each(lambda c: _padding(c, fresh()))),
        Invariant("extend, in any pieces, equals forward", ROUNDING, each(_pieces)),
        Invariant("dropout at rate 0 changes nothing", EXACT, each(_no_dropout)),
    ]


def _scopes(values: Arrays) -> list[str]:
    """The path of every layer."""
    return list(dict.fromkeys(path.rpartition(".")[0] for path in values))


def _parts(values: Arrays, scope: str, *names: str) -> list[tuple[str, Array]]:
    """Those of the values of a layer that are there, each with its path."""
    paths = (tree.join(scope, name) for name in names)
    return [(path, values[path]) for path in paths if path in values]


def _mask(values: Arrays, scope: str) -> BoolArray | None:
    """What an attention sees; None for one without a mask."""
    is_attention = any(tree.join(scope, name) in values for name in ("attn", "log_total"))
    return values.get(tree.join(scope, "mask")) if is_attention else None


def _attn(values: Arrays, scope: str) -> Iterator[Finding]:
    for path, attn in _parts(values, scope, "attn"):
        yield Finding(path, hold.rows_sum_to_one(attn, _mask(values, scope)))


def _hidden(values: Arrays, scope: str) -> Iterator[Finding]:
    mask = _mask(values, scope)
    if mask is not None:
        for path, array in _parts(values, scope, "attn", "attn_kept", "d_scores"):
            yield Finding(path, hold.hidden_is_zero(array, mask))


def _unseeing(values: Arrays, scope: str) -> Iterator[Finding]:
    mask = _mask(values, scope)
    if mask is not None:
        for path, array in _parts(values, scope, "attn", "context", "d_scores", "d_q"):
            yield Finding(path, hold.unseeing_rows_are_zero(array, mask))


def _d_scores(values: Arrays, scope: str) -> Iterator[Finding]:
    for path, array in _parts(values, scope, "d_scores"):
        yield Finding(path, hold.rows_sum_to_zero(array))


def _orthogonal(values: Arrays, scope: str) -> Iterator[Finding]:
    if tree.join(scope, "rstd") in values:
        for path, d_x in _parts(values, scope, "d_x"):
            yield Finding(path, hold.orthogonal(d_x, np.ones_like(d_x)))


def _turned(values: Arrays, scope: str) -> Iterator[Finding]:
    for name in ("q", "k", "d_q", "d_k"):
        for path, turned in _parts(values, scope, f"{name}_rot"):
            yield Finding(path, hold.keeps_norms(values[tree.join(scope, name)], turned))


def _loss(rng: np.random.Generator) -> tuple[Array, IntArray]:
    """Logits, and targets of which some are ignored."""
    targets = rng.integers(9, size=(2, 5))
    targets[0, 1] = targets[1, 3] = cross_entropy.IGNORED
    return 2 * rng.normal(size=(2, 5, 9)), targets


def _d_logits(rng: np.random.Generator) -> Iterator[Finding]:
    logits, targets = _loss(rng)
    for smoothing in (0.0, 0.1):
        probs, _, count, _ = cross_entropy.forward(logits, targets, smoothing)
        back = cross_entropy.backward(np.array(0.7), probs, targets, count, smoothing)
        yield Finding(f"smoothing {smoothing}", hold.rows_sum_to_zero(back))


def _shift(rng: np.random.Generator) -> Iterator[Finding]:
    logits, targets = _loss(rng)
    shift = 100 * rng.normal(size=(2, 5, 1))
    for smoothing in (0.0, 0.1):

        def loss(logits: Array, smoothing: float = smoothing) -> list[Array]:
            probs, losses, _, mean = cross_entropy.forward(logits, targets, smoothing)
            return [probs, losses, mean]

        yield Finding(f"smoothing {smoothing}", hold.shift_changes(loss, logits, shift))


def _without_eps(rng: np.random.Generator) -> Iterator[Finding]:
    for leading in layers.LEADING:
        layer = layers.lively(LayerNorm.init(7, eps=0.0), rng)
        case = LayerCase(f"leading {leading}", layer, {"x": rng.normal(size=(*leading, 5, 7))})
        values = run(case, rng).values
        yield Finding(case.name, hold.orthogonal(values["d_x"], values["x_hat"]))


def _looks_ahead(case: ModelCase) -> Iterator[Finding]:
    if isinstance(case.model, Encoder):
        return
    tokens = case.inputs["tokens"]

    def logits(tokens: IntArray) -> Array:
        out: Array = case.forward(inputs={**case.inputs, "tokens": tokens})[0]
        return out

    for place in range(1, tokens.shape[-1]):
        unused = case.model.config.vocab_size - 1
        yield Finding(f", token {place}", hold.looks_ahead(logits, tokens, place, unused))


def _flows_back(case: ModelCase, rng: np.random.Generator) -> Iterator[Finding]:
    if isinstance(case.model, Encoder):
        return
    model: Any = case.model
    logits, cache = case.forward()
    for place in range(1, logits.shape[-2]):
        d_logits = rng.normal(size=logits.shape)
        d_logits[..., place:, :] = 0
        back = model.backward(d_logits, cache)
        at_tokens = back.target_embedding if isinstance(model, EncoderDecoder) else back.embedding
        yield Finding(f", token {place}", hold.flows_back(at_tokens.d_out, place))


def _padding(case: ModelCase, rng: np.random.Generator) -> Iterator[Finding]:
    """Each row of a batch alone and without its padding gives the same logits and gradients."""
    if "valid" not in case.inputs or case.drop.rate(1.0):  # masks are drawn for the whole batch
        return
    model: Any = case.model
    logits, cache = case.forward()
    valid = case.inputs["valid"]
    d_logits = np.where(valid[..., None], rng.normal(size=logits.shape) / logits.size, 0)
    together = tree.flatten(model.backward(d_logits, cache).params)
    alone = {path: np.zeros_like(gradient) for path, gradient in together.items()}
    for row in range(len(valid)):
        real = _kept(valid[row])
        out, cache = case.forward(inputs=_alone(case, row))
        yield Finding(f", row {row}", hold.apart(logits[row][real], out[0]))
        params = model.backward(d_logits[row][real][None], cache).params
        alone = {path: alone[path] + d for path, d in tree.flatten(params).items()}
    for path, gradient in together.items():
        yield Finding(f", d of {path}", hold.apart(gradient, alone[path]))


def _alone(case: ModelCase, row: int) -> dict[str, Any]:
    """The inputs of one row without its padding."""
    found = {}
    for name, array in case.inputs.items():
        valid = case.inputs["source_valid" if name.startswith("source") else "valid"]
        found[name] = array[row][_kept(valid[row])][None]
    return found


def _kept(valid: BoolArray) -> BoolArray:
    """The real tokens (t); where there is none, one that is hidden: a sequence has a token."""
    first = np.arange(len(valid)) == 0
    return valid if valid.any() else first


def _pieces(case: ModelCase) -> Iterator[Finding]:
    if isinstance(case.model, Encoder) or case.drop.rate(1.0):
        return
    tokens = case.inputs["tokens"]
    valid = case.inputs.get("valid", np.ones(tokens.shape, dtype=bool))
    logits, _ = case.forward()
    n = tokens.shape[-1]
    for pieces in ((1,) * n, (n,), (2, n - 3, 1)):
        difference = hold.differs_in_pieces(_extend(case), tokens, valid, pieces, logits)
        yield Finding(f", in pieces of {pieces}", difference)


def _extend(case: ModelCase) -> hold.Extend:
    model = case.model
    if isinstance(model, Decoder):
        return lambda tokens, valid, past: model.extend(tokens, past, valid=valid)
    assert isinstance(model, EncoderDecoder)
    source_valid = case.inputs["source_valid"]
    memory = model.encode(case.inputs["source"], source_valid=source_valid)
    return lambda tokens, valid, past: model.extend(
        tokens, past, memory, source_valid=source_valid, valid=valid
    )


def _no_dropout(case: ModelCase) -> Iterator[Finding]:
    if not case.drop.rate(1.0):
        drop = RandomDropout(seed=1, step=2)
        dropped = ModelCase(case.label, case.model, case.inputs, drop).forward()[0]
        yield Finding("", hold.apart(dropped, case.forward()[0]))

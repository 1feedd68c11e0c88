"""Two ways that must agree on any model: with a cache and without, padded and alone.

    kv_cache(hand.load("runs/first")).text()
    padding(hand.load("runs/first")).text()

Both compare every value that the two ways have, not only the logits: the first that differs is
where to look.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

import handformer.ops as plain
from handformer import tree
from handformer.axes import IntArray
from handformer.checking.agreement import Agreement, AnyArray, Compared, compare, worst
from handformer.checking.recorded import Recorder
from handformer.errors import InputError
from handformer.generate.text import TextModel
from handformer.models import Decoder, Encoder, EncoderDecoder, Model
from handformer.ops.cross_entropy import IGNORED
from handformer.randomness import generator
from handformer.tracing.manifest import Value
from handformer.tracing.prompt import Prompt, of_tokens
from handformer.tracing.run import run
from handformer.tracing.seen import place
from handformer.tracing.trace import Trace

LONGEST = 14  # tokens: enough for a prompt, single tokens and several at once
_ALONG = "tsru"
_Any = TypeVar("_Any", bound=Model)


def kv_cache(model: Model | TextModel, *, ops: ModuleType = plain) -> Agreement:
    """Cached generation against one pass over all tokens.

    The tokens are read as a prompt, one by one, and several at once, each piece with what was kept
    of those before.

    Raises
    ------
    InputError
        for an encoder, which has no cache
    """
    bare = _whole(model)
    if isinstance(bare, Encoder):
        raise InputError("an encoder reads all tokens at once: it has no cache to be checked")
    prompt = _prompt(bare, [_longest(bare)] * 2, cut=False)
    weights = {place(array): path for path, array in tree.flatten(bare).items()}
    once, pieces = Recorder(ops, weights), _pieces(_longest(bare))
    whole = run(bare, prompt, ops=once.ops)
    paths = {place(whole[path]): path for path in whole}
    found = list(_cached(bare, prompt, pieces, once, ops, weights, whole, paths))
    order = {path: number for number, path in enumerate(whole)}
    values = sorted(worst(found), key=lambda one: order[one.path])
    said = " + ".join(map(str, pieces))
    asked = f"two rows of {sum(pieces)} tokens, read as {said} with a cache and all at once"
    return Agreement(asked, bare.config.family, tuple(values))


def padding(model: Model | TextModel, *, ops: ModuleType = plain) -> Agreement:
    """Rows of unequal length side by side, padded on either side, against each row alone.

    Gradients are compared too: those of a row's values, weighted by the row's share of the targets
    that count, and those of weights, which are the weighted sums of the rows'.
    """
    bare = _whole(model)
    longest = _longest(bare)
    lengths = [longest, max(1, longest // 2), max(1, longest - 3)]
    prompt = _prompt(bare, lengths, cut=True)
    found: list[Compared] = []
    for side in ("right", "left"):
        padded = prompt if side == "right" else _moved(prompt)
        found += _rows(bare, padded, side, ops)
    said = ", ".join(map(str, lengths[:-1]))
    asked = f"rows of {said} and {lengths[-1]} tokens side by side, padded, and each alone"
    return Agreement(asked, bare.config.family, worst(found))


def _whole(model: Any) -> Model:
    """The model without its tokenizer, in float64."""
    bare = model.model if isinstance(model, TextModel) else model
    if not isinstance(bare, Decoder | Encoder | EncoderDecoder):
        raise InputError(
            f"a {type(bare).__name__} can't be checked: expected a model or a folder's"
        )
    return tree.transform(bare, lambda _, array: _wide(array))


def _wide(array: AnyArray) -> AnyArray:
    """Weights in any floating-point type, those of 16 bits among them, in float64."""
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def _longest(model: Model) -> int:
    return min(model.config.context, LONGEST)


def _prompt(model: Model, lengths: Sequence[int], *, cut: bool) -> Prompt:
    """Rows of these lengths, of drawn tokens; a source's rows are of other lengths."""

    def rows(what: str, size: int, lengths: Sequence[int]) -> list[IntArray]:
        rng = generator(0, 0, f"equivalence.{what}")
        return [rng.integers(size, size=length) for length in lengths]

    config = model.config
    source = None
    if isinstance(model, EncoderDecoder):
        size = config.source_vocab_size or config.vocab_size
        most = _longest(model)
        source = rows("source", size, [max(1, most - 2 * k - 1) for k in range(len(lengths))])
    aims = rows("targets", config.vocab_size, lengths)
    if cut:  # some don't count, another number in each row
        for number, row in enumerate(aims):
            row[1 : 2 + number] = IGNORED if len(row) > 2 + number else row[1 : 2 + number]
    return of_tokens(model, rows("tokens", config.vocab_size, lengths), source=source, targets=aims)


def _pieces(length: int) -> tuple[int, ...]:
    """A prompt, two single tokens, several at once, one more; of few tokens, one at a time."""
    first = max(1, length // 2)
    left = length - first
    return (first, 1, 1, left - 3, 1) if left > 4 else (first, *[1] * left)


def _cached(
    model: Decoder | EncoderDecoder,
    prompt: Prompt,
    pieces: Sequence[int],
    once: Recorder,
    ops: ModuleType,
    weights: dict[Hashable, str],
    whole: Trace,
    paths: dict[Hashable, str],
) -> Iterator[Compared]:
    """Every array that an op sees in a piece, against what it saw in the whole pass."""
    given, past, start = prompt.inputs, None, 0
    kept: dict[str, Any] = {}
    before = Recorder(ops, weights)
    if isinstance(model, EncoderDecoder):
        source_valid = given["source_valid"]
        memory = model.encode(given["source"], source_valid=source_valid, ops=before.ops)
        kept = {"memory": memory, "source_valid": source_valid}
        for array, right in before.pairs(once):
            if path := paths.get(place(right)):
                yield compare(path, array, right, "the source, read alone")
    for number, size in enumerate(pieces):
        recorder, stop = Recorder(ops, weights), start + size
        model_extend: Any = model.extend
        logits, past = model_extend(given["tokens"][:, start:stop], past, ops=recorder.ops, **kept)
        said = f"piece {number}: token {start}" + (f" to {stop - 1}" if size > 1 else "")
        for array, right in recorder.pairs(once, before):
            if path := paths.get(place(right)):
                part = _part(whole.entry(path), array, right, start, stop)
                yield compare(path, array, part, said)
        start = stop
        right = whole["head.out"][:, stop - size : stop]
        yield compare("head.out", logits, right, said)


def _part(value: Value, array: AnyArray, right: AnyArray, start: int, stop: int) -> AnyArray:
    """What of a value of all tokens a piece has: the new places, and all up to them."""
    taken = [slice(None)] * right.ndim
    sizes = (1,) * (right.ndim - array.ndim) + array.shape
    for axis, letter in enumerate(value.axes):
        if letter in _ALONG and letter not in value.source:
            new = letter == "t" or sizes[axis] == stop - start
            taken[axis] = slice(start if new else 0, stop)
    return right[tuple(taken)]


def _moved(prompt: Prompt) -> Prompt:
    """The same rows with their padding on the left."""
    inputs = dict(prompt.inputs)
    targets = _left(prompt.targets, inputs["valid"])
    for side, valid in (("tokens", "valid"), ("source", "source_valid")):
        if side in inputs:
            inputs[side] = _left(inputs[side], inputs[valid])
            inputs[valid] = inputs[valid][:, ::-1].copy()
    return replace(prompt, inputs=inputs, targets=targets)


def _left(rows: AnyArray, valid: AnyArray) -> AnyArray:
    shifts = valid.shape[1] - valid.sum(axis=1)
    pairs = zip(rows, shifts, strict=True)
    return np.stack([np.roll(row, int(shift)) for row, shift in pairs])


def _rows(model: Model, prompt: Prompt, side: str, ops: ModuleType) -> Iterator[Compared]:
    """Every value of each row, and the gradients of weights, in the batch and alone."""
    together = run(model, prompt, ops=ops)
    counts = (prompt.targets != IGNORED).sum(axis=1)
    sums: dict[str, AnyArray] = {}
    for row, count in enumerate(counts):
        real = _real(prompt, row)
        alone = run(model, _only(prompt, row, real), ops=ops)
        share = count / counts.sum()
        for value in together.manifest.values:
            if value.kind in ("input", "weight", "lens") or value.path == "loss.count":
                continue
            whole, right = together[value.path], alone[value.path]
            backward = "gradient" in value.kind
            if "b" not in value.axes:
                sums[value.path] = sums.get(value.path, 0) + share * right
            else:
                part = _row(value, whole, row, real)
                scaled = share * right if backward else right
                yield compare(value.path, part, scaled[0], f"row {row}, padded on the {side}")
    for path, right in sums.items():
        yield compare(path, together[path], right, f"all rows, padded on the {side}")


def _real(prompt: Prompt, row: int) -> dict[str, AnyArray]:
    """The places of a row that are no padding, of the tokens and of the source."""
    sides = (name for name in ("valid", "source_valid") if name in prompt.inputs)
    return {name: np.flatnonzero(prompt.inputs[name][row]) for name in sides}


def _only(prompt: Prompt, row: int, real: dict[str, AnyArray]) -> Prompt:
    """One row without its padding."""
    inputs = {}
    for name, rows in prompt.inputs.items():
        kept = real["source_valid" if name.startswith("source") else "valid"]
        inputs[name] = rows[row : row + 1, kept]
    return replace(prompt, inputs=inputs, targets=prompt.targets[row : row + 1, real["valid"]])


def _row(value: Value, array: AnyArray, row: int, real: dict[str, AnyArray]) -> AnyArray:
    """A row of a value of the batch, at the places that are no padding."""
    found: AnyArray = array[row]
    for axis, letter in enumerate(value.axes[1:]):
        if letter in _ALONG:
            kept = real["source_valid" if letter in value.source else "valid"]
            found = np.take(found, kept, axis=axis)
    return found

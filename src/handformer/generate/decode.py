"""Writing on: from the tokens so far to the next one, step after step, for one or several rows.

Every row is as it would be alone. Its draws follow from the seed, the number of the step and the
row's own prompt. Where a prompt stands in a batch several times, its copies are numbered: they go
on differently, and the first one as if it were alone.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Protocol

import numpy as np

import handformer.ops as plain
from handformer.axes import Array, BoolArray, IntArray, record
from handformer.errors import InputError
from handformer.generate import window
from handformer.generate.kv_cache import CausalModel, Reader, Rereader, Window
from handformer.generate.sampling import Sampling, draw, seen
from handformer.generate.window import Ids
from handformer.randomness import generator

Ends = Callable[[int, int], bool]


@record
class Step:
    """One token more for each row that hadn't finished before.

    rows, tokens (a,): the rows, by their place among the prompts, and the new token of each.
    logits, probs (a, n): what the model said, and what the token was drawn from.
    stopped (a,): true where the token is a stop token; it is the row's last.
    """

    rows: IntArray
    tokens: IntArray
    logits: Array
    probs: Array
    stopped: BoolArray


class Source(Protocol):
    """Where logits come from."""

    def logits(self, windows: Mapping[int, Window]) -> Array:
        """Logits of the token after each window, (rows, n)."""


def generate(
    model: CausalModel,
    prompts: Sequence[Ids],
    *,
    max_tokens: int,
    sampling: Sampling | None = None,
    seed: int = 0,
    stop_tokens: Collection[int] = (),
    ends: Ends | None = None,
    chunk: int | None = None,
    cached: bool = True,
    vocab_size: int | None = None,
    ops: ModuleType = plain,
) -> Iterator[Step]:
    """Continue each prompt by up to `max_tokens` tokens, all side by side.

    Parameters
    ----------
    prompts
        token ids, at least one in each: a model can't continue nothing. A prompt may be longer than
        the model's context; `window` says what is seen of it.
    sampling
        how tokens are chosen; None: as the model's probabilities say. The repetition penalty looks
        at the row's whole text, prompt included, also where the window has left it behind.
    stop_tokens
        a row that draws one of these has finished
    ends
        asked with (row, token) after each token; a row for which it says True has finished
    chunk
        a prompt is read in pieces of so many tokens; None: in one. The result is the same.
    cached
        False: the whole window is read again at every step. The result is the same, and slow.
    vocab_size
        entries from here on are the model's padding and are never drawn; None: there are none
    ops
        what computes: `handformer.ops`, the book, or `handformer.fast`, the engine

    Raises
    ------
    InputError
        before the first step for an empty prompt, an id outside the vocabulary, or a number out of
        range; at the step where they appear for logits that aren't finite
    """
    context, entries = model.config.context, model.config.vocab_size
    check_ids("prompt", prompts, entries)
    check_count("max_tokens", max_tokens, 0)
    if chunk is not None:
        check_count("chunk", chunk, 1)
    source = Reader(model, chunk, ops=ops) if cached else Rereader(model, ops=ops)
    return write(
        source,
        prompts,
        [",".join(map(str, prompt)) for prompt in prompts],
        context=context,
        max_tokens=max_tokens,
        sampling=sampling or Sampling(),
        seed=seed,
        stop_tokens=stop_tokens,
        ends=ends,
        vocab_size=entries if vocab_size is None else vocab_size,
    )


def write(
    source: Source,
    prompts: Sequence[Ids],
    names: Sequence[str],
    *,
    context: int,
    max_tokens: int,
    sampling: Sampling,
    seed: int,
    stop_tokens: Collection[int],
    ends: Ends | None,
    vocab_size: int,
) -> Iterator[Step]:
    """The loop itself: read, choose, append. `names` tell the rows apart in the draws."""
    texts = [[int(token) for token in prompt] for prompt in prompts]
    met = np.array([seen(text, vocab_size) for text in texts]).reshape(len(texts), vocab_size)
    places = [f"draw.{names[:row].count(name)}.{name}" for row, name in enumerate(names)]
    lengths = [len(text) for text in texts]
    rows = list(range(len(texts)))
    for number in range(max_tokens):
        if not rows:
            return
        starts = [window.start(lengths[row], len(texts[row]), context) for row in rows]
        windows = {
            row: Window(start, texts[row][start:]) for row, start in zip(rows, starts, strict=True)
        }
        logits = source.logits(windows)[:, :vocab_size]
        check_finite(logits, rows, number)
        probs = sampling.probabilities(logits, met[rows])
        u = np.array([generator(seed, number, places[row]).random() for row in rows])
        tokens = draw(probs, u)
        stopped = np.isin(tokens, list(stop_tokens))
        met[rows, tokens] = True
        finished = set()
        for row, token, stop in zip(rows, tokens.tolist(), stopped, strict=True):
            texts[row].append(token)
            if stop or (ends is not None and ends(row, token)):
                finished.add(row)
        yield Step(np.array(rows), tokens, logits, probs, stopped)
        rows = [row for row in rows if row not in finished]


def written(steps: Iterable[Step], rows: int) -> list[list[int]]:
    """The new tokens of each of so many rows, stop tokens left out, when all steps are done."""
    texts: list[list[int]] = [[] for _ in range(rows)]
    for step in steps:
        for row, token, stop in zip(step.rows, step.tokens, step.stopped, strict=True):
            if not stop:
                texts[row].append(int(token))
    return texts


def check_ids(what: str, rows: Sequence[Ids], vocab_size: int) -> None:
    """Every row has a token, and every token is one of the vocabulary's."""
    for number, ids in enumerate(rows):
        if not len(ids):
            raise InputError(f"{what} {number} has no tokens: expected at least one")
        wrong = [token for token in ids if not 0 <= token < vocab_size]
        if wrong:
            raise InputError(
                f"{what} {number} holds the token {wrong[0]}: expected 0 to {vocab_size - 1}; "
                "encode it with the model's own tokenizer"
            )


def check_count(what: str, count: int, least: int) -> None:
    """A number of things is not below the least."""
    if count < least:
        raise InputError(f"{what} {count}: expected a whole number from {least} on")


def check_finite(logits: Array, rows: Sequence[int], number: int) -> None:
    """Refuse logits (rows, n) that aren't finite, naming the row and the step."""
    broken = ~np.isfinite(logits).all(axis=-1)
    if broken.any():
        raise InputError(
            f"row {rows[int(broken.argmax())]}, token {number}: the model's logits aren't finite; "
            "its weights are damaged or its training diverged: take an earlier checkpoint"
        )

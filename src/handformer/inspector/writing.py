"""A text while a model writes it, a token at a time: what it could have said, what was left of
that, what it drew, and the keys and values that it keeps of what it has read.

Each step is one of `generate`: the same draws, from the same seed, as on the command line.
"""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from handformer.axes import Array
from handformer.errors import InputError
from handformer.generate.decode import Step, check_ids, write
from handformer.generate.kv_cache import Reader
from handformer.generate.sampling import Sampling
from handformer.generate.text import BEGIN, END, TextModel, Writer
from handformer.generate.translate import Listener, Told
from handformer.generate.window import pad
from handformer.models import Decoder, EncoderDecoder
from handformer.models.past import Past
from handformer.ops import softmax
from handformer.text import Tokenizer

SHOWN = 20  # entries of the vocabulary, the likeliest first
LONGEST = 100_000  # tokens of one writing


class Writing:
    """One text that grows. Several threads may ask for its next token; each gets another one."""

    def __init__(self, model: TextModel, text: str, sampling: Sampling, seed: int) -> None:
        """Begin to write on from a text, or, with an encoder-decoder, what belongs to it.

        Raises
        ------
        InputError
            for a text that can't be encoded, is empty or too long, and for an encoder
        """
        self._tokenizer, self._sampling = model.tokenizer, sampling
        self._begin, self._reader = _reader(model, text)
        before = self._begin if isinstance(model.model, Decoder) else []
        self._prompt: list[int] = before or model.tokenizer.encode(text).tolist()
        self._writer = Writer(model.tokenizer, before, ())
        self._text, self._number, self._read, self._ended = "", 0, 0, False
        self._steps = self._write(model, seed)
        self._lock = threading.Lock()

    def _write(self, model: TextModel, seed: int) -> Iterator[Step]:
        """The steps of `generate`, or of `translate`."""
        decoder, context = isinstance(model.model, Decoder), model.model.config.context
        special = model.tokenizer.special
        return write(
            self._reader,
            [self._begin],
            [",".join(map(str, self._prompt))],
            context=context,
            max_tokens=LONGEST if decoder else context,
            sampling=self._sampling,
            seed=seed,
            stop_tokens=[special[name] for name in END if name in special],
            ends=lambda _, token: self._writer.take(token),
            vocab_size=model.tokenizer.vocab_size,
        )

    @property
    def told(self) -> dict[str, Any]:
        """The tokens of the text that was given, and those from which the writing goes on."""
        prompt, begin = (
            [_token(self._tokenizer, id) for id in ids] for ids in (self._prompt, self._begin)
        )
        return {"prompt": prompt, "begin": begin}

    def next(self) -> dict[str, Any]:
        """One token more: see `_told`; where the text has ended already, only that and the text."""
        with self._lock:
            step = None if self._ended else next(self._steps, None)
            if step is None:
                self._text += "" if self._ended else self._writer.finish()
                self._ended = True
                return {"step": self._number, "ended": True, "text": self._text}
            self._number += 1
            self._ended = bool(step.stopped[0])
            self._text += self._writer.finish() if self._ended else self._writer.give()
            return self._told(step)

    def _told(self, step: Step) -> dict[str, Any]:
        """A step as the page shows it.

        entries
            the likeliest, and the one that was drawn if it isn't among them: how probable the model
            found each (before), how probable it was in the draw (after), and what took it away
        rest
            how many others there are, and their probabilities together
        """
        logits, after = step.logits[0], step.probs[0]
        before = softmax.forward(logits)
        drawn = int(step.tokens[0])
        order = np.argsort(-logits, kind="stable")
        rank = int(np.flatnonzero(order == drawn)[0])
        shown = order[:SHOWN].tolist() + ([drawn] if rank >= SHOWN else [])
        others = np.delete(np.arange(len(logits)), shown)
        # No penalty is asked for here, so it makes no difference which tokens there were.
        unseen = np.zeros(step.logits.shape, dtype=np.bool_)
        left = {name: y[0] > -np.inf for name, y in self._sampling.stages(step.logits, unseen)}
        return {
            "step": self._number,
            "token": {**_token(self._tokenizer, drawn), "rank": rank},
            "entries": [
                {
                    **_token(self._tokenizer, id),
                    "before": float(before[id]),
                    "after": float(after[id]),
                    "cut": next((name for name, kept in left.items() if not kept[id]), None),
                }
                for id in shown
            ],
            "rest": {
                "count": len(others),
                "before": float(before[others].sum()),
                "after": float(after[others].sum()),
            },
            "kept": {name: int(kept.sum()) for name, kept in left.items()},
            "vocabulary": len(logits),
            "text": self._text,
            "ended": self._ended,
            "cache": self._cache(),
        }

    def _cache(self) -> dict[str, Any]:
        """The keys and values that are kept: their sizes, and the lengths of the new keys.

        lengths
            of each layer and head, from token `first` on; what came before is as it was told
        """
        (past,) = self._reader.pasts
        own = past.past if isinstance(past, Told) else past
        assert isinstance(own, Past)
        blocks = own.blocks
        k = blocks[0].k
        tokens = int(k.shape[-2])
        first = self._read if tokens > self._read else 0  # else the window has turned
        self._read = tokens
        return {
            "layers": len(blocks), "heads": int(k.shape[-3]), "tokens": tokens,
            "width": int(k.shape[-1]), "dtype": str(k.dtype),
            "bytes": sum(block.k.nbytes + block.v.nbytes for block in blocks),
            "first": first,
            "lengths": [_lengths(block.k[0, :, first:]) for block in blocks],
        }  # fmt: skip


def _reader(model: TextModel, text: str) -> tuple[list[int], Reader]:
    """The tokens from which the writing goes on, and what reads them."""
    if isinstance(model.model, Decoder | EncoderDecoder):
        if not text:
            raise InputError("no text: type at least one character")
        ids = model.tokenizer.encode(text).tolist()
    if isinstance(model.model, Decoder):
        check_ids("text", [ids], model.model.config.vocab_size)
        return ids, Reader(model.model, ops=model.ops)
    if not isinstance(model.model, EncoderDecoder):
        raise InputError("an encoder doesn't write on: it fills gaps, as in a [MASK] text")
    config = model.model.config
    check_ids("text", [ids], config.source_vocab_size or config.vocab_size)
    if len(ids) > config.context:
        raise InputError(f"the text has {len(ids)} tokens: expected at most {config.context}")
    begin = [model.tokenizer.special[name] for name in BEGIN if name in model.tokenizer.special]
    if not begin:
        raise InputError(f"the vocabulary has no begin token (such as {BEGIN[0]})")
    tokens, valid = pad([ids])
    memory = model.model.encode(tokens, source_valid=valid, ops=model.ops)
    return begin[:1], Reader(Listener(model.model, Told(memory, valid, None)), ops=model.ops)


def _token(tokenizer: Tokenizer, id: int) -> dict[str, Any]:
    return {"id": id, "text": tokenizer.token(id)}


def _lengths(k: Array) -> list[list[float]]:
    """The Euclidean length of each key: k (g, s, c), result (g, s)."""
    rows: Sequence[Sequence[float]] = np.sqrt((k.astype(np.float64) ** 2).sum(axis=-1)).tolist()
    return [list(row) for row in rows]

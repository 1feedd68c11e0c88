"""A model with its tokenizer: text in, text out.

What comes out is what the model wrote, without the prompt; prompt + result is the whole text. It
ends before a stop string and before an end token. A character that `max_tokens` cut in half is left
out.
"""

from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import TypedDict, TypeVar, Unpack

import handformer.ops as plain
from handformer.axes import record
from handformer.errors import InputError
from handformer.generate.decode import Step, generate
from handformer.generate.fill import fill
from handformer.generate.sampling import Sampling
from handformer.generate.translate import translate
from handformer.models import Decoder, Encoder, EncoderDecoder, Model
from handformer.text import StopStrings, StreamDecoder, Tokenizer

# What vocabularies call the tokens before and after a text. GPT-2 has one token for both.
BEGIN = ("[BOS]", "<s>", "<bos>", "<|begin_of_text|>", "<|endoftext|>")
END = ("[EOS]", "</s>", "<eos>", "<|end_of_text|>", "<|eot_id|>", "<|im_end|>", "<|endoftext|>")
MASK = ("[MASK]", "<mask>")

Texts = TypeVar("Texts", str, list[str])
_Kind = TypeVar("_Kind", bound=Model)


class How(TypedDict, total=False):
    """The settings of `Sampling`, each with its default unless given."""

    temperature: float
    top_k: int | None
    top_p: float | None
    min_p: float | None
    repetition_penalty: float


class Writer:
    """One row's text while its tokens arrive."""

    def __init__(
        self, tokenizer: Tokenizer, before: Iterable[int], stop: str | Iterable[str]
    ) -> None:
        """The text begins behind the tokens `before`, which aren't part of it.

        They are decoded too: some vocabularies spell the first token of a text differently.
        """
        before = [int(token) for token in before]
        self._decoder = StreamDecoder(tokenizer)
        out = sum(len(self._decoder.push(token)) for token in before)
        self._owed = len(tokenizer.decode(before)) - out  # characters of `before` still to come
        self._stops = StopStrings(stop)
        self._text = ""

    def take(self, token: int) -> bool:
        """Take the next token; True if the text has met a stop string and is at its end."""
        self._text += self._stops.push(self._new(self._decoder.push(token)))
        return self._stops.stopped

    def give(self) -> str:
        """The text that has become certain since the last call."""
        text, self._text = self._text, ""
        return text

    def finish(self) -> str:
        """The rest, when no token follows."""
        # A character of which half is still missing won't ever be whole.
        rest = self._new(self._decoder.finish()).rstrip("\ufffd")
        self._text += self._stops.push(rest) + self._stops.finish()
        return self.give()

    def _new(self, text: str) -> str:
        old = min(self._owed, len(text))
        self._owed -= old
        return text[old:]


@record
class TextModel:
    """A model and the tokenizer it was trained with.

    `generate` and `stream` continue a text (decoders), `translate` writes another one to it
    (encoder-decoders), `fill` fills its gaps (encoders); each raises InputError for a model of
    another kind. `ops` computes: `handformer.ops`, the book, or `handformer.fast`, the engine.
    """

    model: Model
    tokenizer: Tokenizer
    ops: ModuleType = plain

    def generate(
        self,
        prompt: Texts,
        *,
        max_tokens: int = 200,
        seed: int = 0,
        stop: str | Sequence[str] = (),
        **how: Unpack[How],
    ) -> Texts:
        """Continue a text, or several side by side, each as it would go on alone.

        Parameters
        ----------
        prompt
            a text, or a list of texts. An empty one stands for the begin token, where the
            vocabulary has one. Of a text beyond the model's context the end is read (`window`).
        max_tokens
            how many tokens are written at most
        seed
            the same seed gives the same text
        stop
            a string, or several: the text ends where the first of them begins
        temperature, top_k, top_p, min_p, repetition_penalty
            how tokens are chosen: see `Sampling`; the temperature is 0.8 unless given

        Raises
        ------
        InputError
            for a prompt that can't be encoded, or a number out of range
        """
        sampling = Sampling(**(How(temperature=0.8) | how))
        several = isinstance(prompt, list)
        writers, steps = self._begin(
            prompt if isinstance(prompt, list) else [prompt], max_tokens, sampling, seed, stop
        )
        return _collect(writers, steps, several)  # type: ignore[return-value]

    def stream(
        self,
        prompt: str,
        *,
        max_tokens: int = 200,
        seed: int = 0,
        stop: str | Sequence[str] = (),
        **how: Unpack[How],
    ) -> Iterator[str]:
        """The text of `generate` in pieces, each as soon as it is certain.

        No piece holds half a character, or any part of a stop string.
        """
        sampling = Sampling(**(How(temperature=0.8) | how))
        (writer,), steps = self._begin([prompt], max_tokens, sampling, seed, stop)
        return _pieces(writer, steps)

    def translate(
        self,
        source: Texts,
        *,
        max_tokens: int | None = None,
        seed: int = 0,
        stop: str | Sequence[str] = (),
        **how: Unpack[How],
    ) -> Texts:
        """Write what belongs to a source text, or to several; by default the most probable token.

        max_tokens is the model's context at most, and that if it is None; the temperature is 0
        unless given; the others: `generate`.
        """
        model = self._of_kind(EncoderDecoder)
        sources = source if isinstance(source, list) else [source]
        writers = [Writer(self.tokenizer, (), stop) for _ in sources]
        steps = translate(
            model,
            [self.tokenizer.encode(text) for text in sources],
            begin=self._special("begin", BEGIN),
            end=self._special("end", END),
            max_tokens=max_tokens,
            sampling=Sampling(**(How(temperature=0) | how)),
            seed=seed,
            ends=lambda row, token: writers[row].take(token),
            vocab_size=self.tokenizer.vocab_size,
            ops=self.ops,
        )
        return _collect(writers, steps, isinstance(source, list))  # type: ignore[return-value]

    def fill(self, text: str) -> str:
        """The text with every gap, written as the vocabulary's mask token, say `[MASK]`, filled."""
        model = self._of_kind(Encoder)
        mask = self._special("mask", MASK)
        name = next(name for name, id in self.tokenizer.special.items() if id == mask)
        ids: list[int] = []
        for place, part in enumerate(text.split(name)):
            ids += [mask] * (place > 0) + self.tokenizer.encode(part).tolist()
        filled = fill(
            model, ids, mask_token=mask, vocab_size=self.tokenizer.vocab_size, ops=self.ops
        )
        return self.tokenizer.decode(filled.tokens)

    def _begin(
        self,
        prompts: Sequence[str],
        max_tokens: int,
        sampling: Sampling,
        seed: int,
        stop: str | Sequence[str],
    ) -> tuple[list[Writer], Iterator[Step]]:
        model = self._of_kind(Decoder)
        ids = [self._encode(prompt) for prompt in prompts]
        writers = [Writer(self.tokenizer, row, stop) for row in ids]
        steps = generate(
            model,
            ids,
            max_tokens=max_tokens,
            sampling=sampling,
            seed=seed,
            stop_tokens=[id for name, id in self.tokenizer.special.items() if name in END],
            ends=lambda row, token: writers[row].take(token),
            vocab_size=self.tokenizer.vocab_size,
            ops=self.ops,
        )
        return writers, steps

    def _encode(self, prompt: str) -> list[int]:
        if prompt:
            return [int(token) for token in self.tokenizer.encode(prompt)]
        return [self._special("begin", BEGIN, "; give a prompt of at least one character")]

    def _special(self, role: str, names: Sequence[str], cure: str = "") -> int:
        for name in names:
            if name in self.tokenizer.special:
                return self.tokenizer.special[name]
        raise InputError(f"the vocabulary has no {role} token (such as {names[0]}){cure}")

    def _of_kind(self, kind: type[_Kind]) -> _Kind:
        if isinstance(self.model, kind):
            return self.model
        what = {Decoder: "generate and stream", EncoderDecoder: "translate", Encoder: "fill"}
        here = type(self.model)
        raise InputError(
            f"the model is of kind {here.__name__}, expected {kind.__name__}: "
            f"use {what[here]} with this one"
        )


def _collect(writers: Sequence[Writer], steps: Iterator[Step], several: bool) -> str | list[str]:
    for _ in steps:
        pass
    texts = [writer.finish() for writer in writers]
    return texts if several else texts[0]


def _pieces(writer: Writer, steps: Iterator[Step]) -> Iterator[str]:
    for _ in steps:
        if piece := writer.give():
            yield piece
    if piece := writer.finish():
        yield piece

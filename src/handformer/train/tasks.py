"""What is learned: the next token, a masked token, or one sequence from another.

A task turns a corpus into batches of its model's family. Each batch comes from (seed, step, micro)
alone.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from handformer.axes import IntArray
from handformer.errors import InputError
from handformer.models.config import ModelConfig
from handformer.text import Corpus, Tokenizer, corpus
from handformer.train import batches, masked, pairs
from handformer.train.config import DataConfig, RunConfig, TrainConfig
from handformer.train.step import Batch

PAD, MASK, BOS, EOS = "[PAD]", "[MASK]", "[BOS]", "[EOS]"
_VALIDATION = 0  # the seed of all that is drawn for evaluations, whatever the training's is


class Task(Protocol):
    """What the training loop asks of a task."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokens' spelling."""
        ...

    @property
    def summary(self) -> str:
        """What is learned from, in a line."""
        ...

    def model_config(self, config: ModelConfig) -> ModelConfig:
        """The model's config with the sizes that only the text tells."""
        ...

    def batch(self, train: TrainConfig, step: int, micro: int) -> Batch:
        """One micro-batch of an update."""
        ...

    def validation(self, train: TrainConfig) -> list[Batch]:
        """The batches of an evaluation: always the same."""
        ...


def read(data: DataConfig) -> Corpus:
    """The text of a run.

    Raises
    ------
    InputError
        where it can't be read, or isn't the one whose sha256 the config names
    """
    text = corpus.read(data.path)
    if data.sha256 not in (None, text.sha256):
        raise InputError(
            f"{text.name}: another text than this run's (sha256 {text.sha256[:12]}, expected "
            f"{str(data.sha256)[:12]}); begin a new run for it"
        )
    return text


def prepare(config: RunConfig, text: Corpus, tokenizer: Tokenizer | None = None) -> Task:
    """The task of a run. A resumed one brings its tokenizer, a new one gets what the config asks.

    Raises
    ------
    InputError
        where the text is too short for the context, or doesn't suit the family or the tokenizer
    """
    if config.model.family == "transformer":
        return _pairs(config, text, tokenizer)
    encoder = config.model.family == "bert"
    tokenizer = tokenizer or _tokenizer(config, text.text, (PAD, MASK) if encoder else ())
    ids = tokenizer.encode(text.text)
    context = config.model.context
    training, held_out = corpus.split(ids, context, config.data.validation)
    skipped = f" ({text.skipped} files that hold no text left out)" if text.skipped else ""
    summary = (
        f"{text.name}{skipped}: {len(text.text):,} characters, {len(ids):,} tokens, "
        f"{tokenizer.vocab_size:,} different ones, sha256 {text.sha256[:12]}"
    )
    kind = MaskedTask if encoder else LanguageTask
    return kind(tokenizer, training, held_out, context, summary)


def _tokenizer(config: RunConfig, text: str, special: tuple[str, ...]) -> Tokenizer:
    match config.data.tokenizer:
        case "characters":
            return Tokenizer.characters(text, special=special)
        case "bytes":
            return Tokenizer.bytes(special=special)
        case "bpe":
            return Tokenizer.bpe(text, vocab_size=config.data.vocab_size, special=special)
        case path if not os.path.exists(path):
            raise InputError(
                f"data.tokenizer = {path!r}: expected characters, bytes, bpe, or the path of a "
                "tokenizer.json"
            )
        case path:
            tokenizer = Tokenizer.load(path)
    missing = [name for name in special if name not in tokenizer.special]
    if missing:
        raise InputError(
            f"data.tokenizer = {path!r}: it has no special token {missing[0]}, which family = "
            f"{config.model.family} needs; take another one, or bpe"
        )
    return tokenizer


@dataclass(frozen=True)
class LanguageTask:
    """Every token of a window, from the ones before it."""

    tokenizer: Tokenizer
    training: IntArray
    held_out: IntArray
    context: int
    summary: str

    def model_config(self, config: ModelConfig) -> ModelConfig:
        """The vocabulary's size is the tokenizer's."""
        return _with_vocabulary(config, self.tokenizer)

    def batch(self, train: TrainConfig, step: int, micro: int) -> Batch:
        """Random windows of the training text."""
        tokens, targets = batches.windows(
            self.training, context=self.context, batch=train.batch, seed=train.seed, step=step,
            micro=micro,
        )  # fmt: skip
        return Batch({"tokens": tokens}, targets)

    def validation(self, train: TrainConfig) -> list[Batch]:
        """Evenly spaced windows of the text that is held out."""
        cut = batches.evaluation_windows(
            self.held_out, context=self.context, batch=train.batch, count=train.eval_sequences
        )
        return [Batch({"tokens": tokens}, targets) for tokens, targets in cut]


@dataclass(frozen=True)
class MaskedTask(LanguageTask):
    """Some tokens of a window, from all the others."""

    def batch(self, train: TrainConfig, step: int, micro: int) -> Batch:
        """Random windows of the training text with some tokens masked."""
        whole = super().batch(train, step, micro)
        return self._hide(whole.inputs["tokens"], "mask", train.seed, step, micro)

    def validation(self, train: TrainConfig) -> list[Batch]:
        """Evenly spaced windows of the text that is held out, masked the same way every time."""
        cut = [batch.inputs["tokens"] for batch in super().validation(train)]
        hidden = self._hide(np.concatenate(cut), "validation", _VALIDATION, 0, 0)
        return [
            Batch({"tokens": hidden.inputs["tokens"][first:last]}, hidden.targets[first:last])
            for first in range(0, len(hidden.targets), train.batch)
            for last in [first + train.batch]
        ]

    def _hide(self, tokens: IntArray, place: str, seed: int, step: int, micro: int) -> Batch:
        inputs, targets = masked.mask(
            tokens, mask_id=self.tokenizer.id(MASK), vocab_size=self.tokenizer.vocab_size,
            special=self.tokenizer.special.values(), seed=seed, step=step, micro=micro, place=place,
        )  # fmt: skip
        return Batch({"tokens": inputs}, targets)


def _pairs(config: RunConfig, text: Corpus, tokenizer: Tokenizer | None) -> Task:
    if config.data.path is None:
        raise InputError(
            "family = transformer learns from sequence pairs: give a TSV file, source TAB target, "
            "with --data"
        )
    if not config.model.shared:
        raise InputError(
            "family = transformer trains with one vocabulary for both sides: set model.shared=true"
        )
    read = pairs.parse(text.text.encode(), text.name)
    both = "".join(f"{pair.source}{pair.target}" for pair in read)
    tokenizer = tokenizer or _tokenizer(config, both, (PAD, BOS, EOS))
    training, held_out = pairs.split(read, validation=config.data.validation, seed=_VALIDATION)
    fit = partial(pairs.encode, encoder=tokenizer.encode, context=config.model.context)
    (training_ids, long), (held_out_ids, also_long) = fit(training), fit(held_out)
    left_out = f", {long + also_long} too long for the context" if long + also_long else ""
    summary = (
        f"{text.name}: {len(training_ids):,} pairs to learn from, {len(held_out_ids):,} held out"
        f"{left_out}, {tokenizer.vocab_size:,} different tokens, sha256 {text.sha256[:12]}"
    )
    return PairsTask(tokenizer, training_ids, held_out_ids, summary)


@dataclass(frozen=True)
class PairsTask:
    """Every token of the target, from the source and the target's tokens before it."""

    tokenizer: Tokenizer
    training: Sequence[pairs.Example]
    held_out: Sequence[pairs.Example]
    summary: str

    def model_config(self, config: ModelConfig) -> ModelConfig:
        """Both vocabularies are the tokenizer's."""
        return _with_vocabulary(config, self.tokenizer)

    def batch(self, train: TrainConfig, step: int, micro: int) -> Batch:
        """The next pairs of a shuffled round."""
        examples = pairs.training_examples(
            self.training, batch=train.batch, seed=train.seed, step=step, micro=micro,
            micros=train.accumulate,
        )  # fmt: skip
        return self._padded(examples)

    def validation(self, train: TrainConfig) -> list[Batch]:
        """Pairs that are held out."""
        chosen = pairs.evaluation_examples(
            self.held_out, batch=train.batch, count=train.eval_sequences
        )
        return [self._padded(examples) for examples in chosen]

    def _padded(self, examples: Sequence[pairs.Example]) -> Batch:
        pad, bos, eos = (self.tokenizer.id(name) for name in (PAD, BOS, EOS))
        batch = pairs.collate(examples, pad=pad, bos=bos, eos=eos)
        inputs = {
            "source": batch.source, "source_valid": batch.source_valid,
            "tokens": batch.target_in, "valid": batch.target_valid,
        }  # fmt: skip
        return Batch(inputs, batch.targets)


def _with_vocabulary(config: ModelConfig, tokenizer: Tokenizer) -> ModelConfig:
    given, entries = config.vocab_size, tokenizer.vocab_size
    if "vocab_size" in config.model_fields_set and given != entries:
        raise InputError(
            f"model.vocab_size = {given}: the tokenizer has {entries} entries, and so has the "
            "model; leave it out"
        )
    return ModelConfig.read(config.model_dump() | {"vocab_size": entries}, where="model")

"""What is learned: the next token, a masked token, or one sequence from another.

A task turns a corpus into batches of its model's family. Each batch comes from (seed, step, micro)
alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from handformer.axes import IntArray
from handformer.errors import InputError
from handformer.models.config import ModelConfig
from handformer.text import Corpus, Tokenizer, corpus
from handformer.train import batches, masked, pairs
from handformer.train.config import RunConfig, TrainConfig
from handformer.train.step import Batch

PAD, MASK, BOS, EOS = "[PAD]", "[MASK]", "[BOS]", "[EOS]"
_VALIDATION = 0  # the seed of everything that is drawn for evaluations


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


def prepare(config: RunConfig, tokenizer: Tokenizer | None = None) -> tuple[Task, str]:
    """The task of a run, and the sha256 of its text; a resumed run brings its tokenizer.

    Raises
    ------
    InputError
        where the text can't be read, or is too short
    """
    if config.model.family == "transformer":
        return _pairs(config, tokenizer)
    text = corpus.read(config.data.path)
    tokenizer = tokenizer or _tokenizer(config, text.text, masked=config.model.family == "bert")
    ids = tokenizer.encode(text.text)
    training, validation = corpus.split(ids, config.model.context, config.data.validation)
    kind = MaskedTask if config.model.family == "bert" else LanguageTask
    return kind(
        tokenizer, training, validation, config.model.context, _summary(text, ids, tokenizer)
    ), text.sha256


def _summary(text: Corpus, ids: IntArray, tokenizer: Tokenizer) -> str:
    return (
        f"{text.name}: {len(text.text):,} characters, {len(ids):,} tokens, "
        f"{tokenizer.vocab_size:,} different ones, sha256 {text.sha256[:12]}"
    )


def _tokenizer(
    config: RunConfig, text: str, *, masked: bool = False, pairs: bool = False
) -> Tokenizer:
    special = (PAD, BOS, EOS) if pairs else (PAD, MASK) if masked else ()
    match config.data.tokenizer:
        case "characters":
            return Tokenizer.characters(text, special=special)
        case "bytes":
            return Tokenizer.bytes(special=special)
        case "bpe":
            return Tokenizer.bpe(text, vocab_size=config.data.vocab_size, special=special)
        case path:
            if not Path(path).exists():
                raise InputError(
                    f"data.tokenizer = {path!r}: expected characters, bytes, bpe, or the path of a "
                    "tokenizer.json"
                )
            return Tokenizer.load(path)


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
        return config.model_copy(update={"vocab_size": self.tokenizer.vocab_size})

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
        return self._hide(whole, "mask", train.seed, step, micro)

    def validation(self, train: TrainConfig) -> list[Batch]:
        """Evenly spaced windows of the text that is held out, masked the same way every time."""
        return [
            self._hide(whole, "validation", _VALIDATION, 0, micro)
            for micro, whole in enumerate(super().validation(train))
        ]

    def _hide(self, whole: Batch, place: str, seed: int, step: int, micro: int) -> Batch:
        special = [self.tokenizer.id(PAD)]
        tokens, targets = masked.mask(
            whole.inputs["tokens"], mask_id=self.tokenizer.id(MASK), special=special, place=place,
            vocab_size=self.tokenizer.vocab_size, seed=seed, step=step, micro=micro,
        )  # fmt: skip
        return Batch({"tokens": tokens}, targets)


def _pairs(config: RunConfig, tokenizer: Tokenizer | None) -> tuple[Task, str]:
    if config.data.path is None:
        raise InputError(
            "family = transformer learns from sequence pairs: give a TSV file, source TAB target, "
            "with --data"
        )
    if not config.model.shared:
        raise InputError(
            "family = transformer trains with one vocabulary for both sides: set model.shared=true"
        )
    text = corpus.read(config.data.path)
    read = pairs.read(Path(config.data.path))
    both = "".join(f"{pair.source}{pair.target}" for pair in read)
    tokenizer = tokenizer or _tokenizer(config, both, pairs=True)
    training, held_out = pairs.split(read, validation=config.data.validation, seed=0)
    fit = partial(pairs.encode, encoder=tokenizer.encode, context=config.model.context)
    (training_ids, left_1), (held_out_ids, left_2) = fit(training), fit(held_out)
    left_out = f", {left_1 + left_2} too long for the context" if left_1 + left_2 else ""
    summary = (
        f"{text.name}: {len(training):,} pairs to learn from, {len(held_out):,} held out"
        f"{left_out}, {tokenizer.vocab_size:,} different tokens, sha256 {text.sha256[:12]}"
    )
    return PairsTask(tokenizer, training_ids, held_out_ids, summary), text.sha256


@dataclass(frozen=True)
class PairsTask:
    """Every token of the target, from the source and the target's tokens before it."""

    tokenizer: Tokenizer
    training: Sequence[pairs.Example]
    held_out: Sequence[pairs.Example]
    summary: str

    def model_config(self, config: ModelConfig) -> ModelConfig:
        """Both vocabularies are the tokenizer's."""
        return config.model_copy(update={"vocab_size": self.tokenizer.vocab_size})

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
        return Batch(inputs, np.asarray(batch.targets))

"""Tasks: batches from (seed, step, micro) alone, evaluations that never change, strict input."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from handformer.errors import InputError
from handformer.ops.cross_entropy import IGNORED
from handformer.text import Tokenizer
from handformer.train import tasks
from handformer.train.config import RunConfig, Settings, TrainConfig
from handformer.train.step import Batch
from handformer.train.tasks import Task
from tests.train import small
from tests.train.small import KINDS


def task(folder: Path, kind: str, data: Settings | None = None, **model: Any) -> Task:
    settings = small.settings(kind, small.data(folder, kind), model=model)
    settings["data"] |= data or {}
    config = RunConfig.read(settings)
    return tasks.prepare(config, tasks.read(config.data))


def assert_equal(one: Batch, other: Batch) -> None:
    assert one.inputs.keys() == other.inputs.keys()
    for name, array in one.inputs.items():
        assert_array_equal(array, other.inputs[name], err_msg=name)
    assert_array_equal(one.targets, other.targets)


@pytest.mark.parametrize("kind", KINDS)
class TestEveryTask:
    def test_a_batch_follows_from_seed_step_and_micro(self, kind: str, tmp_path: Path) -> None:
        made, train = task(tmp_path, kind), TrainConfig(batch=4, accumulate=2, seed=1)
        assert_equal(made.batch(train, 7, 1), task(tmp_path, kind).batch(train, 7, 1))
        for other in (
            made.batch(train, 8, 1),
            made.batch(train, 7, 0),
            made.batch(TrainConfig(batch=4, accumulate=2, seed=2), 7, 1),
        ):
            with pytest.raises(AssertionError):
                assert_equal(made.batch(train, 7, 1), other)

    def test_micro_batches_take_the_batch_in_turn(self, kind: str, tmp_path: Path) -> None:
        made = task(tmp_path, kind)
        whole = made.batch(TrainConfig(batch=6, accumulate=1), 3, 0)
        parts = [made.batch(TrainConfig(batch=2, accumulate=3), 3, micro) for micro in range(3)]
        assert sum(part.count for part in parts) == whole.count
        if kind != "transformer":  # whose padding differs
            assert_array_equal(np.concatenate([part.targets for part in parts]), whole.targets)

    def test_the_evaluation_is_always_the_same(self, kind: str, tmp_path: Path) -> None:
        made = task(tmp_path, kind)
        train = TrainConfig(batch=4, eval_sequences=6, seed=1)
        first = made.validation(train)
        assert len(first) == 2
        again = task(tmp_path, kind).validation(TrainConfig(batch=4, eval_sequences=6, seed=2))
        for one, other in zip(first, again, strict=True):
            assert_equal(one, other)
        if kind != "transformer":  # whose padding differs
            whole = made.validation(TrainConfig(batch=6, eval_sequences=6))
            assert_equal(whole[0], Batch(
                {"tokens": np.concatenate([batch.inputs["tokens"] for batch in first])},
                np.concatenate([batch.targets for batch in first]),
            ))  # fmt: skip

    def test_the_model_gets_the_vocabulary_of_the_text(self, kind: str, tmp_path: Path) -> None:
        made = task(tmp_path, kind)
        config = RunConfig.read(small.settings(kind, "")).model
        assert made.model_config(config).vocab_size == made.tokenizer.vocab_size
        with pytest.raises(InputError, match=r"model\.vocab_size = 9: the tokenizer has \d+ ent"):
            made.model_config(config.model_copy(update={"vocab_size": 9}))

    def test_a_text_that_is_not_the_one_expected_is_refused(
        self, kind: str, tmp_path: Path
    ) -> None:
        with pytest.raises(InputError, match=r"another text than this run's \(sha256 \w{12}, exp"):
            task(tmp_path, kind, {"sha256": "0" * 64})

    def test_a_summary_of_one_line(self, kind: str, tmp_path: Path) -> None:
        summary = task(tmp_path, kind).summary
        assert "\n" not in summary
        assert summary.startswith(f"{tmp_path}/")
        assert ("54 pairs to learn from, 6 held out" in summary) == (kind == "transformer")


def test_masked_tokens_are_asked_for_and_special_ones_never_put_in(tmp_path: Path) -> None:
    made = task(tmp_path, "bert")
    special = set(made.tokenizer.special.values())
    mask = made.tokenizer.id(tasks.MASK)
    train = TrainConfig(batch=2000)  # one of ten is replaced, by one of some twenty
    plain = tasks.LanguageTask.batch(made, train, 0, 0).inputs["tokens"]  # type: ignore[arg-type]
    batch = made.batch(train, 0, 0)
    tokens, asked = batch.inputs["tokens"], batch.targets != IGNORED
    assert_array_equal(batch.targets[asked], plain[asked])
    assert_array_equal(tokens[~asked], plain[~asked])
    assert (tokens == mask).sum() > asked.sum() / 2
    assert not special & set(tokens[tokens != mask].tolist())


@pytest.mark.parametrize(
    ("kind", "data", "model", "complaint"),
    [
        ("gpt2", {"path": None}, {"shared": True}, "shared is a setting of family = transformer, "),
        ("gpt2", {"tokenizer": "char"}, {}, "data.tokenizer = 'char': expected characters, bytes,"),
        ("gpt2", {"tokenizer": "a" * 300}, {}, "data.tokenizer = 'aaa"),
        ("gpt2", {}, {"context": 1000}, "the text has 1200 tokens, and context 1000 needs at leas"),
        ("transformer", {"path": None}, {}, "family = transformer learns from sequence pairs: giv"),
        ("transformer", {}, {"shared": False}, "family = transformer trains with one vocabulary"),
        ("transformer", {}, {"context": 1}, "{folder}/pairs.tsv, line 1: neither this pair nor an"),
        ("transformer", {}, {"source_vocab_size": 7}, "shared = true needs source_vocab_size ="),
        ("transformer", {"path": "{folder}/text.txt"}, {}, "{folder}/text.txt, line 1: no tab in"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(
    kind: str, data: Settings, model: Settings, complaint: str, tmp_path: Path
) -> None:
    small.data(tmp_path, "gpt2")
    data = {key: value and value.format(folder=tmp_path) for key, value in data.items()}

    def prepared() -> object:
        config = RunConfig.read(small.settings(kind, "", model=model)).model
        return task(tmp_path, kind, data, **model).model_config(config)

    with pytest.raises(InputError) as caught:
        prepared()
    assert str(caught.value).startswith(complaint.format(folder=tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("kind", "needed"), [("bert", "[PAD]"), ("transformer", "[PAD]")])
def test_a_tokenizer_without_the_special_tokens_is_refused(
    kind: str, needed: str, tmp_path: Path
) -> None:
    path = Tokenizer.bytes().save(tmp_path / "own.json")
    with pytest.raises(InputError, match=rf"has no special token \{needed[:-1]}\], which family ="):
        task(tmp_path, kind, {"tokenizer": str(path)})
    made = task(tmp_path, "gpt2", {"tokenizer": str(path)})
    assert made.tokenizer.kind == "bytes"


@pytest.mark.parametrize("kind", ["gpt2", "bert", "transformer"])
@pytest.mark.parametrize("tokenizer", ["characters", "bytes", "bpe"])
def test_every_tokenizer_suits_every_kind(kind: str, tokenizer: str, tmp_path: Path) -> None:
    made = task(tmp_path, kind, {"tokenizer": tokenizer, "vocab_size": 262})
    batch = made.batch(TrainConfig(batch=2), 0, 0)
    assert batch.inputs["tokens"].max() < made.tokenizer.vocab_size
    assert made.tokenizer.kind == tokenizer

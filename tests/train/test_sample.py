"""Samples: each kind of model shows what it does, whatever the text is made of."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handformer.generate.text import TextModel
from handformer.models import CLASSES, Decoder, EncoderDecoder
from handformer.train import sample, tasks
from handformer.train.config import RunConfig
from handformer.train.tasks import Task
from tests.train import small
from tests.train.small import KINDS

pytestmark = pytest.mark.usefixtures("quick")
ODD = {
    "words": small.text(),
    "no latin": "春眠不覺曉\n處處聞啼鳥\n" * 60,
    "cut in a character": "ab" + "春眠不覺曉處處聞啼鳥" * 180,
    "one letter": "a" * 4000,
    "line ends": "\n" * 4000,
    "quotes": 'it\'s "$HOME" `x` -- \\\n' * 20,
    "controls": "\x1b[31m\x07\t\x7f" * 80,
    "options": "--temperature 3\n" * 30,
}


def setting(folder: Path, kind: str, text: str, **data: Any) -> tuple[RunConfig, Task]:
    path = folder / "text"
    path.write_text(text, encoding="utf-8", newline="")
    settings = small.settings(kind, path)
    settings["data"] |= data
    config = RunConfig.read(settings)
    return config, tasks.prepare(config, tasks.read(config.data))


def model(config: RunConfig, task: Task) -> Any:
    return CLASSES[config.model.family].init(task.model_config(config.model), seed=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_shows_what_was_held_out_and_is_always_the_same(kind: str, tmp_path: Path) -> None:
    text = small.pairs() if kind == "transformer" else small.text()
    config, task = setting(tmp_path, kind, text)
    made = model(config, task)
    written = sample.write(made, task, config.train)
    assert written == sample.write(made, task, config.train)
    if kind == "transformer":
        blocks = written.split("\n\n")
        assert len(blocks) == sample.LINES
        for block in blocks:
            source, expected, _ = (line[10:] for line in block.splitlines()[:3])
            assert expected == source[::-1]
            assert f"{source}\t{expected}\n" in text
    elif kind == "bert":
        blocks = written.split("\n\n")
        assert len(blocks) == sample.LINES
        for block in blocks:
            given, expected, filled = (line[10:] for line in block.splitlines()[:3])
            assert "_" in given
            assert len(given) == len(expected) == len(filled) == config.model.context
            for gap, right, one in zip(given, expected, filled, strict=True):
                assert gap in ("_", right)
                assert one == right or gap == "_"
            assert expected.replace("⏎", "\n") in text
    else:
        assert written[: config.model.context] in text[len(text) * 9 // 10 :]
        assert len(written) == config.model.context + sample.TOKENS + 1


@pytest.mark.parametrize("kind", ["gpt2", "bert"])
@pytest.mark.parametrize("tokenizer", ["characters", "bytes", "bpe"])
@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_there_is_a_sample_of_any_text_and_a_prompt_that_works(
    kind: str, tokenizer: str, text: str, tmp_path: Path
) -> None:
    config, task = setting(tmp_path, kind, text, tokenizer=tokenizer, vocab_size=300)
    made = model(config, task)
    sample.write(made, task, config.train)
    prompt = sample.prompt(task)
    assert prompt
    assert sample.CUT not in prompt
    if "\n" * 9 not in text:
        assert "\n" not in prompt  # it has to fit into a line
    writer = TextModel(made, task.tokenizer)
    if isinstance(made, Decoder):
        writer.generate(prompt, max_tokens=2)
    else:
        writer.fill(prompt)


def test_the_prompt_is_english_where_the_vocabulary_allows_it(tmp_path: Path) -> None:
    assert sample.prompt(setting(tmp_path, "gpt2", small.text())[1]) == "The "
    assert sample.prompt(setting(tmp_path, "gpt2", ODD["no latin"])[1]) != "The "
    assert tasks.MASK in sample.prompt(setting(tmp_path, "bert", small.text())[1])


def test_a_source_that_is_shown_can_be_asked_again(tmp_path: Path) -> None:
    config, task = setting(tmp_path, "transformer", small.pairs())
    made = model(config, task)
    assert isinstance(made, EncoderDecoder)
    TextModel(made, task.tokenizer).translate(sample.prompt(task))


def test_a_window_in_which_no_mask_token_stands_has_gaps_too(tmp_path: Path) -> None:
    """One of eight tokens is chosen, and every fifth of those isn't masked."""
    config, task = setting(tmp_path, "bert", small.text())
    batch = task.validation(config.train.model_copy(update={"batch": 99, "eval_sequences": 99}))[0]
    mask = task.tokenizer.id(tasks.MASK)
    assert not (batch.inputs["tokens"] == mask).any(axis=1).all(), "no such window here"
    assert np.isfinite(batch.targets).all()
    gaps = list(sample._gaps(model(config, task), task.tokenizer, [batch]))
    assert all("_" in block.splitlines()[0] for block in gaps)

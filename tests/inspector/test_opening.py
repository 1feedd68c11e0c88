"""What is opened: a trace, a model, a run, each with something to look at first."""

import shutil
from pathlib import Path

import pytest

from handformer.errors import InputError
from handformer.generate.sampling import Sampling
from handformer.inspector.opening import opened
from handformer.text import Tokenizer
from handformer.tracing.api import trace
from handformer.weights import hugging_face
from tests.inspector.models import TEXTS, made
from tests.train import small
from tests.train.conftest import quick

__all__ = ["quick"]


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where sessions put what they make: it has to be empty afterwards."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_a_trace_is_shown_as_it_is(tmp_path: Path, own_temporary_folder: Path) -> None:
    path = tmp_path / "cat.safetensors"
    trace(made("gpt2"), "The cat").save(path)
    with opened(path) as session:
        (shown,) = session.traces()
        assert (shown.path, shown.title) == (path, "cat")
        assert session.about == {
            "kind": "trace", "title": "cat.safetensors", "offline": False, "family": "gpt2",
            "can": {"run": False, "generate": False, "log": False},
        }  # fmt: skip
    assert path.exists()
    assert not [*own_temporary_folder.iterdir()]


@pytest.mark.parametrize("kind", TEXTS)
def test_a_model_runs_the_text_that_is_given_or_a_few_words(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    hugging_face.save(folder, made(kind).model, made(kind).tokenizer)
    with opened(folder, TEXTS[kind]) as session:
        assert [shown.title for shown in session.traces()] == [TEXTS[kind]]
        assert (session.kind, session.title) == ("model", "mine")
    with opened(folder) as session:
        (shown,) = session.traces()
        text = shown.trace.manifest.text
        assert text is not None
        assert len((text.source or text.tokens)[0]) >= 2


def test_words_that_a_model_cannot_read_give_way_to_its_own(tmp_path: Path) -> None:
    own = made("gpt2")
    tokenizer = Tokenizer.characters("日月火水木金土一二三")
    hugging_face.save(tmp_path / "mine", own.model, tokenizer)
    with opened(tmp_path / "mine") as session:
        (shown,) = session.traces()
        assert len(shown.title) == 8
        assert {*shown.title} <= {*"日月火水木金土一二三"}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", TEXTS)
def test_a_run_shows_its_log_and_a_piece_of_its_sample(kind: str, tmp_path: Path) -> None:
    run = small.begin(tmp_path / "run", kind, steps=2).go()[0]
    with opened(run.folder.path) as session:
        assert (session.kind, session.title) == ("run", "run")
        assert session.log is not None
        assert session.log()["step"] == 2
        (shown,) = session.traces()
        sample = run.folder.sample.read_text(encoding="utf-8")
        if kind == "transformer":
            assert f"source    {shown.title}\n" in sample
            assert shown.trace.manifest.text is not None
            target = shown.trace.manifest.text.targets[0]
            assert f"expected  {''.join(map(str, target[:-1]))}\n" in sample
        elif kind == "bert":
            assert "[MASK]" in shown.title
        else:
            assert " ".join(sample.split()).startswith(shown.title)
    with opened(run.folder.path, "ab" if kind == "transformer" else "cat") as session:
        assert [shown.title for shown in session.traces()] == [
            "ab" if kind == "transformer" else "cat"
        ]


@pytest.mark.usefixtures("quick")
def test_a_run_without_a_model_yet_shows_its_log_alone(tmp_path: Path) -> None:
    run = small.begin(tmp_path / "run", steps=2).go()[0]
    shutil.rmtree(run.folder.model)
    with opened(run.folder.path) as session:
        assert session.traces() == []
        assert session.about["can"] == {"run": False, "generate": False, "log": True}
        with pytest.raises(InputError, match="inspect a model"):
            session.write("The", Sampling(), 0)
    with pytest.raises(InputError, match="no model yet"):
        opened(run.folder.path, "The")


def test_what_cannot_be_opened_is_named_and_leaves_nothing(
    tmp_path: Path, own_temporary_folder: Path
) -> None:
    folder, file = tmp_path / "mine", tmp_path / "x.safetensors"
    hugging_face.save(folder, made("gpt2").model, made("gpt2").tokenizer)
    trace(made("gpt2"), "The").save(file)
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd.safetensors").write_bytes(b"\x08" + b"\x00" * 100)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text("nonsense = 1")
    for path, text, part in (
        (tmp_path / "none", None, "no such file or folder"),
        (tmp_path / "empty", None, "no model here"),
        (tmp_path / "odd.safetensors", None, "not a safetensors file"),
        (folder / "model.safetensors", None, "no trace"),
        (tmp_path / "run", None, "nonsense"),
        (file, "The", "a trace alone runs no text"),
        (folder, "é", "not among"),
        (folder, "", "expected at least one"),
        (folder, "The cat sees a dog", "context is 8"),
    ):
        with pytest.raises(InputError, match=part):
            opened(path, text)
    assert not [*own_temporary_folder.iterdir()]

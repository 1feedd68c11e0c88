"""Runs: a resumed one is the unbroken one, bit for bit; what can't be gone on with is refused."""

import io
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handformer import tree
from handformer.cli import main
from handformer.errors import InputError
from handformer.generate.load import load
from handformer.text import Tokenizer
from handformer.train import checkpoint, loop, run, sample
from handformer.train.checkpoint import Checkpoint
from handformer.train.loop import DivergedError, Trained
from handformer.train.run import Run
from handformer.train.run_folder import RunFolder
from handformer.weights import hugging_face
from tests.train import small
from tests.train.small import KINDS

pytestmark = pytest.mark.usefixtures("quick")

Files = dict[str, bytes]


def files(folder: Path) -> Files:
    """All that lies in a folder, by its path there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def broken_after(step: int, begun: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go, with a Ctrl-C during the update that makes `step`."""
    with monkeypatch.context() as patch:
        update = loop.update

        def interrupted(trained: Trained, *rest: Any, **options: Any) -> Any:
            if trained.step + 1 == step:
                loop.signal.raise_signal(loop.signal.SIGINT)
            return update(trained, *rest, **options)

        patch.setattr(loop, "update", interrupted)
        ended, stopped = begun.go()
    assert (ended.trained.step, stopped) == (step, loop.signal.SIGINT)


def assert_same_end(one: RunFolder, other: RunFolder) -> None:
    """Two runs ended in the same state and told the same on the way."""
    assert small.entries(one) == small.entries(other)
    small.assert_same(one.newest(), other.newest())
    ours, theirs = files(one.path), files(other.path)
    for name in (
        "model/model.safetensors",
        "model/config.json",
        "model/tokenizer.json",
        "sample.txt",
    ):
        assert ours[name] == theirs[name], name
    assert ours["loss.svg"] == theirs["loss.svg"]  # in which there are no speeds


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        *((kind, {}) for kind in KINDS),
        ("gpt2", {"optimizer": "sgd", "momentum": 0.9, "dtype": "float64"}),
        ("llama", {"optimizer": "sgd", "schedule": "constant", "smoothing": 0.1}),
    ],
)
def test_a_resumed_run_is_the_unbroken_one(
    kind: str, changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With dropout and accumulation; broken inside and at an interval of everything, and twice."""
    whole = small.begin(tmp_path / "whole", kind, **changes)
    assert whole.go()[1] is None
    assert whole.config.model.dropout > 0
    assert whole.config.train.accumulate > 1
    begun = small.begin(tmp_path / "broken", kind, **changes)
    for step in (3, 8):
        broken_after(step, begun, monkeypatch)
        begun = run.resume(tmp_path / "broken", {})
        assert begun.trained.step == step
        assert (tmp_path / "broken" / "sample.txt").stat().st_size
        assert (tmp_path / "broken" / "loss.svg").stat().st_size
    assert begun.go()[1] is None
    assert_same_end(whole.folder, begun.folder)


def test_a_run_leaves_a_picture_and_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # the real ones
    monkeypatch.setattr(sample, "TOKENS", 50)
    begun = small.begin(tmp_path / "run")
    broken_after(2, begun, monkeypatch)
    left = [begun.folder.loss_svg.read_bytes(), begun.folder.sample.read_bytes()]
    run.resume(begun.folder.path, {}).go()
    right = [begun.folder.loss_svg.read_bytes(), begun.folder.sample.read_bytes()]
    for picture, text in (left, right):
        assert picture.startswith(b"<?xml")
        assert len(text.decode("utf-8")) > 50
    assert left[0] != right[0]
    assert left[1] != right[1]


def test_a_run_that_lost_updates_makes_them_again(tmp_path: Path) -> None:
    whole, lost = small.begin(tmp_path / "whole"), small.begin(tmp_path / "lost")
    for begun in (whole, lost):
        begun.go()
    newest = checkpoint.whole(lost.folder.checkpoints)[-1]
    for file in newest.iterdir():
        file.unlink()
    newest.rmdir()
    again = run.resume(lost.folder.path, {})
    assert again.trained.step == 8
    assert small.entries(again.folder)[-1]["step"] == 8
    again.go()
    assert_same_end(whole.folder, lost.folder)


def test_a_run_that_was_killed_before_its_first_checkpoint_begins(tmp_path: Path) -> None:
    whole = small.begin(tmp_path / "whole")
    whole.go()
    small.begin(tmp_path / "killed")
    run.resume(tmp_path / "killed", {}).go()
    assert_same_end(whole.folder, RunFolder(tmp_path / "killed"))


def test_more_steps_extend_a_run_that_has_ended(tmp_path: Path) -> None:
    begun = small.begin(tmp_path / "run", schedule="constant")
    begun.go()
    ended, stopped = run.resume(begun.folder.path, {"train": {"steps": 14}}).go()
    assert (ended.trained.step, stopped) == (14, None)
    whole = small.begin(tmp_path / "whole", schedule="constant", steps=14)
    whole.go()
    small.assert_same(whole.folder.newest(), begun.folder.newest())
    assert begun.folder.read_config().train.steps == 14


def test_a_run_that_has_ended_ends_again_the_same(tmp_path: Path) -> None:
    begun = small.begin(tmp_path / "run")
    begun.go()
    before = files(begun.folder.path)
    begun.folder.sample.unlink()  # as if it had been killed before it could write it
    ended, _ = run.resume(begun.folder.path, {}).go()
    assert files(begun.folder.path) == before
    loss = ended.validation_loss()
    assert loss == small.entries(begun.folder)[-1]["validation_loss"]


def test_a_run_can_be_resumed_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.data(tmp_path, "gpt2")
    monkeypatch.chdir(tmp_path)
    run.begin(small.settings("gpt2", "text.txt"), Path("run"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    run.resume(Path("../run"), {})


def test_a_tokenizer_that_was_given_is_kept_with_the_run(tmp_path: Path) -> None:
    own = Tokenizer.characters(small.text() + "Ωß").save(tmp_path / "own.json")
    settings = small.settings("gpt2", small.data(tmp_path, "gpt2"))
    settings["data"]["tokenizer"] = str(own)
    run.begin(settings, tmp_path / "run").go()
    own.unlink()
    again = run.resume(tmp_path / "run", {})
    assert again.task.tokenizer.vocab_size == again.config.model.vocab_size
    assert again.task.tokenizer.encode("Ω")


@pytest.mark.parametrize("kind", ["gpt2", "bert", "transformer"])
def test_a_text_from_standard_input_is_there_when_the_run_goes_on(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small.data(tmp_path, kind)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    begun = run.begin(small.settings(kind, "-"), tmp_path / "run")
    broken_after(2, begun, monkeypatch)
    run.resume(tmp_path / "run", {}).go()
    whole = small.begin(tmp_path / "whole", kind)
    whole.go()
    assert_same_end(whole.folder, begun.folder)
    begun.folder.text.unlink()
    with pytest.raises(InputError, match="only copy of the text that came from standard input; b"):
        run.resume(tmp_path / "run", {})


def test_a_run_that_diverged_goes_on_with_a_lower_rate(tmp_path: Path) -> None:
    begun = small.begin(tmp_path / "run")
    wild = {"lr": 1e30, "clip": 1e30}
    for file in files(begun.folder.path):
        assert file == "config.toml"
    begun.go()
    begun.folder.loss_svg.unlink()
    with pytest.raises(DivergedError, match="the last good checkpoint is step-000009; go on with"):
        run.resume(begun.folder.path, {"train": {"steps": 20, "schedule": "constant", **wild}}).go()
    assert begun.folder.loss_svg.exists()
    ended, _ = run.resume(begun.folder.path, {"train": {"lr": 1e-3, "clip": 1.0}}).go()
    assert ended.trained.step == 20


def replanted(folder: RunFolder, change: Callable[[Checkpoint], Checkpoint]) -> str:
    """Put another checkpoint, whole, into the place of the newest; its name."""
    place = checkpoint.whole(folder.checkpoints)[-1]
    found = change(checkpoint.read(place))
    place.rename(folder.path / "old")
    return checkpoint.write(folder.checkpoints, found).name


def test_a_nan_in_a_checkpoint_stops_the_run_and_is_named(tmp_path: Path) -> None:
    begun = small.begin(tmp_path / "run")
    begun.go()

    def poisoned(found: Checkpoint) -> Checkpoint:
        weights = dict(found.params)
        weights["blocks.0.mlp.b_up"] = np.where(np.arange(64) == 5, np.nan, 0).astype(np.float32)
        return Checkpoint(found.step, weights, found.state, found.tokenizer)

    replanted(begun.folder, poisoned)
    with pytest.raises(DivergedError, match=r"^step 10: the weight blocks\.0\.mlp\.b_up at \(5,\)"):
        run.resume(begun.folder.path, {"train": {"steps": 12}}).go()


def test_a_checkpoint_of_another_shape_or_optimizer_is_refused(tmp_path: Path) -> None:
    begun = small.begin(tmp_path / "run")
    begun.go()

    def cut(found: Checkpoint) -> Checkpoint:
        weights = {p: a[:1] if p.endswith("b_up") else a for p, a in found.params.items()}
        return Checkpoint(found.step, weights, found.state, found.tokenizer)

    name = replanted(begun.folder, cut)
    before = files(begun.folder.path)
    with pytest.raises(InputError, match=rf"{name}: doesn't fit the config: blocks\.0\.mlp\.b_up"):
        run.resume(begun.folder.path, {})
    assert files(begun.folder.path) == before


@pytest.mark.parametrize("file", ["weights.safetensors", "state.json"])
def test_a_damaged_checkpoint_changes_nothing(file: str, tmp_path: Path) -> None:
    begun = small.begin(tmp_path / "run")
    begun.go()
    path = begun.folder.checkpoints / "step-000009" / file
    path.write_bytes(path.read_bytes()[:-7])
    before = files(begun.folder.path)
    with pytest.raises(
        InputError, match=r"step-000009: damaged checkpoint \(.*\); delete it to go"
    ):
        run.resume(begun.folder.path, {"train": {"steps": 20}})
    assert files(begun.folder.path) == before


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"model": {"n_layers": 2}}, "model.n_layers = 2: can't change in a run that has begun wi"),
        ({"data": {"validation": 0.2}}, "data.validation = 0.2: can't change in a run that has"),
        ({"train": {"dtype": "float64"}}, "train.dtype = 'float64': can't change in a run that"),
        ({"train": {"optimizer": "sgd"}}, "train.optimizer = 'sgd': can't change in a run that"),
        ({"train": {"steps": 3}}, "{folder}: 9 updates are made already; train.steps = 3 lies be"),
        ({"model": {"layers": 2}}, "unknown config key model.layers; did you mean model.n_layers"),
    ],
)
def test_what_cannot_change_is_refused(
    changes: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    begun = small.begin(tmp_path / "run")
    begun.go()
    before = files(begun.folder.path)
    with pytest.raises(InputError) as caught:
        run.resume(begun.folder.path, changes)
    assert str(caught.value).startswith(complaint.format(folder=begun.folder.path))
    assert files(begun.folder.path) == before
    run.resume(begun.folder.path, {"model": {"n_layers": 1}})  # which it has


def test_momentum_cannot_appear_or_vanish(tmp_path: Path) -> None:
    begun = small.begin(tmp_path / "run", optimizer="sgd", momentum=0.9)
    begun.go()
    with pytest.raises(InputError, match="doesn't fit the config: the optimizer's state holds"):
        run.resume(begun.folder.path, {"train": {"momentum": 0.0}})


def test_another_text_is_refused_before_anything_else(tmp_path: Path) -> None:
    begun = small.begin(tmp_path / "run")
    begun.go()
    before = files(begun.folder.path)
    (tmp_path / "text.txt").write_text("Ω" * 1000)  # not even in the vocabulary
    with pytest.raises(InputError, match=r"text\.txt: another text than this run's \(sha256"):
        run.resume(begun.folder.path, {})
    (tmp_path / "text.txt").unlink()
    with pytest.raises(InputError, match=r"text\.txt' can't be read"):
        run.resume(begun.folder.path, {})
    assert files(begun.folder.path) == before


def test_nothing_is_written_where_something_is_wrong(tmp_path: Path) -> None:
    path = small.data(tmp_path, "gpt2")
    for settings in (
        small.settings("gpt2", tmp_path / "missing.txt"),
        small.settings("gpt2", path, model={"context": 5000}),
        small.settings("gpt2", path, model={"n_heads": 3}),
        small.settings("gpt2", path, lr=-1),
        small.settings("transformer", path),
    ):
        with pytest.raises(InputError):
            run.begin(settings, tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = small.begin(tmp_path / "run")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("handformer.train.log.append", full)
        with pytest.raises(InputError, match=r"run: can't save \(No space left on device\); the l"):
            begun.go()
    run.resume(tmp_path / "run", {}).go()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["plain", "with space", "it's"])
def test_the_first_next_command_is_typed_and_works(
    kind: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = small.begin(tmp_path / name, kind, steps=2)
    ended, _ = begun.go()
    first, *others = run.next_commands(ended)
    assert others == ["handformer example identity", "handformer selfcheck"]
    program, *words = shlex.split(first)
    assert program == "handformer"
    assert words[0] == "generate"
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 0
    assert capsys.readouterr().out


def test_the_model_folder_holds_what_was_trained(tmp_path: Path) -> None:
    begun = small.begin(tmp_path / "run")
    ended, _ = begun.go()
    assert small.bits(load(begun.folder.path).model) == small.bits(ended.trained.model)
    assert ended.parameters == sum(w.size for w in tree.flatten(ended.trained.model).values())


def test_a_kill_between_the_last_checkpoint_and_the_model_leaves_no_old_model(
    tmp_path: Path,
) -> None:
    begun = small.begin(tmp_path / "run")
    old = tree.cast(begun.trained.model, np.float32)  # a copy: the engine writes to the arrays
    begun.go()
    weights = begun.folder.model / "model.safetensors"
    last = weights.read_bytes()
    hugging_face.save(begun.folder.model, old, begun.task.tokenizer)
    assert weights.read_bytes() != last
    run.resume(begun.folder.path, {}).go()
    assert weights.read_bytes() == last

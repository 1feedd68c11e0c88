"""The run's folder: a new run goes only where there is room for it, and nothing is lost."""

import os
from pathlib import Path

import pytest

from handformer.errors import InputError
from handformer.text import Corpus
from handformer.train import aside
from handformer.train.config import DataConfig, RunConfig
from handformer.train.run_folder import RunFolder

CONFIG = RunConfig()
TEXT = Corpus("a text", "standard input", "0" * 64, ())


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_a_new_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    place = RunFolder(tmp_path / "a" / "b")
    place.begin(CONFIG, TEXT, overwrite=False)
    assert names(place.path) == {"config.toml"}
    assert place.read_config() == CONFIG
    assert place.newest() is None


def test_the_text_of_standard_input_is_kept(tmp_path: Path) -> None:
    place = RunFolder(tmp_path / "run")
    config = CONFIG.model_copy(update={"data": DataConfig(path="-")})
    place.begin(config, TEXT, overwrite=False)
    assert place.text.read_text("utf-8") == "a text"


def test_an_empty_folder_and_a_killed_process_remains_are_free(tmp_path: Path) -> None:
    (tmp_path / ".config.toml.77.part").touch()
    place = RunFolder(tmp_path)
    place.begin(CONFIG, TEXT, overwrite=False)
    assert names(tmp_path) == {"config.toml"}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("file", "{folder}/file: not a folder; choose another one with --out"),
        ("file/below", "{folder}/file: not a folder; choose another one with --out"),
        ("notes", "{folder}/notes: holds files that aren't a run (mine.txt); choose another folde"),
        ("x" * 300, "{folder}/xxx"),
        ("/proc/run", "/proc/run: can't be written to (No such file or directory); choose another"),
        ("dangling", "{folder}/dangling: can't be written to (File exists); choose another folder"),
    ],
)  # fmt: skip
def test_a_folder_that_will_not_do_is_left_as_it_is(
    path: str, complaint: str, overwrite: bool, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    before = names(tmp_path)
    with pytest.raises(InputError) as caught:
        RunFolder(tmp_path / path).begin(CONFIG, TEXT, overwrite=overwrite)
    assert str(caught.value).startswith(complaint.format(folder=tmp_path))
    assert "\n" not in str(caught.value)
    assert names(tmp_path) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="this folder can't be written to; choose another"):
        RunFolder(tmp_path / "run").check_free(overwrite=False)


def begun(folder: Path) -> RunFolder:
    """A run that has left everything a run leaves, and a file that somebody put there."""
    place = RunFolder(folder)
    place.begin(CONFIG, TEXT, overwrite=False)
    for path in (place.log, place.loss_svg, place.sample, place.text, folder / "notes.txt"):
        path.write_text("old")
    for path in (place.model, place.checkpoints / "step-000001"):
        path.mkdir(parents=True)
        (path / "file").touch()
    return place


def test_a_run_is_replaced_only_when_asked_and_nothing_else_with_it(tmp_path: Path) -> None:
    place = begun(tmp_path / "run")
    before = names(tmp_path)
    with pytest.raises(InputError, match="holds a run already; go on with --resume, choose anoth"):
        place.begin(CONFIG, TEXT, overwrite=False)
    assert names(tmp_path) == before
    place.begin(CONFIG, TEXT, overwrite=True)
    assert names(place.path) == {"config.toml", "notes.txt"}


def test_a_config_that_is_not_a_runs_keeps_its_folder_safe(tmp_path: Path) -> None:
    place = begun(tmp_path / "run")
    place.config.write_text("[site]\ntitle = 'mine'\n")
    before = names(tmp_path)
    with pytest.raises(InputError, match=r"config\.toml: unknown config key site; there are data"):
        place.begin(CONFIG, TEXT, overwrite=True)
    assert names(tmp_path) == before


def test_a_text_inside_the_folder_is_not_lost(tmp_path: Path) -> None:
    place = begun(tmp_path / "run")
    before = names(tmp_path)
    text = Corpus("a text", "x", "0" * 64, (str(place.text),))
    with pytest.raises(InputError, match=r"corpus\.txt: the text lies in the run's folder"):
        place.begin(CONFIG, text, overwrite=True)
    assert names(tmp_path) == before


def test_a_full_disk_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(aside, "write", full)
    with pytest.raises(InputError, match=r"run: can't be written to \(No space left on device\)"):
        RunFolder(tmp_path / "run").begin(CONFIG, TEXT, overwrite=False)
    assert names(tmp_path) == set()


def test_what_is_half_written_goes_and_nothing_else(tmp_path: Path) -> None:
    place = begun(tmp_path / "run")
    before = names(tmp_path)
    for folder in (place.path, place.checkpoints):
        (folder / ".model.12.part").mkdir()
        (folder / ".model.12.part" / "x").touch()
        (folder / ".log.jsonl.7.part").touch()
    (place.path / ".hidden").touch()
    place.tidy()
    assert names(tmp_path) == before | {"run/.hidden"}


def test_where_there_is_no_run_or_a_broken_one(tmp_path: Path) -> None:
    place = RunFolder(tmp_path / "run")
    with pytest.raises(InputError, match=r"run: no run here \(no config\.toml\)"):
        place.read_config()
    begun(place.path)
    place.config.write_text("[train]\nlrr = 1\n")
    with pytest.raises(InputError, match=r"config\.toml: unknown config key train\.lrr; did you"):
        place.read_config()
    place.config.write_text("x")
    with pytest.raises(InputError, match=r"config\.toml: not a TOML file"):
        place.read_config()


def test_a_run_whose_checkpoints_were_removed_does_not_begin_again_silently(tmp_path: Path) -> None:
    place = RunFolder(tmp_path)
    place.begin(CONFIG, TEXT, overwrite=False)
    place.log.write_text('{"step": 1}\n')
    with pytest.raises(InputError, match="no checkpoint to go on from; begin again with --overwr"):
        place.newest()


def test_a_picture_needs_a_loss(tmp_path: Path) -> None:
    place = RunFolder(tmp_path)
    place.draw()
    place.log.write_text("")
    place.draw()
    assert not place.loss_svg.exists()
    place.log.write_text('{"step": 1, "loss": 2.0}\n')
    place.draw()
    assert place.loss_svg.read_bytes().startswith(b"<?xml")


def test_a_link_to_itself_is_no_folder(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    text = Corpus("ab", "text", "0", (str(tmp_path / "text.txt"),))
    with pytest.raises(InputError):
        RunFolder(loop).begin(RunConfig(), text, overwrite=False)
    assert list(tmp_path.iterdir()) == [loop]

"""Checkpoints: bit for bit, whole or not at all, and damage is found before anything is used."""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from handformer.errors import InputError
from handformer.text import Tokenizer
from handformer.train import checkpoint
from handformer.train.checkpoint import Checkpoint
from handformer.train.optimizer import SGD, AdamW, State
from tests.train.small import assert_same

FILES = (checkpoint.WEIGHTS, checkpoint.OPTIMIZER, checkpoint.TOKENIZER, checkpoint.STATE)


def made(step: int = 500, dtype: type = np.float32) -> Checkpoint:
    rng = np.random.default_rng(step)
    square = rng.normal(size=(3, 3)).astype(dtype)
    params = {"a.w": square.T, "a.b": square[:, 1], "c": square[:0]}  # views, and nothing at all
    adam = AdamW()
    state = adam.update(params, params, adam.init(params), 1e-3)[1]
    return Checkpoint(step, params, State(step, state.moments), Tokenizer.characters("abé\n"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_written_is_read(dtype: type, tmp_path: Path) -> None:
    place = checkpoint.write(tmp_path / "new" / "folder", made(dtype=dtype))
    assert place.name == "step-000500"
    assert {file.name for file in place.iterdir()} == set(FILES)
    found = checkpoint.read(place)
    assert_same(found, made(dtype=dtype))
    assert found.tokenizer.encode("é\nab").tolist() == [3, 0, 1, 2]


def test_a_state_without_moments_is_kept(tmp_path: Path) -> None:
    plain = Checkpoint(1, made().params, SGD().init(made().params), made().tokenizer)
    with pytest.raises(InputError, match=r"state\.json says step 1, its optimizer another"):
        checkpoint.read(checkpoint.write(tmp_path, plain))
    shutil.rmtree(tmp_path / "step-000001")
    plain = Checkpoint(1, plain.params, State(1, {}), plain.tokenizer)
    assert_same(checkpoint.read(checkpoint.write(tmp_path, plain)), plain)


def test_only_the_newest_stay_and_what_is_half_written_is_no_checkpoint(tmp_path: Path) -> None:
    for name in (".step-000700.1.part", "step-x", "step-1", "old-step-000001"):
        (tmp_path / name).mkdir()
    steps = (0, 2, 999_999, 1_000_000)
    for step in steps:
        checkpoint.write(tmp_path, made(step))
    names = [place.name for place in checkpoint.whole(tmp_path)]
    assert names == ["step-000002", "step-999999", "step-1000000"]
    assert not list(tmp_path.glob(".step-*[!1].part"))


def test_a_checkpoint_that_is_there_stays(tmp_path: Path) -> None:
    place = checkpoint.write(tmp_path, made())
    before = (place / checkpoint.STATE).stat().st_mtime_ns
    checkpoint.write(tmp_path, made())
    assert (place / checkpoint.STATE).stat().st_mtime_ns == before


def test_leftovers_of_a_process_with_the_same_number_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getpid", lambda: 7)
    left = tmp_path / ".step-000500.7.part"
    left.mkdir()
    (left / "rest").touch()
    place = checkpoint.write(tmp_path, made())
    assert {file.name for file in place.iterdir()} == set(FILES)
    assert not left.exists()


@pytest.mark.parametrize("file", FILES)
def test_a_disk_that_refuses_leaves_what_was_there(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint.write(tmp_path, made(1))
    replace = checkpoint.os.replace

    def full(source: Path, target: Path) -> None:
        if Path(target).name == file:
            raise OSError(28, "No space left on device", str(target))
        replace(source, target)

    monkeypatch.setattr("os.replace", full)
    with pytest.raises((OSError, InputError), match="No space left on device"):
        checkpoint.write(tmp_path, made(2))
    assert [path.name for path in tmp_path.iterdir()] == ["step-000001"]
    assert_same(checkpoint.read(tmp_path / "step-000001"), made(1))


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", [truncated, flipped, Path.unlink, lambda p: p.write_bytes(b"")])
def test_damage_is_one_line_with_the_place_and_the_cure(
    file: str, damage: Callable[[Path], object], tmp_path: Path
) -> None:
    place = checkpoint.write(tmp_path, made())
    damage(place / file)
    if damage is truncated and file == checkpoint.STATE:  # which ends with a line's end
        damage(place / file)
    with pytest.raises(InputError) as caught:
        checkpoint.read(place)
    said = str(caught.value)
    assert said.startswith(f"{place}: damaged checkpoint (")
    assert said.endswith("delete it to go on from the one before it")
    assert "\n" not in said


def test_any_byte_of_the_state_may_be_another(tmp_path: Path) -> None:
    """No flipped byte is read as another state."""
    place = checkpoint.write(tmp_path, made())
    whole = (place / checkpoint.STATE).read_bytes()
    for number in range(len(whole)):
        for bit in (1, 0x80):
            changed = bytearray(whole)
            changed[number] ^= bit
            (place / checkpoint.STATE).write_bytes(changed)
            with suppress(InputError):  # or white space differs, and nothing else
                assert_same(checkpoint.read(place), made())


@pytest.mark.parametrize(
    "state",
    ["[]", "3", "{}", '{"step": 500}', '{"step": null, "sha256": {}}', '{"step": 500, "sha256": 3}',
     '{"step": "500", "sha256": {}}', '{"step": Infinity, "sha256": {}}', "not json", "\ufffd"],
)  # fmt: skip
def test_a_state_of_another_form_is_damage(state: str, tmp_path: Path) -> None:
    place = checkpoint.write(tmp_path, made())
    (place / checkpoint.STATE).write_text(state, encoding="utf-8")
    with pytest.raises(InputError, match="damaged checkpoint"):
        checkpoint.read(place)


@pytest.mark.parametrize("step", ["500.0", '"500"', "true", "null", "Infinity", "501"])
def test_a_step_that_is_not_the_folders_is_damage(step: str, tmp_path: Path) -> None:
    place = checkpoint.write(tmp_path, made())
    state = json.loads((place / checkpoint.STATE).read_text("utf-8"))
    text = json.dumps(state).replace('"step": 500', f'"step": {step}')
    (place / checkpoint.STATE).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="damaged checkpoint"):
        checkpoint.read(place)

"""A run's log as plain data: every number the log's own, old logs too, odd ones refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from handformer.errors import InputError
from handformer.inspector import runs
from handformer.train import log, run
from tests.train import small

HOSTILE = "<img src=x onerror=alert(1)>&'\"\u2028</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    begun = small.begin(tmp_path_factory.mktemp("runs") / "run", steps=7)
    begun.go()
    return begun.folder.path


def test_the_columns_are_the_lines_of_the_log(folder: Path) -> None:
    told, lines = runs.log(folder), log.read(folder / "log.jsonl")
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    updates = [line for line in lines if "loss" in line]
    assert told["training"]["step"] == [1, 2, 4, 6, 7]
    for key in runs.UPDATE:
        assert told["training"][key] == [line[key] for line in updates]
    assert told["parts"] == {
        "names": ["embedding", "position_embedding", "blocks.0", "norm"],
        "step": [1, 2, 4, 6, 7],
        "norms": [[*line["gradient_norms"].values()] for line in updates],
    }
    losses = [line["validation_loss"] for line in lines if "validation_loss" in line]
    assert told["validation"] == {"step": [3, 6, 7], "loss": losses}
    assert [sample["step"] for sample in told["samples"]] == [3, 6, 7]
    assert all(len(sample["text"]) > 16 for sample in told["samples"])
    assert (told["title"], told["step"]) == ("run", 7)


def test_settings_are_whole_and_tell_no_folders(folder: Path) -> None:
    settings = runs.log(folder)["config"]
    assert settings["data"]["path"] == "text.txt"
    assert settings["train"]["steps"] == 7
    assert settings["model"]["d_model"] == 16
    assert str(folder.parent) not in json.dumps(settings)


def begun(tmp_path: Path, *lines: dict[str, Any]) -> Path:
    place = small.begin(tmp_path / "run").folder
    for line in lines:
        log.append(place.log, line)
    return place.path


def test_a_run_that_has_logged_nothing_yet(tmp_path: Path) -> None:
    told = runs.log(begun(tmp_path))
    assert (told["step"], told["training"]["loss"], told["samples"]) == (0, [], [])
    assert told["parts"] == {"names": [], "step": [], "norms": []}


def test_a_log_of_an_older_version_lacks_the_parts(tmp_path: Path) -> None:
    old = {"step": 1, "loss": 2.0, "lr": 0.1, "gradient_norm": float("nan")}
    told = runs.log(begun(tmp_path, old, {"step": 2, "something": [1]}))
    assert told["training"] == {
        "step": [1],
        "loss": [2.0],
        "lr": [0.1],
        "gradient_norm": [None],
        "tokens_per_second": [None],
    }
    assert (told["parts"]["names"], told["step"]) == ([], 2)


def test_parts_that_only_some_lines_have_are_none_elsewhere(tmp_path: Path) -> None:
    one = {"step": 1, "loss": 2.0}
    two = {"step": 2, "loss": 2.0, "gradient_norms": {"blocks.0": 0.5}}
    three = {"step": 3, "loss": 2.0, "gradient_norms": {HOSTILE: 1, "blocks.0": None}}
    told = runs.log(begun(tmp_path, one, two, three))["parts"]
    assert told == {
        "names": ["blocks.0", HOSTILE],
        "step": [2, 3],
        "norms": [[0.5, None], [None, 1]],
    }


def test_texts_stay_texts(tmp_path: Path) -> None:
    told = runs.log(begun(tmp_path, {"step": 3, "sample": HOSTILE}))
    assert told["samples"] == [{"step": 3, "text": HOSTILE}]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ({"loss": HOSTILE}, "step 4: loss is '<img src=x"),
        ({"loss": True}, "step 4: loss is True, expected a number"),
        ({"loss": 1.0, "lr": [1]}, r"step 4: lr is \[1\], expected a number"),
        ({"validation_loss": {}}, "step 4: validation_loss is {}, expected a number"),
        ({"loss": 1.0, "gradient_norms": 3}, "gradient_norms is 3, expected a table of numbers"),
        ({"loss": 1.0, "gradient_norms": {"a": "b"}}, "step 4: a is 'b', expected a number"),
        ({"sample": 3}, "step 4: sample is 3, expected a text"),
        ({"sample": None}, "step 4: sample is None, expected a text"),
    ],
)
def test_a_log_that_no_run_writes_is_refused_in_one_line(
    line: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    folder = begun(tmp_path, {"step": 4, **line})
    with pytest.raises(InputError, match=complaint) as caught:
        runs.log(folder)
    assert str(caught.value).startswith(f"{folder}/log.jsonl: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200 + len(str(folder))


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run here"):
        runs.log(tmp_path)


def test_a_resumed_run_has_the_samples_of_an_unbroken_one(folder: Path, tmp_path: Path) -> None:
    begun = small.begin(tmp_path / "run", steps=4)
    begun.go()
    run.resume(tmp_path / "run", {"train": {"steps": 7}})
    # The run was cut at its last checkpoint; what it logged later is gone, and comes again.
    told, whole = runs.log(tmp_path / "run"), runs.log(folder)
    assert told["samples"][0] == whole["samples"][0]

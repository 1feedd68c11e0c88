"""`handformer bench`: its table, its JSON, and what can't be asked of it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from handformer.bench import machine, race
from handformer.bench.contests import FAST, PLAIN, Contest
from handformer.bench.race import Entry, Result
from handformer.fast.workers import cores
from tests.cli.typed import typed

Capsys = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


@pytest.fixture
def asked(monkeypatch: Patch) -> dict[str, Any]:
    """Races without running, in which everybody takes a second; what was asked of them."""
    seen: dict[str, Any] = {"contests": [], "broken": ""}

    def run(contest: Contest, **options: Any) -> Result:
        seen["contests"].append(contest)
        seen.update(options)
        options["tell"]("at work")
        entries = [Entry(one, {}, [1.0], 10**6) for one in contest.contestants[:-1]]
        for entry in entries:
            if entry.contestant.name == seen["broken"]:
                entry.failed = "ValueError: no luck"
        return Result(contest, entries, 1e12, 1e12)

    facts = {
        "processor": "Zuse", "system": "Linux", "cores": 2, "threads": 2, "python": "3",
        "numpy": "2", "blas": "a blas", "operations_per_second": 1e12, "bytes_per_second": 1e12,
        "numpy_operations_per_second": 5e11,
    }  # fmt: skip
    monkeypatch.setattr(race, "run", run)
    monkeypatch.setattr(machine, "describe", lambda threads: facts | {"threads": threads})
    return seen


def test_the_small_and_the_middle_one_and_the_writer_without_being_asked(
    asked: dict[str, Any], capsys: Capsys
) -> None:
    said = typed(capsys, "bench")
    assert (said.code, said.err) == (0, "")
    made = [f"{contest.shape.name} {contest.task}" for contest in asked["contests"]]
    assert made == ["A step", "A trace", "B step", "B trace", "G write"]
    assert (asked["rounds"], asked["threads"]) == (3, cores())
    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("handformer ")
    assert " on Zuse, 2 cores, " in lines[0]
    assert "matrix products 1000.0 GFLOP/s (NumPy's 500.0), memory 1000.0 GB/s" in lines
    assert "A  training step, a small character model" in lines
    assert "\x1b" not in said.out


def test_for_programs(asked: dict[str, Any], capsys: Capsys) -> None:
    said = typed(capsys, "bench", "--shape", "A", "--json", "--no-peers", "--rounds", "7")
    assert said.code == 0
    read = json.loads(said.out)
    assert set(read) == {"handformer", "machine", "rounds", "seconds", "records"}
    assert read["rounds"] == asked["rounds"] == 7
    assert read["machine"]["blas"] == "a blas"
    made = [(one["task"], one["contestant"]) for one in read["records"]]
    assert made == [
        ("step", FAST), ("step", PLAIN), ("step", "its products alone, NumPy's"),
        ("step", "its products alone, ours"),
        ("trace", FAST), ("trace", PLAIN),
    ]  # fmt: skip
    first = read["records"][0]
    assert (first["shape"], first["seconds"], first["times"], first["ratio"]) == ("A", 1, [1], 1)


def test_in_a_terminal_the_spinner_takes_nothing_from_the_output(
    asked: dict[str, Any], capsys: Capsys, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    said = typed(capsys, "bench", "--shape", "A")
    assert said.code == 0
    assert "at work" in said.err
    assert said.out.startswith("handformer ")
    assert "A  training step" in said.out
    assert "A  training step" not in said.err


def test_options_reach_the_contests(asked: dict[str, Any], capsys: Capsys) -> None:
    words = ("--shape", "a", "--compile", "--threads", "1", "--peers-python", sys.executable)
    assert typed(capsys, "bench", *words).code == 0
    step, trace = asked["contests"]
    assert [one.name for one in step.contestants if not one.ours] == ["PyTorch", "torch.compile"]
    assert [one.name for one in trace.contestants if not one.ours] == ["TransformerLens"]
    assert asked["threads"] == 1


@pytest.mark.parametrize(("broken", "code"), [(FAST, 1), (PLAIN, 1), ("PyTorch", 0)])
def test_one_of_ours_that_breaks_down_is_an_answer(
    broken: str, code: int, asked: dict[str, Any], capsys: Capsys
) -> None:
    asked["broken"] = broken
    said = typed(capsys, "bench", "--shape", "A")
    assert said.code == code
    assert f"{broken} failed:" in said.out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--shape D", "--shape D: there is no shape 'D'; expected a list of A, B, C, G, or all"),
        ("--rounds 0", "--rounds 0: expected a whole number from 1 on"),
        ("--threads 0", f"--threads 0: expected 1 to {cores()}, a thread for each core"),
        ("--threads 9999", f"--threads 9999: expected 1 to {cores()}, a thread for each core"),
        ("--no-peers --compile", "--no-peers leaves nothing to --compile or --peers-python"),
        ("--no-peers --peers-python x", "--no-peers leaves nothing to --compile or --peers-py"),
        ("--peers-python nowhere", "--peers-python nowhere: there is no such file"),
        ("--rounds many", "Invalid value for '--rounds'"),
    ],
)
def test_what_cannot_be_asked(
    words: str, complaint: str, asked: dict[str, Any], capsys: Capsys
) -> None:
    said = typed(capsys, "bench", *words.split())
    assert said.complaint().startswith(complaint)
    assert (said.out, asked["contests"]) == ("", [])


def test_its_help_fits_into_eighty_columns(capsys: Capsys, monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = typed(capsys, "bench", "--help")
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    assert "..." not in said.out


@pytest.mark.slow
def test_a_whole_one(capsys: Capsys, monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    said = typed(capsys, "bench", "--shape", "A", "--rounds", "1", "--no-peers", "--json")
    assert (said.code, said.err) == (0, "")
    read = json.loads(said.out)
    assert 0 < read["machine"]["operations_per_second"] < 1e15
    assert [one["failed"] for one in read["records"]] == [None] * 6
    assert all(0 < one["share"] < 2 for one in read["records"])
    assert not [*tmp_path.iterdir()]

"""Turns, medians, and contests in which somebody breaks down."""

from pathlib import Path

import pytest

from handformer.bench import contests, race
from handformer.bench.contestant import GoneError
from handformer.bench.contests import FAST, MACHINE, PLAIN, Options
from handformer.bench.race import Result
from tests.bench.small import LEARNER, SPEEDS, WRITER, contest, pretender


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "PIECE", 0.0)
    monkeypatch.setattr(race, "_PAUSE", 0.0)


def test_contestants_take_turns_and_the_first_time_does_not_count(tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    body = f"""
        open({str(diary)!r}, 'a').write(settings['me'])
        time.sleep(0.2 if count == 1 else 0)
        return {{'count': count}}
    """
    asked = contest(
        tmp_path, pretender(tmp_path, body, "P", me="p"), pretender(tmp_path, body, "Q", me="q")
    )
    told: list[str] = []
    result = race.run(asked, rounds=3, threads=1, tell=told.append)
    assert diary.read_text() == "pq" * 4
    assert [entry.contestant.name for entry in result.entries] == ["P", "Q"]
    for entry in result.entries:
        assert len(entry.times) == 3
        assert entry.seconds is not None
        assert entry.seconds < 0.2
        assert entry.facts["count"] == 4
    assert (result.operations_per_second, result.bytes_per_second) == (1e9, 1e9)
    assert told[0] == "S step: everybody gets ready"
    assert told[4].startswith("S step: P, round 1 of 3, up to ")


def test_the_median_counts() -> None:
    entry = race.Entry(contests.machine())
    assert entry.seconds is None
    entry.times = [1.0, 9.0, 2.0]
    assert entry.seconds == 2.0


def test_one_who_breaks_down_does_not_stop_the_others(tmp_path: Path) -> None:
    asked = contest(
        tmp_path,
        pretender(tmp_path, "return {}", "never", facts="1 / 0"),
        pretender(tmp_path, "raise ValueError('at once')", "cold"),
        pretender(tmp_path, "return {} if count < 3 else 1 / 0", "late"),
        pretender(tmp_path, "return {}", "fine"),
    )
    never, cold, late, fine = race.run(asked, rounds=3, threads=1, tell=str).entries
    assert "ZeroDivisionError" in never.failed
    assert cold.failed == "ValueError: at once"
    assert "ZeroDivisionError" in late.failed
    assert (never.seconds, cold.seconds, late.seconds) == (None, None, None)
    assert len(fine.times) == 3


def test_without_the_machine_there_is_no_limit(tmp_path: Path) -> None:
    asked = contest(tmp_path, pretender(tmp_path, "return {}"))
    pretender(tmp_path, f"return {SPEEDS} if count < 2 else 1 / 0", MACHINE)
    with pytest.raises(GoneError, match="ZeroDivisionError"):
        race.run(asked, rounds=2, threads=1, tell=str)


def names(options: Options) -> list[list[str]]:
    made = contests.contests([LEARNER, contests.WRITER], options)
    return [[one.name for one in contest.contestants] for contest in made]


def test_who_competes_in_what() -> None:
    alone = ["its products alone, NumPy's", "its products alone, ours"]
    ours = [f"{FAST}, float32", f"{FAST}, bfloat16", f"{PLAIN}, float32"]
    assert names(Options(peers=False, compile=True)) == [
        [FAST, PLAIN, *alone, MACHINE],
        [FAST, PLAIN, MACHINE],
        [*ours, MACHINE],
    ]
    theirs = ["transformers, float32", "transformers, bfloat16"]
    assert names(Options(compile=True)) == [
        [FAST, PLAIN, "PyTorch", "torch.compile", *alone, MACHINE],
        [FAST, PLAIN, "TransformerLens", MACHINE],
        [*ours, *theirs, MACHINE],
    ]


def test_peers_live_where_the_user_says() -> None:
    for made in contests.contests([LEARNER, contests.WRITER], Options(python="/theirs/python")):
        for one in made.contestants:
            assert (one.python == "/theirs/python") == one.file.startswith("peers/") != one.ours


def run(task: int, monkeypatch: pytest.MonkeyPatch) -> Result:
    """A real contest of small shapes."""
    monkeypatch.setattr(contests, "WRITER", WRITER)
    asked = contests.contests([LEARNER, WRITER], Options(peers=False))[task]
    result = race.run(asked, rounds=1, threads=2, tell=str)
    assert not [entry.failed for entry in result.entries if entry.failed]
    assert result.operations_per_second > 1e8
    assert result.bytes_per_second > 1e8
    return result


@pytest.mark.slow
def test_steps_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, plain, *alone = run(0, monkeypatch).entries
    assert fast.facts["loss"] == pytest.approx(plain.facts["loss"], rel=1e-5)
    assert fast.facts["loss"] == pytest.approx(1.6, abs=0.2)  # about ln 5
    assert all(one.seconds for one in alone)
    assert len(alone) == 2


@pytest.mark.slow
def test_traces_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, plain = run(1, monkeypatch).entries
    assert fast.facts["loss"] == pytest.approx(plain.facts["loss"], rel=1e-5)
    assert fast.facts["values"] == plain.facts["values"] > 100
    assert fast.facts["bytes"] >= plain.facts["bytes"]


@pytest.mark.slow
def test_texts_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, narrow, plain = run(2, monkeypatch).entries
    assert fast.facts["text"] == plain.facts["text"]
    assert len(fast.facts["text"]) == len(narrow.facts["text"]) == contests.NEW_TOKENS

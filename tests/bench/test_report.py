"""Records and tables."""

import pytest
from rich.console import Console

from handformer.bench import contests
from handformer.bench.contestant import Contestant
from handformer.bench.contests import FAST, Contest
from handformer.bench.race import Entry, Result
from handformer.bench.report import records
from handformer.bench.table import table, title
from tests.bench.small import LEARNER


def stepping() -> Result:
    made = contests.contests([LEARNER], contests.Options())[0]
    fast, plain, torch, alone = (Entry(one) for one in made.contestants[:4])
    fast.times, fast.peak, fast.facts = [2e-5, 1e-5, 9e-5], 10**6, {"loss": 1.6}
    plain.failed = "ValueError: no luck " + 40 * "and more "
    torch.absent = "torch isn't installed"
    alone.times, alone.peak = [1e-5], 10**6
    return Result(made, [fast, plain, torch, alone], 1e9, 1e9)


def test_a_record_of_each() -> None:
    fast, plain, torch, alone = records(stepping())
    assert (fast["seconds"], fast["ratio"], alone["ratio"]) == (2e-5, 1.0, 0.5)
    assert fast["operations"] == 16272
    assert fast["per_second"] == pytest.approx(16272 / 2e-5)
    assert fast["share"] == pytest.approx(16272 / 2e-5 / 1e9)
    assert (fast["loss"], fast["peak_bytes"]) == (1.6, 10**6)
    assert (fast["absent"], fast["failed"], fast["tokens_per_second"]) == (None, None, None)
    assert (plain["seconds"], plain["ratio"], plain["share"]) == (None, None, None)
    assert plain["failed"].startswith("ValueError: no luck")
    assert torch["absent"] == "torch isn't installed"
    assert {record["contestant"] for record in records(stepping())} == {
        FAST, "handformer plain", "PyTorch", "its products alone, NumPy's",
    }  # fmt: skip


def test_without_the_fast_one_there_are_no_ratios() -> None:
    result = stepping()
    result.entries[0].failed = "gone"
    assert [record["ratio"] for record in records(result)] == [None] * 4


def writing() -> Result:
    wide, narrow = (
        Entry(Contestant(f"{FAST}, {dtype}", "", {"dtype": dtype}), {}, [0.5], 10**9)
        for dtype in ("float32", "bfloat16")
    )
    made = Contest(contests.WRITE, contests.WRITER, (), reads=10**9, tokens=32)
    return Result(made, [wide, narrow], 1e9, 1.6e10)


def test_of_texts_the_reading_counts() -> None:
    wide, narrow = records(writing())
    assert wide["tokens_per_second"] == narrow["tokens_per_second"] == 64
    assert (wide["bytes_read"], narrow["bytes_read"]) == (4 * 10**9, 2 * 10**9)
    assert (wide["share"], narrow["share"]) == (0.5, 0.25)
    assert "operations" not in wide


@pytest.mark.parametrize("result", [stepping(), writing()], ids=["step", "write"])
def test_a_table_fits_into_eighty_columns(result: Result) -> None:
    console = Console(width=80, highlight=False)
    with console.capture() as captured:
        console.print(title(result), table(result), sep="\n")
    text = captured.get()
    assert max(len(line.rstrip()) for line in text.splitlines()) < 80
    assert "…" not in text
    first = next(line for line in text.splitlines() if line.startswith(f" {FAST}"))
    if result.contest.task == contests.WRITE:
        assert first.split()[2:] == ["float32", "64.0", "1.00", "50%", "1,000", "MB"]
    else:
        assert first.split()[2:] == ["0.0", "ms", "1.00", "81%", "1", "MB"]
        assert "PyTorch: torch isn't installed" in text
        assert "handformer plain failed:" in text
        assert "and more" in text

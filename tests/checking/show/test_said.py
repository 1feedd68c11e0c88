"""Words, numbers and ratios as every form has them."""

import numpy as np
import pytest

from handformer.checking.report import Difference, Report, Status, Verdict
from handformer.checking.show import said
from handformer.checking.show.gathered import gathered
from handformer.checking.show.ratio import ratio


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.1e-6, "3.1e-6"), (0.57735, "0.5774"), (1e22, "1e22"), (-2e-12, "-2e-12"), (0.0, "0")],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert said.short(value) == text


def test_amounts_and_lists() -> None:
    assert [said.amount(n, "value") for n in (0, 1, 2000)] == [
        "0 values",
        "1 value",
        "2,000 values",
    ]
    assert said.amount(2, "entry") == "2 entries"
    assert said.listed("q") == "q"
    assert said.listed(["q", "k"]) == "q and k"
    assert said.listed(["q", "k", "v"], "or") == "q, k or v"


def test_one_factor_between_two_arrays() -> None:
    right = np.array([[1.0, -2.0, 1e-9], [3.0, 0.0, -np.inf]])
    assert ratio(right / np.sqrt(3), right) == pytest.approx(3**-0.5)
    assert ratio(0 * np.ones(3), np.ones(3)) == 0
    assert ratio(right, right) is None
    assert ratio(right + 1, right) is None
    assert ratio(right[0], right) is None
    assert ratio(None, right) is None
    assert ratio(right, 0 * np.ones_like(right)) is None
    assert ratio(np.full(2, np.nan), np.full(2, np.nan)) is None


def test_the_farthest_is_the_right_one_that_uses_up_most_of_its_limit() -> None:
    def off(path: str, status: Status, size: float, allowed: float) -> Verdict:
        found = Difference(0.0, size, size, allowed, (), 0, 1)
        return Verdict(path, status, local=found)

    report = Report(
        "case", "dump",
        (
            off("a", Status.RIGHT, 2e-6, 1e-5), off("b", Status.RIGHT, 3e-9, 4e-9),
            off("c", Status.RIGHT, 0.0, 0.0), off("d", Status.WRONG, 1.0, 1e-6),
            off("e", Status.INHERITED, 1.0, 1e-6), Verdict("f", Status.RIGHT),
        ),
    )  # fmt: skip
    farthest = said.farthest(report)
    assert farthest is not None
    assert farthest.path == "b"
    assert said.farthest(Report("case", "dump", report.verdicts[3:])) is None


def test_what_is_right_with_the_reference_alone_is_told_by_that() -> None:
    far, near = Difference(1, 2, 1, 1e-6, (), 1, 1), Difference(1, 1, 1e-8, 1e-6, (), 0, 1)
    assert said.compared(Verdict("v", Status.RIGHT, local=far, against=near)) is near
    assert said.compared(Verdict("v", Status.RIGHT, local=near, against=far)) is near
    assert said.compared(Verdict("v", Status.INHERITED, local=near, against=far)) is near
    assert said.compared(Verdict("v", Status.WRONG, local=far, against=near)) is far
    assert said.compared(Verdict("v", Status.WRONG, against=near)) is near
    assert said.compared(Verdict("v", Status.MISSING)) is None


def test_what_is_unknown_is_one_mistake_only_where_it_looks_alike() -> None:
    def bad(path: str, *hints: str) -> Verdict:
        return Verdict(path, Status.WRONG, hints=hints)

    def groups(*verdicts: Verdict) -> list[int]:
        return [len(one.verdicts) for one in gathered(Report("case", "dump", verdicts))]

    assert groups(bad("blocks.0.out", "twice"), bad("blocks.1.out", "twice")) == [2]
    assert groups(bad("blocks.0.out", "twice"), bad("blocks.1.out", "half")) == [1, 1]
    assert groups(bad("blocks.0.out", "twice"), bad("blocks.1.mid", "twice")) == [1, 1]


def wrong(*paths: str, among: tuple[str, ...]) -> list[str]:
    """Where the same mistake is said to be."""
    verdicts = (Verdict(p, Status.WRONG if p in paths else Status.RIGHT) for p in among)
    return [group.where for group in gathered(Report("case", "dump", tuple(verdicts)))]


def test_where_a_mistake_was_made() -> None:
    every = tuple(f"blocks.{block}.mlp.out" for block in range(12))
    assert wrong(*every, among=every) == ["in all 12 blocks"]
    assert wrong(every[0], every[3], every[5], among=every) == ["in blocks 0, 3 and 5"]
    assert wrong(*every[:9], among=every) == ["in 9 of 12 blocks"]
    assert wrong(every[2], among=every) == [""]
    both = ("encoder.0.out", "encoder.1.out", "decoder.0.out", "decoder.1.out")
    assert wrong(*both, among=both) == ["in both encoder blocks", "in both decoder blocks"]
    steps = tuple(f"steps.{at}.lr" for at in range(3))
    assert wrong(*steps, among=steps) == ["in all 3 steps"]
    assert wrong("norm.out", "head.out", among=("norm.out", "head.out")) == ["", ""]

"""The report as JSON: whole, in ASCII, and with numbers that JSON doesn't have."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from handformer.checking.report import Difference, Report, Status
from handformer.checking.show import record
from tests.checking.show.reports import HOSTILE, SCALE, SCORES, fine, nothing, scaled, with_verdict


def read(report: Report) -> Any:
    return json.loads(record(report), parse_constant=_refuse)


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def test_it_says_all_that_the_report_does() -> None:
    report = replace(scaled(2), unknown={"scors": (SCORES,)})
    said = read(report)
    assert [*said] == [
        "fine", "answer", "case", "dump", "first", "farthest", "compared", "counts", "unknown",
        "aside", "seconds", "values",
    ]  # fmt: skip
    assert (said["fine"], said["first"], said["compared"]) == (False, SCORES, 133)
    assert said["counts"] == {
        "right": 12, "inherited": 119, "wrong": 2, "layout": 0, "unreadable": 0, "missing": 2,
    }  # fmt: skip
    assert said["unknown"] == {"scors": [SCORES]}
    assert said["answer"].startswith(f"`{SCORES}` is the first step that differs.")
    assert [value["path"] for value in said["values"]] == [v.path for v in report.verdicts]


def test_the_docs_tell_its_keys_and_no_others() -> None:
    docs = (Path(__file__).resolve().parents[3] / "docs/check.md").read_text(encoding="utf-8")
    docs = docs.partition("## For programs")[2].partition("## For CI")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", docs, re.MULTILINE)
    told = [name for row in rows for name in re.findall(r"\w+", row)]
    said = read(scaled())
    assert sorted(told) == sorted([*said, *said["values"][0]])


def test_a_value_has_its_comparison_and_its_causes_whole() -> None:
    report = scaled()
    (verdict,) = report.bad
    assert verdict.local is not None
    (value,) = [one for one in read(report)["values"] if one["path"] == SCORES]
    assert value["status"] == "wrong"
    assert value["local"] == {
        "theirs": verdict.local.theirs, "right": verdict.local.right, "off": verdict.local.off,
        "allowed": 8e-6, "place": list(verdict.local.place), "count": 149, "of": 150,
    }  # fmt: skip
    assert value["local"] == value["against"]
    assert value["causes"] == [
        {
            "id": SCALE.id, "wrong": SCALE.wrong, "cure": SCALE.cure, "at": SCALE.at,
            "formula": SCALE.formula, "link": SCALE.link, "right": SCALE.right,
        }
    ]  # fmt: skip
    assert value["reads"] == ["blocks.0.attention.q", "blocks.0.attention.k"]
    assert value["axes"] == ["b", "h", "t", "s"]


def test_what_json_has_no_number_for_is_a_word() -> None:
    off = Difference(float("nan"), float("-inf"), float("inf"), 0.0, (0, 1, 2), 1, 120)
    said = read(with_verdict(fine(), "norm.out", status=Status.WRONG, local=off))
    (value,) = [one for one in said["values"] if one["path"] == "norm.out"]
    found = value["local"]
    assert (found["theirs"], found["right"], found["off"]) == ("nan", "-inf", "inf")


def test_it_is_ascii_whatever_names_there_are() -> None:
    text = record(replace(fine(), unknown={HOSTILE: (HOSTILE,)}, case=HOSTILE))
    assert text.isascii()
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert json.loads(text)["unknown"] == {HOSTILE: [HOSTILE]}


def test_nothing_compared_has_no_first_and_is_not_fine() -> None:
    said = read(nothing())
    assert (said["fine"], said["compared"]) == (False, 0)
    assert (said["first"], said["farthest"]) == (None, None)
    assert read(fine())["fine"] is True
    assert read(fine())["farthest"] == "blocks.1.mlp.out"

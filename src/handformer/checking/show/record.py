"""A report as JSON, for a program: every number whole, and nothing but ASCII.

What JSON has no number for stands as a string: "inf", "-inf", "nan".
"""

import json
from typing import Any

from handformer.checking.report import Difference, Report, Status, Verdict
from handformer.checking.show import said
from handformer.formula.encode import finite


def record(report: Report) -> str:
    """The report as one JSON object; docs/check.md tells its keys."""
    return json.dumps(as_json(report), indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def as_json(report: Report) -> dict[str, Any]:
    """The same as dicts and lists."""
    farthest = said.farthest(report)
    return {
        "fine": report.fine,
        "answer": said.answer(report),
        "case": report.case,
        "dump": report.dump,
        "first": report.first.path if report.first else None,
        "farthest": farthest.path if farthest else None,
        "compared": report.compared,
        "counts": {
            status.value: sum(v.status is status for v in report.verdicts) for status in Status
        },
        "unknown": {name: list(near) for name, near in report.unknown.items()},
        "aside": dict(report.aside),
        "seconds": round(report.seconds, 3),
        "values": [_value(verdict) for verdict in report.verdicts],
    }


def _value(verdict: Verdict) -> dict[str, Any]:
    return {
        "path": verdict.path,
        "status": verdict.status.value,
        "called": verdict.called,
        "axes": list(verdict.axes),
        "shape": list(verdict.shape),
        "local": _difference(verdict.local),
        "against": _difference(verdict.against),
        "causes": [
            {
                "id": cause.id,
                "wrong": cause.wrong,
                "cure": cause.cure,
                "at": cause.at,
                "formula": cause.formula,
                "link": cause.link,
                "right": cause.right,
            }
            for cause in verdict.causes
        ],
        "hints": list(verdict.hints),
        "since": list(verdict.since),
        "note": verdict.note,
        "reads": list(verdict.reads),
    }


def _difference(found: Difference | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "theirs": finite(found.theirs),
        "right": finite(found.right),
        "off": finite(found.off),
        "allowed": finite(found.allowed),
        "place": [int(at) for at in found.place],
        "count": int(found.count),
        "of": int(found.of),
    }

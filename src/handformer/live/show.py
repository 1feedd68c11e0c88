"""A report as text for a terminal, and as JSON for a program."""

import json as _json
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from handformer.checking.report import Cause, Difference
from handformer.live.report import InModel, Local, OpReport, Reached, Speed

_WORST = 3  # values of a model that are named


def text(report: OpReport) -> str:
    """What was found: alone, in models, against the clock; the answer last."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: OpReport) -> Iterator[str]:
    yield f"{report.op}, {report.direction}: {report.given}"
    if report.local:
        yield ""
        yield "alone, against its formulas"
        for name in dict.fromkeys(one.value for one in report.local):
            yield from _value([one for one in report.local if one.value == name])
    if report.missing:
        yield f"    {', '.join(report.missing)}: not given, ours stand in"
    for model in report.models:
        yield ""
        yield from _model(model)
    if report.speed is not None:
        yield ""
        yield _speed(report.speed)
    if report.notes:
        yield ""
        yield from report.notes
    yield ""
    yield answer(report)


def answer(report: OpReport) -> str:
    """The answer in one line."""
    what = f"{report.op}, {report.direction}"
    if report.broken:
        return f"Wrong: {what}: {report.broken}."
    if report.wrong:
        first = report.wrong[0]
        more = f", and {len(report.wrong) - 1} more" if len(report.wrong) > 1 else ""
        return f"Wrong: {first.value} {_wrong(first)} ({first.case or 'plain'}){more}."
    if not report.local:
        return f"Wrong: {what}: nothing was compared."
    for model in report.models:
        if model.problem:
            return f"Wrong: right alone, but in {model.model} {model.problem}."
        if not model.fine:
            one = model.worst[0]
            return f"Wrong: right alone, but in {model.model} {one.path} is {_reached(one)}."
    count = sum(one.difference.of for one in report.local if one.difference is not None)
    names = " and ".join(model.model for model in report.models)
    models = f"; so do the models {names}" if names else ""
    return (
        f"Right: {count:,} entries of {len(report.local)} values agree with the formulas{models}."
    )


def _value(found: Sequence[Local]) -> Iterator[str]:
    """One value over all cases: the worst, or each that is wrong."""
    name = found[0].value
    wrong = [one for one in found if not one.fine]
    cases = f"{len(found)} case{'s' if len(found) > 1 else ''}"
    if not wrong:
        worst = max((o.difference for o in found if o.difference), key=_times)
        yield f"    {name:<12} {_off(worst)}: fine ({cases})"
    for one in wrong:
        yield f"    {name:<12} WRONG ({one.case or 'plain'}): {_wrong(one)}"
        yield from (f"{'':17}{cause.id}: {cause.wrong} {cause.cure}" for cause in one.causes)
    if wrong and len(wrong) < len(found):
        yield f"    {name:<12} fine in {len(found) - len(wrong)} of {cases}"


def _wrong(one: Local) -> str:
    if one.problem:
        return one.problem
    assert one.difference is not None
    off = one.difference
    at = f" at {off.place}" if off.place else ""
    numbers = f"is {off.theirs:.6g}, should be {off.right:.6g}{at}"
    return f"{numbers}; {_off(off)}; {off.count} of {off.of} entries are farther off than that"


def _off(off: Difference) -> str:
    return f"off by {off.off:.1e}, rounding explains {off.allowed:.1e}" if off.off else "equal"


def _times(off: Difference) -> float:
    return off.off / off.allowed if off.off and off.allowed else off.off


def _model(model: InModel) -> Iterator[str]:
    yield f"in a model, {model.model} (called {model.calls} times)"
    if model.problem:
        yield f"    WRONG: {model.problem}"
        return
    loss, *gradients = model.values
    yield f"    loss {model.loss:.7g}, should be {model.right:.7g}: {_reached(loss)}"
    wrong = [one for one in gradients if not one.fine]
    count = len(wrong) or "none"
    yield f"    {len(gradients)} gradients: {count} farther off than rounding explains"
    for one in [one for one in model.worst if one is not loss][:_WORST]:
        yield f"      {one.path} is {_reached(one)}"


def _reached(one: Reached) -> str:
    word = "fine" if one.fine else "WRONG"
    numbers = f"off by {one.theirs:.1e} (ours {one.ours:.1e}), rounding explains {one.allowed:.1e}"
    return f"{numbers}: {word}"


def _speed(speed: Speed) -> str:
    times = f"{1e3 * speed.theirs:.3g} ms a call, ours {1e3 * speed.ours:.3g} ms"
    way = f"{speed.ratio:.2f} times as long as ours takes" if speed.ratio >= 1 else (
        f"{1 / speed.ratio:.2f} times as quick as ours")  # fmt: skip
    return f"speed: {way} ({times}; medians of {speed.rounds} rounds; {speed.shapes})"


def json(report: OpReport) -> str:
    """All of it as JSON; null is a number that isn't finite."""
    return _json.dumps(record(report), indent=2, allow_nan=False) + "\n"


def record(report: OpReport) -> dict[str, Any]:
    """All of it as plain dictionaries."""
    speed = report.speed
    return {
        "op": report.op,
        "direction": report.direction,
        "given": report.given,
        "fine": report.fine,
        "answer": answer(report),
        "broken": report.broken or None,
        "local": [_local(one) for one in report.local],
        "models": [_in_model(one) for one in report.models],
        "speed": None if speed is None else {
            "theirs": speed.theirs, "ours": speed.ours, "ratio": speed.ratio,
            "shapes": speed.shapes, "rounds": speed.rounds,
        },
        "missing": list(report.missing),
        "notes": list(report.notes),
    }  # fmt: skip


def _local(one: Local) -> dict[str, Any]:
    off = one.difference
    return {
        "value": one.value, "case": one.case, "fine": one.fine, "problem": one.problem or None,
        "difference": None if off is None else {
            "theirs": _number(off.theirs), "right": _number(off.right), "off": _number(off.off),
            "allowed": _number(off.allowed), "place": list(off.place), "count": off.count,
            "of": off.of,
        },
        "causes": [_cause(cause) for cause in one.causes],
    }  # fmt: skip


def _cause(cause: Cause) -> dict[str, str]:
    return {"id": cause.id, "wrong": cause.wrong, "cure": cause.cure, "formula": cause.formula,
            "right": cause.right, "link": cause.link}  # fmt: skip


def _in_model(model: InModel) -> dict[str, Any]:
    return {
        "model": model.model, "calls": model.calls, "fine": model.fine,
        "problem": model.problem or None, "loss": _number(model.loss),
        "right": _number(model.right),
        "values": [
            {"path": one.path, "theirs": _number(one.theirs), "ours": _number(one.ours),
             "allowed": _number(one.allowed), "fine": one.fine}
            for one in model.values
        ],
    }  # fmt: skip


def _number(value: float) -> float | None:
    return value if isfinite(value) else None

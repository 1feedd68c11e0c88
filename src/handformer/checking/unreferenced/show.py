"""The answers as text for a terminal, and as JSON for a program."""

import json as _json
from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.names import known

_SHOWN = 3  # of what was seen, where a question was asked of many values


def text(asked: Sequence[Asked]) -> str:
    """What holds, counted by question; what doesn't, each with what it means; the answer last."""
    return "\n".join(_lines(asked)) + "\n"


def _lines(asked: Sequence[Asked]) -> Iterator[str]:
    right = Counter(one.question for one in asked if one.fine)
    for question, count in right.items():
        values = "value" if count == 1 else "values"
        yield f"holds    {question}: {count} {values}{_seen(asked, question)}"
    for one in asked:
        if not one.fine:
            yield ""
            called = f" (yours: {one.called})" if one.called != one.path else ""
            yield f"WRONG    {one.path}{called}: {one.question}"
            yield from (f"         {line}" for line in _told(one))
    yield ""
    yield answer(asked)


def answer(asked: Sequence[Asked]) -> str:
    """The answer in one line."""
    wrong = [one for one in asked if not one.fine]
    if not wrong and not _known(asked):
        but = " but that numbers are finite" if asked else ""
        return f"Nothing could be asked{but}: no name of a value is known here."
    if not wrong:
        return f"All {len(asked)} questions that need no reference are answered well."
    first = wrong[0]
    return (
        f"{len(wrong)} of {len(asked)} questions are answered wrongly, first of {first.path}: "
        f"{first.question}."
    )


def fine(asked: Sequence[Asked]) -> bool:
    """Whether all is answered well, and any of it is about a value whose name is known."""
    return _known(asked) and all(one.fine for one in asked)


def _known(asked: Sequence[Asked]) -> bool:
    return any(known(one.path) for one in asked)


def _told(one: Asked) -> Iterator[str]:
    if one.of:
        where = f" at {one.place}" if one.place else ""
        off = f"off by {one.off:.1e}{where}, rounding explains {one.allowed:.1e}"
        yield f"{off}; {one.count} of {one.of} are too far off"
    if one.said:
        yield one.said
    if one.means:
        yield one.means
    if one.hints:
        yield f"see {', '.join(one.hints)}"


def _seen(asked: Sequence[Asked], question: str) -> str:
    """What else was seen, where it was something."""
    said = dict.fromkeys(
        one.said for one in asked if one.fine and one.question == question and one.said
    )
    return f" ({'; '.join([*said][:_SHOWN])})" if said else ""


def json(asked: Sequence[Asked]) -> str:
    """All of it as JSON; null is a number that isn't finite."""
    document = {
        "fine": fine(asked),
        "answer": answer(asked),
        "asked": [_record(one) for one in asked],
    }
    return _json.dumps(document, indent=2, allow_nan=False) + "\n"


def _record(one: Asked) -> dict[str, Any]:
    return {
        "path": one.path, "called": one.called, "question": one.question, "fine": one.fine,
        "off": one.off if isfinite(one.off) else None,
        "allowed": one.allowed if isfinite(one.allowed) else None,
        "place": list(one.place), "count": one.count, "of": one.of, "said": one.said or None,
        "means": one.means or None, "hints": list(one.hints),
    }  # fmt: skip

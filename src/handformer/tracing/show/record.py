"""An explanation as JSON, for a program: every number whole, never rounded.

What JSON has no number for stands as a string: "inf", "-inf", "nan". Trees of formulas are lists,
as `formula.encode` writes them.
"""

import json
from typing import Any

from handformer.formula.encode import encode, finite
from handformer.formula.render import formula_text
from handformer.tracing.explanation import Explanation, Term


def record(told: Explanation) -> str:
    """The explanation as one JSON object."""
    return json.dumps(as_json(told), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_json(told: Explanation) -> dict[str, Any]:
    """The same as dicts and lists; `below` is there where parents were followed."""
    whole: dict[str, Any] = {
        "path": told.path,
        "place": list(told.place),
        "axes": list(told.axes),
        "formula": None if told.formula is None else formula_text(told.formula),
        "abbreviations": [formula_text(one) for one in told.abbreviations],
        "symbols": None if told.symbols is None else encode(told.symbols),
        "numbers": None if told.numbers is None else encode(told.numbers),
        "value": finite(told.value),
        "stored": _number(told.stored),
        "difference": finite(told.difference),
        "rounding": None if told.rounding is None else finite(told.rounding),
        "terms": [_term(term) for term in told.terms],
        "rest": None
        if told.rest is None
        else {"count": told.rest.count, "value": finite(told.rest.value)},
        "parents": [
            {"path": one.path, "place": list(one.place), "value": _number(one.value)}
            for one in told.parents
        ],
        "users": [{"path": one.path, "place": list(one.place)} for one in told.users],
        "tokens": told.tokens,
    }
    if told.more_users:
        whole["more_users"] = told.more_users
    if told.below:
        whole["below"] = [as_json(one) for one in told.below]
    return whole


def _term(term: Term) -> dict[str, Any]:
    told = {
        "text": term.text,
        "value": finite(term.value),
        "share": finite(term.share),
        "parents": [[path, list(place)] for path, place in term.parents],
    }
    return told if term.token is None else {**told, "token": term.token}


def _number(value: Any) -> Any:
    """A truth value counts as 0 or 1."""
    return finite(int(value) if isinstance(value, bool) else value)

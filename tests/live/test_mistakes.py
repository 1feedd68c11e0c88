"""A wrong op alone is named as in a dump: the mistake, what is wrong, and how to mend it."""

import json
from typing import Any

import numpy as np
import pytest

from handformer.live.api import check_op
from handformer.live.contract import contract, names
from handformer.live.local import held
from handformer.live.mistakes import PLACES, agreed
from handformer.live.show import answer, text
from handformer.live.show import json as as_json
from tests.live.mistaken import ROWS

MISTAKES = [
    (name, direction, made, mistake, row)
    for name, direction, made, rows in ROWS
    for mistake, row in rows.items()
]
BOTH = [(n, d) for n in PLACES for d in ("forward", "backward") if hasattr(contract(n).op, d)]


@pytest.mark.parametrize(("name", "direction", "made", "mistake", "row"), MISTAKES)
def test_a_mistake_is_named(name: str, direction: str, made: Any, mistake: str, row: str) -> None:
    report = check_op(name, made(mistake), direction=direction, timed=False)
    named = [cause.id for one in report.wrong for cause in one.causes]
    assert {*named} == {row}
    assert len(named) > len(report.wrong) / 2
    (cause,) = next(one.causes for one in report.wrong if one.causes)
    assert f"{row}: {cause.wrong} {cause.cure}" in text(report)
    told = [c for one in json.loads(as_json(report))["local"] for c in one["causes"]]
    assert {(c["id"], bool(c["wrong"]), bool(c["cure"])) for c in told} == {(row, True, True)}
    assert all(c["formula"] != c["right"] for c in told)


@pytest.mark.parametrize(("name", "direction", "made"), [row[:3] for row in ROWS])
def test_a_right_one_has_none(name: str, direction: str, made: Any) -> None:
    report = check_op(name, made(), direction=direction, timed=False)
    assert report.fine, answer(report)
    assert not any(one.causes for one in report.local)


@pytest.mark.parametrize(("name", "direction"), BOTH)
def test_no_known_mistake_makes_any_numbers_at_all(name: str, direction: str) -> None:
    what, rng = contract(name, direction), np.random.default_rng(0)

    def drawn(dtype: str, shape: tuple[int, ...]) -> Any:
        noise = rng.normal(size=shape)
        return noise > 0 if dtype == "bool" else noise.astype(dtype)

    class Noise:
        def call(self, asked: Any) -> dict[str, Any]:
            return {name: drawn(*form) for name, form in asked.forms.items() if form is not None}

    found = [one for case, _ in held(what, Noise(), 0) for one in case]  # type: ignore[arg-type]
    assert any(not one.fine for one in found)
    assert not any(one.causes for one in agreed(found))


def test_the_table_names_ops() -> None:
    assert {*PLACES} <= {*names()}

"""Mistakes that an independent implementation makes are named at the right place.

`docs/mistakes.md` has the table of all of them; `python tools/mistakes.py` makes it anew.
"""

import re
from pathlib import Path

import pytest

from tests.checking.named import UNNAMED, forms, outcome
from tools import mistakes

PAGE = Path(__file__).parents[2] / "docs/mistakes.md"
EVERY = 12  # one of so many is made without `slow`
QUICK = {*list(forms())[::EVERY]}


@pytest.mark.parametrize(
    ("name", "family"),
    [
        pytest.param(*one, id="-".join(one), marks=[] if one in QUICK else [pytest.mark.slow])
        for one in forms()
    ],
)
def test_a_mistake_is_named_where_it_was_made(name: str, family: str) -> None:
    found = outcome(name, family)
    assert found.caught, found
    assert found.named == (name not in UNNAMED), found


def test_the_page_tells_what_is_held_here() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = re.findall(r"^\| (?:\[|all ).*$", page, re.MULTILINE)
    assert table == mistakes.rows()
    in_table = re.findall(r"^\| \[([A-Z]+-\d+)\]", page, re.MULTILINE)
    assert {*in_table} <= {*re.findall(r"^### ([A-Z]+-\d+)$", page, re.MULTILINE)}
    named = sum(name not in UNNAMED for name, _ in forms())
    assert named >= 0.95 * len([*forms()])

"""Mistakes that an independent implementation makes are named at the right place.

`docs/mistakes.md` has the table of all of them; `python tools/mistakes.py` makes it anew.
"""

import re
from pathlib import Path

import pytest

from tests.checking.named import forms, outcome
from tests.checking.theirs.rows import ROWS, id_of

# Forms that draw anew, so that no formula gives their numbers: the check says only where.
UNNAMED = {"DROP-2:context", "DROP-4", "BA-7", "UNEMB-1"}
PAGE = Path(__file__).parents[2] / "docs/mistakes.md"
FIRST = set(forms(families=False))


@pytest.mark.parametrize(
    ("name", "family"),
    [
        pytest.param(*one, id="-".join(one), marks=[] if one in FIRST else [pytest.mark.slow])
        for one in forms()
    ],
)
def test_a_mistake_is_named_where_it_was_made(name: str, family: str) -> None:
    found = outcome(name, family)
    assert found.caught, found
    assert found.named == (name not in UNNAMED), found


def test_the_page_has_a_line_and_a_section_for_every_row() -> None:
    page = PAGE.read_text(encoding="utf-8")
    in_table = re.findall(r"^\| \[([A-Z]+-\d+)\]", page, re.MULTILINE)
    assert in_table == list(dict.fromkeys(map(id_of, ROWS)))
    assert {*in_table} <= {*re.findall(r"^### ([A-Z]+-\d+)$", page, re.MULTILINE)}

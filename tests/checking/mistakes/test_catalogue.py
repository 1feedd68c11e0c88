"""The catalogue is whole: every known row is there once, and reads well."""

import re
from collections import Counter

import pytest

from handformer.checking.mistakes import CATALOGUE, HARMLESS, Edit, Mistake, Shows

COUNTS = {
    "EMB": 5, "POS": 13, "ROPE": 10, "ALIBI": 3, "QKV": 8, "HEAD": 7, "SCORE": 2, "SCALE": 6,
    "MASK": 16, "SM": 6, "DROP": 4, "CTX": 2, "OUT": 2, "RES": 6, "NORM": 12, "FFN": 9, "FIN": 1,
    "UNEMB": 5, "LOSS": 11, "BL": 4, "BW": 6, "BA": 12, "BN": 12, "BF": 4, "BR": 2, "BE": 5,
    "ACC": 5, "CLIP": 5, "OPT": 11, "LR": 5, "KV": 9, "SAMP": 15, "TOK": 6, "LOAD": 4, "INIT": 3,
    "DUMP": 8,
}  # fmt: skip
IDS = [f"{part}-{number}" for part, count in COUNTS.items() for number in range(1, count + 1)]
# Mistakes of which every form draws anew, or has a shape or an order of its own.
WITHOUT_EDITS = {"BA-7", "DROP-4", "DUMP-1", "DUMP-7", "UNEMB-1"}
ROWS = [pytest.param(one, id=one.id) for one in CATALOGUE]
EVERY = [pytest.param(one, id=one.id) for one in (*CATALOGUE, *HARMLESS)]


def together(one: Edit | tuple[Edit, ...]) -> tuple[Edit, ...]:
    return one if isinstance(one, tuple) else (one,)


def test_every_row_is_there_once() -> None:
    assert Counter(one.id for one in CATALOGUE) == Counter(IDS)


@pytest.mark.parametrize("mistake", ROWS)
def test_it_reads_well(mistake: Mistake) -> None:
    for sentence in (mistake.wrong, mistake.cure):
        assert re.fullmatch(r"[A-Z0-9{`a-z].*[.?!]", sentence, re.DOTALL)
        assert "  " not in sentence
    text = mistake.wrong + mistake.cure
    says = [any(edit.says for edit in together(one)) for one in mistake.edits]
    assert all(says) or not re.search(r"(^|[ :]){}", text)
    assert not any(says) or "{}" in text


@pytest.mark.parametrize("mistake", EVERY)
def test_it_can_be_tried_or_says_why_not(mistake: Mistake) -> None:
    assert (mistake.shows is Shows.NOWHERE) == bool(mistake.why)
    assert bool(mistake.edits) != (mistake.shows is Shows.NOWHERE or mistake.id in WITHOUT_EDITS)

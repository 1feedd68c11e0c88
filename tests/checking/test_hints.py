"""What is said of a wrong value that no mistake explains: each sight, and what must not be taken
for it.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from handformer.checking.case import Case
from handformer.checking.checker import Checker
from handformer.checking.report import BAD
from handformer.checking.theirs import Theirs
from tests.tracing.small import traced

Array = NDArray[Any]
AT = "blocks.1.attention"
SCORES, ATTN, CONTEXT, OUT = (f"{AT}.{name}" for name in ("scores", "attn", "context", "out"))
PRE, MID, TABLE = "blocks.1.mlp.pre", "blocks.1.mid", "embedding.d_table"


@cache
def case() -> Case:
    return Case(traced("gpt2"))


def right(path: str) -> Array:
    """Our numbers, rounded as somebody else's are."""
    return case().trace[path].astype(np.float32)


def said(path: str, wrong: Array) -> tuple[str, ...]:
    """What is said of a dump in which one value is another one, and all others are right."""
    dump = {v.path: case().trace[v.path] for v in case().trace.manifest.values if v.kind != "lens"}
    dump = {p: a.astype(np.float32) if a.dtype.kind == "f" else a for p, a in dump.items()}
    known = case()[path].path
    dump[known] = np.asarray(wrong, np.float32)
    theirs = {
        p: Theirs(p, p, a, 2.0**-24 if a.dtype.kind == "f" else 0.0)
        for p, a in dump.items()
        if case().order(p) <= case().order(known)
    }
    (bad,) = [one for one in Checker(case(), theirs, None, ()).verdicts() if one.status in BAD]
    assert bad.path == known
    return bad.hints


def noise(path: str) -> Array:
    """Numbers that nothing explains."""
    return np.random.default_rng(3).normal(size=right(path).shape).astype(np.float32)


def each(letter: str, path: str) -> Array:
    """Numbers from 1 to 2 along an axis, such that they spread over the others."""
    axes, shape = case()[path].value.axes, right(path).shape
    axis = axes.index(letter)
    steps = np.linspace(1, 2, shape[axis], dtype=np.float32)
    return steps.reshape([-1 if one == axis else 1 for one in range(len(shape))])


SHOWN: dict[str, tuple[str, Callable[[], Array], str]] = {
    "a size": (SCORES, lambda: right(SCORES) * 2, "each number is 2 of what it should be"),
    "a root": (SCORES, lambda: right(SCORES) / np.sqrt(np.float32(12)), "1 / sqrt(d_model)"),
    "a ratio of sizes": (SCORES, lambda: right(SCORES) * np.float32(12 / 5), "d_model / "),
    "a sign": (OUT, lambda: -right(OUT), "which is a sign"),
    "a factor per head": (SCORES, lambda: right(SCORES) * each("h", SCORES), "factor for each h"),
    "a factor per row": (PRE, lambda: right(PRE) * (1 + abs(noise(PRE)[..., :1])), "along f"),
    "a bias": (OUT, lambda: right(OUT) + each("i", OUT), "one number too many for each i, added"),
    "a shift of rows": (OUT, lambda: right(OUT) + noise(OUT)[..., :1], "added to all along i"),
    "another value": (CONTEXT, lambda: right(f"{AT}.q"), f"it holds the numbers of {AT}.q"),
    "a place too far": (OUT, lambda: np.roll(right(OUT), 1, 1), "one place too far along t"),
    "a place too near": (OUT, lambda: np.roll(right(OUT), -1, 2), "one place too near along i"),
    "zeros": (OUT, lambda: 0 * right(OUT), "all of it is 0"),
    "float16": (OUT, lambda: right(OUT).astype(np.float16).astype(np.float32), "float16"),
    "above": (
        SCORES, lambda: right(SCORES) + np.triu(noise(SCORES), 1),
        "only entries above the diagonal",
    ),
    "one above": (
        SCORES, lambda: right(SCORES) + np.eye(5, k=1, dtype=np.float32) * noise(SCORES),
        "one place above the diagonal",
    ),
    "below": (
        SCORES, lambda: right(SCORES) + np.tril(noise(SCORES), -1),
        "only entries below the diagonal",
    ),
    "the diagonal": (
        SCORES, lambda: right(SCORES) + np.eye(5, dtype=np.float32) * noise(SCORES),
        "only entries on the diagonal",
    ),
    "the first row": (OUT, lambda: changed(OUT, np.s_[:, 0]), "only position 0 is wrong"),
    "all but one": (OUT, lambda: changed(OUT, np.s_[:, 1:]), "position 0 is right"),
    "one head": (SCORES, lambda: changed(SCORES, np.s_[:, 1]), "only head 1 is wrong"),
    "one of the batch": (OUT, lambda: changed(OUT, np.s_[1]), "only row of the batch 1 is wrong"),
    "NaN": (OUT, lambda: np.where(noise(OUT) > 1, np.nan, right(OUT)), "numbers are NaN"),
    "repeated tokens": (
        TABLE, lambda: right(TABLE) + noise(TABLE) * repeated()[:, None],
        "only the rows of tokens that occur more than once are wrong",
    ),
}  # fmt: skip


def changed(path: str, where: Any) -> Array:
    """Our numbers with others in one region."""
    found = right(path).copy()
    found[where] += noise(path)[where]
    return found


def repeated() -> Array:
    """Which tokens occur more than once."""
    ids, counts = np.unique(case().trace["tokens"], return_counts=True)
    found: Array = np.isin(np.arange(len(right(TABLE))), ids[counts > 1])
    return found


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_seen_is_said(name: str) -> None:
    path, wrong, sight = SHOWN[name]
    assert any(sight in hint for hint in said(path, wrong())), said(path, wrong())


@pytest.mark.parametrize(
    ("counts", "hint"),
    [((0, 1), "is missing"), ((2, 1), "counts twice"), ((1, -1), "has the wrong sign"),
     ((1, 3), "counts 3 times")],
)  # fmt: skip
def test_a_term_is_missing_or_counts_otherwise(counts: tuple[int, int], hint: str) -> None:
    left, around = counts
    made = left * right("blocks.1.x") + around * right("blocks.1.attention.out")
    (found,) = [one for one in said(MID, made) if one.startswith("the term ")]
    assert found.endswith(hint)


@pytest.mark.parametrize("path", [SCORES, OUT, PRE, MID])
def test_of_numbers_that_nothing_explains_nothing_is_said(path: str) -> None:
    assert said(path, right(path) + noise(path)) == ()


def test_a_factor_that_is_no_size_has_no_name() -> None:
    (hint,) = said(SCORES, right(SCORES) * np.float32(1.2345))
    assert hint == "each number is 1.235 of what it should be"


def test_the_right_numbers_in_other_places() -> None:
    """Turned by hand in a way that no layout is: pairs of channels exchanged."""
    order = np.random.default_rng(5).permutation(right(OUT).size)
    (hint, *_) = said(OUT, right(OUT).ravel()[order].reshape(right(OUT).shape))
    assert "stand in other places" in hint

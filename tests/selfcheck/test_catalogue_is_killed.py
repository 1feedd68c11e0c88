"""The mistakes that people make, made in our own formulas and in our own code, are all seen.

docs/kills.md holds what was found; it is made by `python tools/kills.py`.
"""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from handformer import ops
from handformer.axes import BoolArray
from handformer.checking.mistakes import CATALOGUE, Edit, Mistake
from handformer.ops import layer_norm, masks, softmax
from handformer.selfcheck.cases.invariants import ROUNDING, _padding
from handformer.selfcheck.cases.models import models
from handformer.selfcheck.ops import distance
from handformer.selfcheck.parts import VALUES
from tests.selfcheck import kills as tried
from tests.selfcheck.kills import Kills, kills
from tests.selfcheck.planted import InLayer, in_op
from tests.selfcheck.subjects import Subject, drawn, of_layers, of_ops
from tests.selfcheck.survivors import reason, unused

ROOT = Path(__file__).resolve().parents[2]


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tools_kills", ROOT / "tools/kills.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_every_mistake_is_seen_in_formulas_and_in_code() -> None:
    found = kills()
    survivors = found.survivors()
    assert [one for one in survivors if not reason(one)] == []
    assert unused(survivors) == []
    # What changes nothing in a formula changes nothing in the code; and the other way round.
    assert found.formula.keys() == found.code.keys()


@pytest.mark.slow
def test_most_of_the_catalogue_can_be_made() -> None:
    made = {one.id for one in kills().met}
    edits = {mistake.id for mistake in CATALOGUE if mistake.edits}
    assert made <= edits
    assert len(made) >= 0.9 * len(edits), edits - made


@pytest.mark.slow
def test_the_page_says_what_was_found() -> None:
    page = (ROOT / "docs/kills.md").read_text(encoding="utf-8")
    assert page == tool().page(kills()), "run python tools/kills.py"


def one(name: str) -> Subject:
    """The first case of an op or a layer."""
    every = (*of_ops(), *of_layers()) if name[0].isupper() else of_ops()
    return next(subject for subject in every if subject.name == name)


def test_what_is_right_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that changes nothing is met, and seen in neither way."""
    same = Mistake(
        "SAME", "", "", (Edit("y", "y[b,i] = y[b,i] * 1"), Edit("y", "y[b,j] = 2 * y[b,j]"))
    )
    monkeypatch.setattr(tried, "CATALOGUE", (same,))
    tried._candidates.cache_clear()
    found = Kills()
    tried._try(one("softmax"), found)
    tried._candidates.cache_clear()
    assert {made.number: made in found.formula for made in found.met} == {0: False, 1: True}
    assert found.formula.keys() == found.code.keys()


def test_an_op_that_returns_something_else_is_told() -> None:
    subject = one("layer_norm")
    for path, array in subject.ours.items():
        assert not in_op(subject, path, array)
        assert in_op(subject, path, array * (1 + 1e-9))
    assert layer_norm.forward.__module__ == layer_norm.__name__  # our own code is as it was


def test_a_layer_whose_op_returns_something_else_is_told() -> None:
    subject = next(s for s in of_layers() if s.name == "SingleHeadAttention")
    planted = InLayer(subject)
    seen = {}
    for path, array in subject.ours.items():
        if subject.case[path].formula is not None:
            assert not planted.sees(path, array)
            seen[path] = planted.sees(path, array + 1e-6)
    assert {seen[name] for name in ("scores", "attn", "context", "d_q")} == {"attention"}
    assert seen["out"] == seen["d_w_q"] == "linear"
    assert all(seen.values())
    assert softmax.forward.__module__ == softmax.__name__
    assert distance(subject.ours["attn"], subject.ours["attn"]) <= VALUES


def rows(valid: BoolArray, n_queries: int) -> BoolArray:
    """Padding hides queries, not keys (MASK-8), where there are as many."""
    right = masks.padding.forward(valid, n_queries)
    return right.swapaxes(-1, -2) if n_queries == valid.shape[-1] else right


def causal(valid: BoolArray, n_queries: int) -> BoolArray:
    """The memory's padding is forgotten, and its later places are hidden (MASK-14)."""
    right = masks.padding.forward(valid, n_queries)
    square = n_queries == valid.shape[-1]
    return right if square else np.tril(np.ones(right.shape, dtype=bool))


@pytest.mark.parametrize(("wrong", "family"), [(rows, "bert"), (causal, "transformer")])
def test_masks_made_wrongly_are_seen_by_what_padding_changes(wrong: Any, family: str) -> None:
    """Every value follows from such a mask rightly: only a row without its padding tells."""
    cases = models(np.random.default_rng(2))
    case = next(c for c in cases if c.model.config.family == family and not c.model.config.dropout)
    assert max(one.difference for one in _padding(case, drawn())) <= ROUNDING
    padding = ModuleType("padding")
    padding.forward = wrong  # type: ignore[attr-defined]
    mistaken, kinds = ModuleType("ops"), ModuleType("masks")
    vars(mistaken).update(vars(ops), masks=kinds)
    vars(kinds).update(vars(masks), padding=padding)
    found = _padding(replace(case, ops=mistaken), drawn())
    assert max(one.difference for one in found) > ROUNDING

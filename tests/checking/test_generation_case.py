"""Cached generation: the case is right, and each mistake is named where it is made."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer import tree
from handformer.checking.cases import generation
from handformer.checking.cases.generation import STEPS, WIDTH, generation_case
from handformer.checking.mistakes.generation import GENERATION
from handformer.errors import InputError
from handformer.models import Decoder, ModelConfig
from handformer.tracing.trace import Trace
from tests.checking.held import held, named
from tests.checking.theirs import generation as theirs

FORMS = tuple(STEPS)
# Llama shows all that needs no full store; the others what is particular to them.
AGAIN = {"gpt2": ("KV-1:stays 0", "KV-3", "KV-9"), "window": ("KV-1:one more", "KV-4:on reading")}
CALLS = [
    (form, row)
    for row in theirs.ROWS
    for form in theirs.ONLY.get(row, FORMS)
    if form == "llama" or row in AGAIN[form] or "llama" not in theirs.ONLY.get(row, FORMS)
]
# Their arrays are of other sizes there, which names nothing: it is named at the first that isn't.
NAMED = {"KV-3:only keys": "step_4.blocks.0.attention.context"}


@cache
def case(form: str) -> Trace:
    return generation_case(form)


def dump(form: str, *wrong: str) -> dict[str, Any]:
    """What somebody else computes of a form."""
    trace = case(form)
    weights = {v.path: trace[v.path] for v in trace.manifest.values if v.kind == "weight"}
    tokens = [trace[f"step_{number}.tokens"] for number in range(len(STEPS[form]))]
    width = WIDTH if form == "window" else None
    prompts = (0,) if form == "window" else (0, len(tokens) - 1)
    config = dict(trace.manifest.config or {})
    return theirs.run(config, weights, tokens, prompts, width, wrong)


def assert_near(found: Any, right: Any, path: str = "") -> None:
    """The same but for the order of sums.

    From the tokens to the logits there are about 150 additions in a row in each of two blocks, each
    good to 2**-53 of the largest entry.
    """
    largest = np.abs(right, where=np.isfinite(right), out=np.zeros(right.shape)).max()
    assert_allclose(found, right, rtol=0, atol=2 * 150 * 2.0**-53 * largest, err_msg=path)


@pytest.mark.parametrize("form", FORMS)
def test_somebody_else_computes_the_same(form: str) -> None:
    trace, found = case(form), dump(form)
    assert {v.path for v in trace.manifest.values if v.kind == "value"} <= found.keys()
    for path, array in found.items():
        assert_near(array, trace[path], path)


@pytest.mark.parametrize("form", ["llama", "gpt2"])
def test_the_steps_are_those_of_our_own_model(form: str) -> None:
    trace, past = case(form), None
    outline = Decoder.init(ModelConfig(**generation.SIZES[form]))
    model = tree.replace(outline, {path: trace[path] for path in tree.flatten(outline)})
    for number, step in enumerate(STEPS[form]):
        past = past if step.seen else None
        logits, past = model.extend(trace[f"step_{number}.tokens"], past)
        assert_near(logits, trace[f"step_{number}.logits"])
        for block, kept in enumerate(past.blocks):
            at = f"step_{number}.blocks.{block}.attention"
            assert_near(kept.k, trace[f"{at}.k_all"])
            assert_near(kept.v, trace[f"{at}.v_all"])
        assert_array_equal(trace[f"step_{number}.next"], logits[:, -1].argmax(axis=-1))


def test_a_case_is_a_file_like_any_trace(tmp_path: Path) -> None:
    case("window").save(tmp_path / "case.safetensors")
    opened = Trace.load(tmp_path / "case.safetensors")
    assert_array_equal(opened["step_4.logits"], case("window")["step_4.logits"])
    at = "step_1.blocks.1.attention"
    assert opened.entry(f"{at}.k_past").path == "step_0.blocks.1.attention.k_all"


def test_there_is_no_other_form() -> None:
    with pytest.raises(InputError, match="form 'bert': expected one of llama, window, gpt2"):
        generation_case("bert")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_what_is_right_is_found_right(form: str, dtype: Any) -> None:
    report = held(case(form), dump(form), dtype)
    assert report.fine, named(report)
    assert report.compared > 250


@pytest.mark.parametrize(("form", "row"), CALLS)
def test_a_mistake_is_named_where_it_is_made(form: str, row: str) -> None:
    first, others = theirs.ROWS[row]
    found = named(held(case(form), dump(form, row)))
    assert next(iter(found)) == first
    at, wanted = NAMED.get(row, first), row.partition(":")[0]
    if at is not None:
        assert {wanted, *others} & {*found[at]}
    assert {name for names in found.values() for name in names} <= {wanted, *others}, found


@pytest.mark.parametrize(
    ("row", "at"),
    [
        ("KV-1:stays 0", "step_1.positions"),
        ("KV-1:one more", "step_1.positions"),
        ("KV-4:unseen", "step_1.blocks.0.attention.scores"),
        ("MASK-12", "step_1.mask"),
    ],
)
def test_a_mistake_is_named_in_what_was_not_written(row: str, at: str) -> None:
    kept = re.compile(r".*attention\.(q|k|v|context|out)|.*logits|.*head\.out")
    written = {path: array for path, array in dump("llama", row).items() if kept.fullmatch(path)}
    first = held(case("llama"), written).first
    assert first is not None
    assert (first.path.rpartition(".")[2], first.path.partition(".")[0]) == (
        "context", at.partition(".")[0],
    )  # fmt: skip
    assert row.partition(":")[0] in [cause.id for cause in first.causes if cause.at == at]


def test_two_mistakes_are_both_found() -> None:
    found = named(held(case("llama"), dump("llama", "KV-4:unseen", "KV-1:one more")))
    assert found["step_1.positions"] == ("KV-1",)
    assert found["step_1.blocks.0.attention.scores"] == ("KV-4",)


def test_every_row_is_there() -> None:
    rows = {f"KV-{number}" for number in range(1, 10)} | {"MASK-12"}
    made = {row.partition(":")[0] for row in theirs.ROWS}
    assert made | theirs.CANNOT.keys() == rows
    assert rows <= {mistake.id for mistake in GENERATION}

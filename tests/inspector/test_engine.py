"""The page explains a number as Python does: same terms, same parents, same users, same bounds."""

import base64
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handformer as hand
from handformer.inspector.data import document, to_json
from handformer.tracing.explain import explain
from handformer.tracing.trace import Trace
from tests.inspector.models import made
from tests.tracing.small import FAMILIES, traced

EACH = 100
# Values are the same sums in the same order; only functions may differ, in their last digit.
CLOSE = 1e-12
BOUND = 1e-6

SHELL = """
<script type="application/json" id="boot">{boot}</script>
<script type="module">
  import {{ openSource }} from "./source.js";
  globalThis.opened = openSource().then((source) => source.trace("1"));
</script>
"""
ASK = """async (asked) => {
  const trace = await globalThis.opened;
  const answers = [];
  for (const [path, place, terms] of asked) {
    answers.push(await trace.explain(path, place, { terms }).catch((error) => error.message));
  }
  return answers;
}"""


def held(trace: Trace, folder: Path) -> str:
    """The body of a page that holds a trace."""
    path = folder / "trace.safetensors"
    trace.save(path)
    shown = document(trace, path, number="1", title="a trace")
    shown["data"] = base64.b64encode(path.read_bytes()).decode("ascii")
    return SHELL.format(boot=to_json({"about": {}, "traces": [shown]}).decode("ascii"))


def asked(trace: Trace, count: int, seed: int) -> list[tuple[str, list[int], int]]:
    """Random entries of random values, each with a number of terms."""
    rng = random.Random(seed)
    values = [value for value in trace.manifest.values if value.kept and 0 not in value.shape]
    found = []
    for value in rng.choices(values, k=count):
        place = [rng.randrange(size) for size in value.shape]
        found.append((value.path, place, rng.choice([1, 3, 8])))
    return found


def require_same(ours: Any, theirs: Any, where: str, scale: float) -> None:
    """Trees of the same form, the same words, and numbers that differ by what functions may."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key, part in theirs.items():
            require_same(ours[key], part, f"{where}.{key}", scale)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for at, part in enumerate(theirs):
            require_same(ours[at], part, f"{where}[{at}]", scale)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=CLOSE, abs=CLOSE * scale), where
    else:
        assert ours == theirs, where


def require_same_explanation(ours: dict[str, Any], theirs: dict[str, Any], where: str) -> None:
    assert isinstance(ours, dict), f"{where}: {ours}"
    ours, theirs = dict(ours), dict(theirs)
    if theirs["rounding"] is not None:
        bound = theirs.pop("rounding")
        assert ours.pop("rounding") == pytest.approx(bound, rel=BOUND, abs=1e-300), where
    # A sum is as exact as its terms are large; what is nearly 0 can be a difference of them.
    size = sum(abs(float(term["value"])) for term in theirs["terms"])
    for one in (ours, theirs):
        del one["difference"]  # a difference of what follows, of which only rounding is left
    require_same(ours, theirs, where, size)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("family", FAMILIES)
def test_it_explains_as_python_does(
    blank: Callable[..., Any], tmp_path: Path, family: str, dtype: str
) -> None:
    trace = traced(family, dtype)
    cases = asked(trace, EACH, seed=FAMILIES.index(family))
    answers = blank(held(trace, tmp_path)).evaluate(ASK, cases)
    for (path, place, terms), answer in zip(cases, answers, strict=True):
        theirs = json.loads(to_json(explain(trace, path, place, terms=terms).as_json()))
        require_same_explanation(answer, theirs, f"{path}{place} in {terms} terms")
        stored = trace[path][tuple(place)]
        assert answer["stored"] == stored, path
        if answer["rounding"] is not None:
            assert abs(answer["value"] - float(stored)) <= answer["rounding"], path


def test_it_names_tokens_as_python_does(blank: Callable[..., Any], tmp_path: Path) -> None:
    trace = hand.trace(made("gpt2"), "The cat")
    cases = asked(trace, EACH, seed=5)
    cases += [(value.path, [0] * len(value.shape), 8) for value in trace.manifest.values]
    answers = blank(held(trace, tmp_path)).evaluate(ASK, cases)
    tokens = 0
    for (path, place, terms), answer in zip(cases, answers, strict=True):
        theirs = json.loads(to_json(explain(trace, path, place, terms=terms).as_json()))
        require_same_explanation(answer, theirs, f"{path}{place}")
        tokens += len(answer["tokens"]) + sum("token" in term for term in answer["terms"])
    assert tokens > EACH


@pytest.mark.parametrize(
    ("cut", "path", "place", "said"),
    [
        ({"only": "blocks.0.attention.scores"}, "blocks.0.attention.scores", [0, 0, 0, 0],
         "blocks.0.attention.scores can't be explained: it needs blocks.0.attention.q"),
        ({"weights": False}, "blocks.0.attention.w_q", [0, 0],
         "blocks.0.attention.w_q isn't in this trace"),
        ({"positions": [1]}, "embedding.table", [99, 0], "there is no place [99,0]"),
        ({}, "blocks.0.nothing", [], "there is no value blocks.0.nothing"),
    ],
)  # fmt: skip
def test_it_says_what_is_missing(
    blank: Callable[..., Any],
    tmp_path: Path,
    cut: dict[str, Any],
    path: str,
    place: list[int],
    said: str,
) -> None:
    trace = hand.trace(made("gpt2"), "The cat", **cut)
    (answer,) = blank(held(trace, tmp_path)).evaluate(ASK, [(path, place, 8)])
    assert said in answer


def test_a_trace_that_lacks_values_explains_the_others(
    blank: Callable[..., Any], tmp_path: Path
) -> None:
    trace = hand.trace(made("gpt2"), "The cat", only=["blocks.1.*", "tokens"])
    cases = [case for case in asked(trace, EACH, seed=2) if trace.entry(case[0]).scope]
    answers = blank(held(trace, tmp_path)).evaluate(ASK, cases)
    explained = 0
    for (path, place, terms), answer in zip(cases, answers, strict=True):
        if isinstance(answer, str):
            assert "can't be explained" in answer
            with pytest.raises(hand.InputError, match="can't be explained"):
                explain(trace, path, place, terms=terms)
        else:
            theirs = explain(trace, path, place, terms=terms).as_json()
            require_same_explanation(answer, json.loads(to_json(theirs)), path)
            explained += 1
    assert explained > EACH // 4


def test_a_sum_over_a_vocabulary_is_explained_whole(
    blank: Callable[..., Any], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    config = hand.ModelConfig(vocab_size=49_152, d_model=8, n_heads=1, n_layers=1, context=4)
    trace = hand.trace(hand.Decoder.init(config), tokens=rng.integers(0, 49_152, 4).tolist())
    tab = blank(held(trace, tmp_path))
    case = ("head.d_x", [0, 2, 5], 8)
    (answer,) = tab.evaluate(ASK, [case])
    theirs = explain(trace, *case[:2], terms=8)
    require_same_explanation(answer, json.loads(to_json(theirs.as_json())), "head.d_x")
    assert answer["rest"]["count"] == 49_152 - 8

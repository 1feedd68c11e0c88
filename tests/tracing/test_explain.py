"""An explanation adds up to the stored number; it names what it comes from, and where it goes."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import handformer as hand
from handformer.errors import InputError
from handformer.formula.render import formula_text, plain
from handformer.tracing.cut import Cut
from handformer.tracing.explain import explain, follow
from handformer.tracing.explanation import Explanation
from handformer.tracing.show import FORMATS
from handformer.tracing.trace import Trace
from tests.inspector.models import made
from tests.tracing.small import FAMILIES, TOKENS, model, traced

PER_FAMILY = 75  # four families: 300 entries
CLOSE = 1e-12


def entries(trace: Trace, count: int, seed: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Random entries of random values that have a formula, of both directions."""
    rng = np.random.default_rng(seed)
    values = [v for v in trace.manifest.values if v.scope is not None]
    for number in rng.integers(len(values), size=count):
        yield values[number].path, tuple(int(rng.integers(n)) for n in values[number].shape)


def summed(told: Explanation) -> float:
    return sum(term.value for term in told.terms) + (told.rest.value if told.rest else 0.0)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_explanation_adds_up_to_the_stored_number(family: str) -> None:
    trace, backward = traced(family), 0
    for path, place in entries(trace, PER_FAMILY, seed=FAMILIES.index(family)):
        told = explain(trace, path, place, terms=1 + len(path) % 8)
        stored = trace[path][place]
        assert told.stored == stored
        size = max(1.0, abs(float(stored)))
        assert abs(told.value - float(stored)) <= CLOSE * size, told
        assert abs(summed(told) - float(stored)) <= CLOSE * size, told
        assert abs(told.difference) <= (told.rounding or 0.0), told
        assert sum(term.share for term in told.terms) <= 1 + CLOSE
        backward += told.formula is not None and told.formula.backward
    assert PER_FAMILY / 4 < backward < PER_FAMILY


@pytest.mark.parametrize("ops", ["ops", "fast"])
@pytest.mark.parametrize("family", FAMILIES)
def test_in_float32_rounding_explains_the_difference(family: str, ops: str) -> None:
    trace = traced(family, "float32", ops)
    assert trace["loss.d_logits"].dtype == np.float32
    differs = 0
    for path, place in entries(trace, PER_FAMILY, seed=10 + FAMILIES.index(family)):
        told = explain(trace, path, place)
        assert told.rounding is not None
        assert abs(told.difference) <= told.rounding, told
        assert summed(told) == pytest.approx(told.value, rel=CLOSE, abs=CLOSE)
        differs += told.difference != 0
    assert differs > PER_FAMILY / 4


def test_a_wrong_number_is_more_than_rounding() -> None:
    trace = traced("gpt2", "float32")
    wrong = Trace(trace.manifest, _Changed(trace, "blocks.0.attention.scores"))
    told = explain(wrong, "blocks.0.attention.scores", (0, 1, 3, 2))
    assert abs(told.difference) > 10 * (told.rounding or 0.0)


class _Changed(dict[str, NDArray[Any]]):
    """The arrays of a trace, one of them a hundredth too large."""

    def __init__(self, trace: Trace, path: str) -> None:
        super().__init__({one: trace[one] for one in trace})
        self[path] = self[path] * 1.01


def test_the_worked_example() -> None:
    trace = traced("gpt2")
    q, k = (trace[f"blocks.0.attention.{name}"] for name in "qk")
    told = explain(trace, "blocks.0.attention.scores", (0, 1, 3, 2), terms=2)
    products = q[0, 1, 3] * k[0, 1, 2] / 2
    order = np.argsort(-np.abs(products))
    assert told.formula is not None
    assert told.symbols is not None
    assert told.numbers is not None
    assert formula_text(told.formula) == (
        "scores[b,h,t,s] = sum(c, q[b,h,t,c] * k[b,h // group,s,c]) / sqrt(d_k)"
    )
    assert told.value == pytest.approx(products.sum(), rel=1e-14)
    first = int(order[0])
    (term, other) = told.terms
    assert term.text == f"q[0,1,3,{first}] * k[0,1,2,{first}] / sqrt(d_k)"
    assert term.value == pytest.approx(products[first], rel=1e-14)
    assert term.share == pytest.approx(abs(products[first]) / np.abs(products).sum())
    assert term.parents == (
        ("blocks.0.attention.q", (0, 1, 3, first)), ("blocks.0.attention.k", (0, 1, 2, first)),
    )  # fmt: skip
    assert told.rest is not None
    assert told.rest.count == 2
    assert told.rest.value == pytest.approx(products[order[2:]].sum())
    named = {(one.path, one.place): one.value for one in told.parents}
    assert named == {at: trace[at[0]][at[1]] for one in (term, other) for at in one.parents}
    assert "sqrt(4)" in plain(told.numbers)
    # A later key than the query is hidden from it; an earlier one changes the whole row.
    assert [(one.path, one.place) for one in told.users] == [
        ("blocks.0.attention.attn", (0, 1, 3, s)) for s in range(4)
    ]


def test_parents_stand_under_the_paths_where_they_are_made() -> None:
    trace = traced("gpt2")
    told = explain(trace, "blocks.0.attention.d_w_q", (2, 5))
    assert {one.path for one in told.parents} == {
        "blocks.0.norm_1.out", "blocks.0.attention.d_q",
    }  # fmt: skip
    also = explain(trace, "blocks.0.attention.x", (0, 1, 2))
    assert also.path == "blocks.0.norm_1.out"
    assert also == explain(trace, "blocks.0.norm_1.out", (0, 1, 2))
    assert explain(trace, "blocks.0.attn.hook_pattern", (0, 1, 3, 2)).path.endswith(".attn")


def test_an_abbreviation_s_own_numbers_are_parents() -> None:
    trace = traced("gpt2")
    told = explain(trace, "blocks.0.attention.attn", (0, 1, 2, 1))
    assert [(one.path, one.place) for one in told.parents] == [
        ("blocks.0.attention.scores", (0, 1, 2, 1)), ("blocks.0.attention.scores", (0, 1, 2, 0)),
        ("blocks.0.attention.scores", (0, 1, 2, 2)), ("blocks.0.attention.mask", (0, 1, 2, 1)),
    ]  # fmt: skip
    assert [one.name for one in told.abbreviations] == ["top", "total"]
    assert [term.value for term in told.terms] == [told.value]  # no sum: one term, the whole


def test_a_weight_s_gradient_names_the_tokens_that_it_came_from() -> None:
    trace = hand.trace(made("gpt2"), ["The cat", "cat"], dtype=np.float64)
    text = trace.manifest.text
    assert text is not None
    told = explain(trace, "blocks.0.mlp.d_w_up", (3, 5), terms=20)
    x, d_pre = trace["blocks.0.mlp.x"][..., 3], trace["blocks.0.mlp.d_pre"][..., 5]
    assert len(told.terms) > 5
    assert summed(told) == pytest.approx((x * d_pre).sum(), rel=1e-12)
    for term in told.terms:
        (_, (row, at, _)), _ = term.parents
        assert term.token == text.tokens[row][at]
        assert term.value == pytest.approx((x * d_pre)[row, at])
    lookup = explain(trace, "embedding.d_table_lookup", (trace["tokens"][1, 0], 2))
    assert {term.token for term in lookup.terms} == {"c"}
    (words,) = [trace.manifest.vocabulary]
    assert words is not None
    d_x = explain(trace, "head.d_x", (0, 2, 3))
    for term in d_x.terms:
        assert term.token == words[term.parents[0][1][2]]
    assert told.tokens == {}
    assert explain(trace, "loss.probs", (0, 2, 1)).tokens == {"t": "e", "n": words[1]}


def test_the_tokens_of_a_source_are_its_own() -> None:
    trace = hand.trace(made("transformer"), "abc", targets="cb", dtype=np.float64)
    text = trace.manifest.text
    assert text is not None
    assert text.source is not None
    across = explain(trace, "decoder.0.cross.context", (0, 1, 1, 2))
    assert {term.token for term in across.terms} == {*text.source[0]}
    own = explain(trace, "decoder.0.attention.context", (0, 1, 1, 2))
    assert {term.token for term in own.terms} == {*text.tokens[0][:2]}


def test_a_place_that_many_use_says_how_many_it_does_not_name() -> None:
    small = model("gpt2", context=100)
    trace = hand.trace(small, tokens=[[3] * 90 + [1, 2]])
    told = explain(trace, "embedding.table", (3, 0))
    assert [one.place for one in told.users if one.path == "embedding.out"] == [
        (0, t, 0) for t in range(64)
    ]
    assert told.more_users == 26
    assert told.as_json()["more_users"] == 26
    assert "and 80 more" in repr(told)


def test_what_is_given_from_outside_has_only_users() -> None:
    trace = traced("gpt2")
    told = explain(trace, "tokens", (0, 1))
    assert (told.formula, told.stored, told.terms, told.parents) == (None, 2, (), ())
    assert {one.path for one in told.users} == {"embedding.out", "embedding.d_table_lookup"}
    weight = explain(trace, "blocks.0.attention.w_q", (2, 5))
    assert [(one.path, one.place) for one in weight.users] == [
        ("blocks.0.attention.q", (None, 1, None, 1)),
        ("blocks.0.attention.d_x_q", (None, None, 2)),
    ]


def test_parents_are_followed_and_each_is_told_once() -> None:
    trace = traced("gpt2")
    told = follow(trace, "blocks.0.mid", (0, 1, 2), terms=2, depth=2)
    names = [(one.path, one.place) for one in below(told)]
    assert len(names) == len({*names}) > 5
    assert [(one.path, one.place) for one in told.below] == [
        (one.path, one.place) for one in told.parents
    ]
    assert all(not one.below for first in told.below for one in first.below)
    assert follow(trace, "blocks.0.mid", (0, 1, 2)).below == ()
    shown = told.as_json()["below"]
    assert [one["path"] for one in shown] == [one.path for one in told.below]


def below(told: Explanation) -> Iterator[Explanation]:
    yield told
    for one in told.below:
        yield from below(one)


@pytest.mark.parametrize("family", FAMILIES)
def test_json_knows_every_number_of_it(family: str) -> None:
    trace = traced(family, "float32")
    for path, place in entries(trace, 10, seed=3):
        told = explain(trace, path, place)
        read = json.loads(json.dumps(told.as_json(), allow_nan=False))
        assert read["value"] == told.value
        assert read["stored"] == trace[path][place]
        assert (read["path"], read["place"]) == (told.path, list(place))
        assert [term["value"] for term in read["terms"]] == [term.value for term in told.terms]
        assert read["users"] == [
            {"path": one.path, "place": list(one.place)} for one in told.users
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "place", "said"),
    [
        ("blocks.0.attention.scoers", (0,), "did you mean blocks.0.attention.scores"),
        ("scores", (0, 0), "did you mean blocks.0.attention.scores or blocks.1.attention.scores?"),
        ("blocks.0.attention.scores", (0, 1), "was given 2 indices: expected 4 for [b,h,t,s]"),
        ("loss.loss", (0,), "was given 1 indices: expected none: it has no axes"),
        ("blocks.0.attention.scores", (0, 1, 3, 5),
         "scores[0,1,3,5]: s = 5 isn't there: expected 0 to 4"),
        ("tokens", (0, -1), "tokens[0,-1]: t = -1 isn't there"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told_in_one_line(
    path: str, place: tuple[int, ...], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        explain(traced("gpt2"), path, place)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_a_trace_was_written_without_is_told_too() -> None:
    part = hand.trace(model("gpt2"), tokens=TOKENS, only="blocks.0.attention.scores")
    with pytest.raises(InputError, match=r"it needs blocks\.0\.attention\.q, and the trace was"):
        explain(part, "blocks.0.attention.scores", (0, 0, 0, 0))
    with pytest.raises(InputError, match="q isn't in this trace"):
        explain(part, "blocks.0.attention.q", (0, 0, 0, 0))
    some = hand.trace(model("gpt2"), tokens=TOKENS, positions=[1, 2])
    with pytest.raises(InputError, match=r"only some positions of .*; trace again without"):
        explain(some, "blocks.0.attention.d_w_q", (0, 0))
    with pytest.raises(InputError, match="0 terms: expected at least one"):
        explain(part, "blocks.0.attention.scores", (0, 0, 0, 0), terms=0)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("scores[b,h,t,s] = q[b,h,t,s + 99]", "there is no place"),
        ("scores[b,h,t,s] = q[b,h,t]", "has the shape"),
        ("scores[b,h,t,s] = nothing[b,h,t]", "unknown name nothing"),
        ("scores[b,h,t,s] = q[b,h,t,1 / (s - s)]", "cannot convert"),
        ("scores[b,h,t,s] = far[b,h,t,s]\nfar[b,h,t,s] := far[b,h,t,s]", "needed for itself"),
        ("other[b,h,t,s] = q[b,h,t,s]", "unknown formula scores"),
    ],
)
def test_a_formula_that_anybody_wrote_is_one_line_at_worst(formula: str, said: str) -> None:
    trace = traced("gpt2")
    number = next(p.sheet for p in trace.manifest.scopes if p.path == "blocks.0.attention")
    sheets = list(trace.manifest.sheets)
    sheets[number] = formula
    manifest = trace.manifest.model_copy(update={"sheets": tuple(sheets)})
    odd = Trace(manifest, {path: trace[path] for path in trace})
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        explain(odd, "blocks.0.attention.scores", (0, 1, 3, 2))
    assert "\n" not in str(caught.value)


def test_it_is_there_for_a_trace_s_own_users() -> None:
    trace = traced("llama")
    told = trace.explain("blocks.1.attention.d_scores", 0, 1, 3, 2, terms=3)
    assert told == explain(trace, "blocks.1.attention.d_scores", (0, 1, 3, 2), terms=3)
    assert repr(told).splitlines()[0] == "blocks.1.attention.d_scores[0,1,3,2]"


@pytest.mark.parametrize("form", FORMATS)
def test_what_has_no_formula_says_why(form: str) -> None:
    trace = traced("gpt2")
    cut = Cut(positions=(0,)).of(trace)
    for told, says in (
        (trace.explain("lens.probs", 0, 0, 0, 0), "last norm and head"),
        (trace.explain("embedding.table", 0, 0), "given from outside"),
        (cut.explain("blocks.0.out", 0, 0, 0), "only some positions were kept"),
    ):
        shown = FORMATS[form](told)
        assert form == "json" or says in html.unescape(shown)

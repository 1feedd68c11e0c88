"""From logits to a token as a case: each set-up is a scope, its formulas those of `sampling`.

    top_p.logits        what the model says: given
    top_p.probs         their softmax
    top_p.kept          which entries are left
    top_p.left_probs    what tokens are drawn from

The logits are such that rules which differ keep different sets: masses with which a sum is exactly
p, equals at the k-th place, entries of both signs. What stands in the place of an entry that was
taken away isn't asked for: -inf, and any number whose exponential is 0, are the same.
"""

from functools import reduce
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from handformer.checking.cases.worked_out import worked_out
from handformer.formula import Formula, Sheet
from handformer.formula.expression import Call, Operation
from handformer.generate.sampling import FORMULAS
from handformer.tracing.scopes import Scope
from handformer.tracing.seen import Found
from handformer.tracing.trace import Trace

Given = tuple[Sheet, dict[str, ArrayLike], dict[str, float]]

_SOFTMAX = FORMULAS.only("top", "total", "probs")
_LEFT = _SOFTMAX.rename(logits="left", probs="left_probs", top="left_top", total="left_total")


def sampling_case() -> Trace:
    """Every part that acts on logits, several of them in a row, and the draw."""
    placed, given, values = [], [], []
    letters: dict[str, tuple[str, ...]] = {}
    for name, (sheet, arrays, scalars) in _set_ups().items():
        tables = {what: _table(array) for what, array in arrays.items()}
        entries = next(iter(tables.values())).shape[-1]
        placed.append(Scope(name, "Sampling", sheet, {"vocab_size": entries, **scalars}))
        given += [Found("input", (f"{name}.{what}",), table) for what, table in tables.items()]
        letters |= {f"{name}.{what}": _letters(what, array) for what, array in tables.items()}
        values += [(f"{name}.{formula.name}",) for formula in sheet if formula.kept]
    return worked_out("sampling", placed, given, values, model="Sampling", letters=letters)


def _set_ups() -> dict[str, Given]:
    steep, flat = [log(p) for p in (0.5, 0.35, 0.1, 0.05)], [0.25, -1.5, 0.75, 0.5]
    gentle = [log(p) for p in (0.45, 0.3, 0.2, 0.05)]
    equal = [1.5, 1.5, 1.5, 1.5]  # masses of 1/4, exactly
    both = [[2.0, -1.0, 0.5, -0.25, 1.25], [-2.0, 1.0, -0.5, 0.75, -3.0]]
    tied = [[1.0, 2.0, 2.0, 2.0, 2.0, -1.0], [0.5, -2.0, -2.0, -2.0, 3.0, 3.0]]
    five = np.linspace(-2, 2, 2 * 5 * 4).reshape(2, 5, 4)[:, ::-1] ** 3
    k, p = _cut("top_k"), _cut("top_p")
    return {
        "last": (
            Sheet.parse("""
                last[b]    := max(t, where(valid[b,t], t, 0))
                logits[b,n] = all_logits[b,last[b],n]
            """),
            {"all_logits": five, "valid": np.arange(5) < [[5], [3]]},
            {"n_queries": 5},
        ),
        "entries": (
            Sheet.parse("left[b,n] := where(n < n_entries, logits[b,n], -inf)") + _LEFT,
            {"logits": [[*both[0], 2.5, 0.25], [*both[1], 1.5, -0.75]]},
            {"n_entries": 5},
        ),
        "penalty": (
            FORMULAS.only("repetition_penalty").rename(repetition_penalty="penalised"),
            {"logits": both, "seen": [[True, True, False, True, False], [True] * 3 + [False] * 2]},
            {"penalty": 1.5},
        ),
        "temperature": (_warmed(), {"logits": both}, {"value": 0.5}),
        "greedy": (
            FORMULAS.only("rank") + _kept("greedy") + _left("logits"),
            {"logits": tied},
            {"value": 0},
        ),
        "top_k": (k, {"logits": both}, {"k": 2}),
        "top_k_equals": (k, {"logits": tied}, {"k": 2}),
        "top_p": (p, {"logits": [steep, flat]}, {"mass": 0.9}),
        "top_p_equals": (p, {"logits": [equal, flat]}, {"mass": 0.5}),
        "top_p_whole": (p, {"logits": [steep, [30.0, -9.0, -8.0, -7.0]]}, {"mass": 1}),
        "min_p": (_cut("min_p"), {"logits": [steep, flat]}, {"share": 0.15}),
        "temperature_top_p": (
            _warmed() + FORMULAS.only("total", "before") + _kept("top_p") + _left("temperature"),
            {"logits": [gentle, flat]},
            {"value": 0.5, "mass": 0.8},
        ),
        "top_k_top_p": (
            FORMULAS.only("top", "total", "rank")
            + Sheet.parse("cut[b,n] := where(rank[b,n] < k, logits[b,n], -inf)")
            + _SOFTMAX.rename(logits="cut", top="cut_top", total="cut_total")
            + FORMULAS.only("before").rename(logits="probs")
            + _kept("top_p", "top_k")
            + _left("cut"),
            {"logits": [[log(p) for p in (0.45, 0.3, 0.15, 0.07, 0.03)], [*flat, -1.0]]},
            {"k": 2, "mass": 0.55},
        ),
        "draw": (
            _SOFTMAX + FORMULAS.only("up_to", "draw").rename(draw="token"),
            {"logits": [[1.0, 2.0, 0.5, 3.0], [0.25, 0.5, 2.0, 1.0]], "chance": [0.3, 0.7]},
            {},
        ),
    }


def _cut(name: str) -> Sheet:
    """A part that takes entries away by their rank or probability."""
    return _SOFTMAX + FORMULAS.only("rank", "before") + _kept(name) + _left("logits")


def _kept(*names: str) -> Sheet:
    """The condition under which all of these parts keep an entry."""
    bodies = [FORMULAS[name].body for name in names]
    conditions = [body.arguments[0] for body in bodies if isinstance(body, Call)]
    whole = reduce(lambda one, other: Operation("and", one, other), conditions)
    return Sheet((Formula.build("kept", FORMULAS[names[0]].axes, whole),))


def _left(of: str) -> Sheet:
    """What tokens are drawn from, when entries of `of` were taken away."""
    return Sheet.parse(f"left[b,n] := where(kept[b,n], {of}[b,n], -inf)") + _LEFT


def _warmed() -> Sheet:
    """The probabilities after the temperature."""
    warm = FORMULAS["temperature"]
    scaled = Formula.build(warm.name, warm.axes, warm.body, kept=False)
    softmax = _SOFTMAX.rename(logits="temperature", top="warm_top", total="warm_total")
    return FORMULAS.only("top") + Sheet((scaled,)) + softmax


def _table(array: ArrayLike) -> NDArray[Any]:
    table = np.asarray(array)
    return table.astype(np.float32).astype(np.float64) if table.dtype.kind == "f" else table


def _letters(what: str, table: NDArray[Any]) -> tuple[str, ...]:
    return tuple("bt" if what == "valid" else {1: "b", 2: "bn", 3: "btn"}[table.ndim])

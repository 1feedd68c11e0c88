"""Steps whose parts are all in the dump: each is held against its own formula.

What a formula doesn't tell (which activation, which scale) isn't asked; where a model may have a
bias that the dump hasn't, a difference that is one bias for all rows is none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.expected import expected, for_heads
from handformer.checking.unreferenced.judged import judged
from handformer.checking.unreferenced.seen import Given, Seen
from handformer.formula import Sheet

_STORED_LESS_ONE = "NORM-6"


@dataclass(frozen=True)
class Step:
    """One formula, with what is to stand in its scope; and what else it might have been.

    instead
        by the rows of the catalogue that would do it, other right sides
    bias
        the array that a model may lack
    not_with
        names that make it another step
    """

    formula: str
    means: str
    instead: Mapping[str, str]
    bias: str = ""
    not_with: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The value that it states."""
        return self.formula.partition("[")[0]


def _heads(name: str, weight: str, bias: str) -> Step:
    own = f"{name}[b,h,t,c]"
    return Step(
        f"{own} = sum(i, x[b,t,i] * {weight}[i,h*d_k + c]) + {bias}[h*d_k + c]",
        f"it isn't x {weight}, cut into heads along its width",
        {
            "QKV-6": f"sum(i, x[b,t,i] * {weight}[h*d_k + c,i]) + {bias}[h*d_k + c]",
            "HEAD-7": f"sum(i, x[b,t,i] * {weight}[i,c*n_heads + h]) + {bias}[c*n_heads + h]",
        },
        bias,
    )


STEPS = (
    _heads("q", "w_q", "b_q"), _heads("k", "w_k", "b_k"), _heads("v", "w_v", "b_v"),
    Step(
        "context[b,t,c] = sum(s, weights[b,t,s] * values[b,s,c])", "it isn't attn v",
        {
            "CTX-1": "sum(s, weights[b,t,s] * keys[b,s,c])",
            "CTX-1 ": "sum(s, weights[b,s,t] * values[b,s,c])",
        },
    ),
    Step(
        "out[b,t,j] = sum(h, c, context[b,h,t,c] * w_o[h*d_k + c,j]) + b_o[j]",
        "it isn't the merged heads times w_o",
        {"OUT-2": "sum(h, c, context[b,h,t,c] * w_o[j,h*d_k + c]) + b_o[j]"},
        "b_o",
    ),
    Step(
        "pre[b,f] = sum(i, x[b,i] * w_up[i,f]) + b_up[f]", "it isn't x w_up",
        {"LOAD-1": "sum(i, x[b,i] * w_up[f,i]) + b_up[f]"}, "b_up",
    ),
    Step(
        "out[b,i] = sum(f, post[b,f] * w_down[f,i]) + b_down[i]", "it isn't post w_down",
        {"LOAD-1": "sum(f, post[b,f] * w_down[i,f]) + b_down[i]"}, "b_down",
    ),
    Step("gate[b,f] = sum(i, x[b,i] * w_gate[i,f])", "it isn't x w_gate",
         {"FFN-4": "sum(i, x[b,i] * w_up[i,f])"}),
    Step("up[b,f] = sum(i, x[b,i] * w_up[i,f])", "it isn't x w_up",
         {"FFN-4": "sum(i, x[b,i] * w_gate[i,f])"}),
    Step("post[b] = act[b] * up[b]", "it isn't act times up", {"FFN-6": "act[b]"}),
    Step("out[b,n] = sum(i, x[b,i] * w[i,n]) + bias[n]", "it isn't x w",
         {"LOAD-1": "sum(i, x[b,i] * w[n,i]) + bias[n]"}, "bias", ("pre",)),
    Step(
        "out[b,i] = x_hat[b,i] * gamma[i] + beta[i]", "it isn't x_hat gamma + beta",
        {"NORM-10": "x_hat[b,i]", _STORED_LESS_ONE: "x_hat[b,i] * (1 + gamma[i]) + beta[i]"},
        "beta",
    ),
    Step("x_hat[b,i] = (x[b,i] - mean[b]) * rstd[b]", "it isn't (x - mean) rstd",
         {"NORM-5": "(x[b,i] - mean[b]) / rstd[b]"}),
    Step("x_hat[b,i] = x[b,i] * rrms[b]", "it isn't x rrms", {"NORM-5": "x[b,i] / rrms[b]"}),
    Step(
        "mid[b,i] = x[b,i] + dropout_1.out[b,i]", "it isn't the block's input plus attention's out",
        {
            "RES-1": "norm_1.out[b,i] + dropout_1.out[b,i]", "RES-2": "2 * dropout_1.out[b,i]",
            "RES-3": "dropout_1.out[b,i]",
        },
    ),
    Step(
        "out[b,i] = mid[b,i] + dropout_2.out[b,i]", "it isn't mid plus the MLP's out",
        {
            "RES-1": "norm_2.out[b,i] + dropout_2.out[b,i]", "RES-2": "2 * dropout_2.out[b,i]",
            "RES-3": "dropout_2.out[b,i]", "RES-5": "x[b,i] + dropout_2.out[b,i]",
        },
    ),
    Step("norm_1.x[b,i] = x[b,i] + dropout_1.out[b,i]", "it isn't x plus attention's out",
         {"RES-3": "dropout_1.out[b,i]"}, not_with=("mid", "d_mid")),
    Step("norm_2.x[b,i] = norm_1.out[b,i] + dropout_2.out[b,i]", "it isn't the skip plus the "
         "part's out", {"RES-3": "dropout_2.out[b,i]"}, not_with=("mid", "d_mid")),
    Step(
        "norm_3.x[b,i] = norm_2.out[b,i] + dropout_3.out[b,i]",
        "it isn't the skip plus the part's out", {"RES-3": "dropout_3.out[b,i]"},
    ),
    Step("d_mid[b,i] = d_out[b,i] + norm_2.d_x[b,i]", "it isn't the sum of both ways",
         {"BR-1": "norm_2.d_x[b,i]", "BR-2": "d_out[b,i]"}),
    Step("d_x[b,i] = d_mid[b,i] + norm_1.d_x[b,i]", "it isn't the sum of both ways",
         {"BR-1": "norm_1.d_x[b,i]", "BR-2": "d_mid[b,i]"}),
    Step("d_x[b,i] = d_x_q[b,i] + d_x_k[b,i] + d_x_v[b,i]", "it isn't the sum of all three ways",
         {"BR-2": "d_x_q[b,i]", "BR-2 ": "d_x_k[b,i]", "BR-2  ": "d_x_v[b,i]"}),
)  # fmt: skip


def ask(seen: Seen) -> Iterator[Asked]:
    """Every step whose parts are there."""
    for step in STEPS:
        for scope, inside in seen.scopes():
            if step.name in inside or "." in step.name:
                yield from _held(step, _with_heads(inside, step), scope)


def _held(step: Step, inside: Mapping[str, Given], scope: str) -> Iterator[Asked]:
    if step.name not in inside or any(name in inside for name in step.not_with):
        return
    sheet, lacking = Sheet.parse(step.formula), False
    if step.bias and step.bias not in inside:
        sheet, lacking = sheet.without(step.bias), True
    formula = sheet[step.name]
    if not all(name in inside and inside[name].finite for name in (step.name, *formula.inputs)):
        return
    one = inside[step.name]
    if one.array.dtype.kind != "f" or any(inside[n].array is one.array for n in formula.inputs):
        return
    found = expected(sheet, step.name, inside)
    if found is None:
        return
    right, allowed = found
    off = one.array - right
    if lacking and _is_one_bias(off, allowed):
        return
    hints: tuple[str, ...] = ()
    if (np.abs(off) > allowed).any():
        hints = tuple(_instead(step, inside, lacking=lacking))
        if _STORED_LESS_ONE in hints:
            return  # a scale that is stored as its distance from 1 is a convention
    yield judged(one, repr(formula), off, allowed, means=step.means, hints=hints)


def _with_heads(inside: Mapping[str, Given], step: Step) -> Mapping[str, Given]:
    """Keys and values for every query head, under names of their own; which weights are used."""
    if step.name != "context" or "attn" not in inside or "v" not in inside:
        return inside
    weights = inside.get("attn_kept", inside["attn"])
    keep = inside.get("keep")
    dropped = "attn_kept" not in inside and keep is not None and not keep.array.all()
    more = {} if dropped else {"weights": weights}
    for name, to in (("v", "values"), ("k", "keys")):
        if name in inside and (spread := for_heads(inside[name], weights)) is not None:
            more[to] = spread
    return {**inside, **more}


def _is_one_bias(off: NDArray[Any], allowed: NDArray[Any]) -> bool:
    """Whether every row is off by the same."""
    rows, bound = off.reshape(-1, off.shape[-1]), allowed.reshape(-1, off.shape[-1])
    if len(rows) < 2:
        return True  # one row doesn't tell a bias from anything else
    if off.ndim >= 3:  # heads have each their own
        apart = off - off.mean(axis=-2, keepdims=True)
        if off.ndim >= 4:
            apart = off - off.mean(axis=(0, -2), keepdims=True)
        return bool((np.abs(apart) <= 2 * allowed.max(axis=-2, keepdims=True)).all())
    return bool((np.abs(rows - rows.mean(axis=0)) <= 2 * bound.max(axis=0)).all())


def _instead(step: Step, inside: Mapping[str, Given], *, lacking: bool) -> Iterator[str]:
    """The rows of the catalogue that reproduce it."""
    left = step.formula.partition("=")[0]
    for row, right in step.instead.items():
        sheet = Sheet.parse(f"{left} = {right}")
        if lacking and step.bias in right:
            sheet = sheet.without(step.bias)
        if all(name in inside for name in sheet[step.name].inputs):
            other = expected(sheet, step.name, inside)
            if other is not None and (np.abs(inside[step.name].array - other[0]) <= other[1]).all():
                yield row.strip()

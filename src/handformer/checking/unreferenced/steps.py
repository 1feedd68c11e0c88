"""Steps whose parts are all in the dump: each is held against its own formula.

What a formula doesn't tell (which activation, which scale) isn't asked; where a model may have a
bias that the dump hasn't, a difference that is one bias for all rows is none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.expected import expected
from handformer.checking.unreferenced.judged import judged
from handformer.checking.unreferenced.mistaken import mistaken
from handformer.checking.unreferenced.seen import Given, Seen
from handformer.formula import Sheet
from handformer.layers.cross_block import CrossBlock
from handformer.layers.layer import Layer
from handformer.layers.norm import LayerNorm, RMSNorm
from handformer.layers.post_norm import PostNormBlock
from handformer.layers.pre_norm import PreNormBlock
from handformer.layers.single_head import SingleHeadAttention
from handformer.ops import linear, masked_attention, merge_heads, project_heads, swiglu

_STORED_LESS_ONE = "NORM-6"


@dataclass(frozen=True)
class Step:
    """One line of a layer, with what is to stand in its scope.

    sheet, layer
        the line alone, and the class of layer in which the catalogue edits it
    bias
        the array that a model may lack
    not_with
        names that make it another step
    """

    sheet: Sheet
    layer: str
    means: str
    bias: str = ""
    not_with: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The value that it states."""
        return self.sheet.formulas[0].name

    @cached_property
    def without_bias(self) -> Sheet:
        """The line of a model that lacks the bias."""
        return self.sheet.without(self.bias)


def _heads(name: str, **axes: str) -> tuple[Step, ...]:
    weight, bias = f"w_{name}", f"b_{name}"
    sheet = project_heads.FORMULAS.only("y").rename(y=name, w=weight, bias=bias, **axes)
    means = f"it isn't x {weight}"
    return (
        Step(sheet, "MultiHeadAttention", f"{means}, cut into heads along its width", bias),
        _alone(name, means),
    )


def _alone(name: str, means: str) -> Step:
    """A head without a batch: with one, nothing tells the batch from heads."""
    sheet = SingleHeadAttention.FORMULAS.only(name).rename(b="")
    return Step(sheet, "SingleHeadAttention", means)


def _linear(layer: str, means: str, *not_with: str, bias: str = "", **names: str) -> Step:
    sheet = linear.FORMULAS if bias else linear.FORMULAS.without("bias")
    sheet = sheet.only("y").rename(b="b t", bias=bias, **names)
    return Step(sheet, layer, means, bias, not_with)


def _sum(block: type[Layer], name: str, means: str, *not_with: str) -> Step:
    return Step(block.FORMULAS.only(name), block.__name__, means, not_with=not_with)


_PRE_NORM = ("mid", "d_mid")
_BOTH, _SKIP = "it isn't the sum of both ways", "it isn't the skip plus the part's out"
STEPS = (
    *_heads("q"), *_heads("k", t="s", h="g"), *_heads("v", t="s", h="g"),
    Step(masked_attention.FORMULAS.only("context"), "MultiHeadAttention", "it isn't attn v"),
    _alone("context", "it isn't attn v"),
    Step(
        merge_heads.FORMULAS.only("y").rename(
            x="context", w="w_o", bias="b_o", j="i", i="j", y="out"
        ),
        "MultiHeadAttention", "it isn't the merged heads times w_o", "b_o",
    ),
    _alone("out", "it isn't the context times w_o"),
    _linear("MLP", "it isn't x w_up", j="f", w="w_up", bias="b_up", y="pre"),
    _linear("MLP", "it isn't post w_down", i="f", j="i", x="post", w="w_down", bias="b_down",
            y="out"),
    _linear("GatedMLP", "it isn't x w_gate", j="f", w="w_gate", y="gate"),
    _linear("GatedMLP", "it isn't x w_up", j="f", w="w_up", y="up"),
    Step(swiglu.FORMULAS.only("y").rename(b="b t f", y="post"), "GatedMLP",
         "it isn't act times up"),
    _linear("Head", "it isn't x w", "pre", j="n", bias="bias", y="out"),
    Step(LayerNorm.FORMULAS.only("out"), "LayerNorm", "it isn't x_hat gamma + beta", "beta"),
    Step(LayerNorm.FORMULAS.only("x_hat"), "LayerNorm", "it isn't (x - mean) rstd"),
    Step(RMSNorm.FORMULAS.only("x_hat"), "RMSNorm", "it isn't x rrms"),
    _sum(PreNormBlock, "mid", "it isn't the block's input plus attention's out"),
    _sum(PreNormBlock, "out", "it isn't mid plus the MLP's out"),
    _sum(PostNormBlock, "norm_1.x", "it isn't x plus attention's out", *_PRE_NORM),
    _sum(PostNormBlock, "norm_2.x", _SKIP, *_PRE_NORM),
    _sum(CrossBlock, "norm_3.x", _SKIP),
    _sum(PreNormBlock, "d_mid", _BOTH),
    _sum(PreNormBlock, "d_x", _BOTH),
    Step(SingleHeadAttention.FORMULAS.only("d_x"), "MultiHeadAttention",
         "it isn't the sum of all three ways"),
)  # fmt: skip


def ask(seen: Seen) -> Iterator[Asked]:
    """Every step whose parts are there."""
    for scope, inside in seen.scopes():
        parts, crossed = _with_kept(inside), scope.rpartition(".")[2].startswith("cross")
        for step in STEPS:
            # Keys and values of a cross attention are made of the memory.
            if step.name in inside and not (crossed and step.name in ("k", "v")):
                yield from _held(step, parts)


def _held(step: Step, inside: Mapping[str, Given]) -> Iterator[Asked]:
    lacking = bool(step.bias) and step.bias not in inside
    sheet = step.without_bias if lacking else step.sheet
    (formula,) = sheet
    if any(name in inside for name in step.not_with) or not all(
        name in inside and inside[name].finite for name in (step.name, *formula.inputs)
    ):
        return
    one = inside[step.name]
    found = None if any(inside[part].array is one.array for part in formula.inputs) else expected(
        sheet, step.name, inside
    )  # fmt: skip
    if found is None:
        return
    right, allowed = found
    off = one.array - right
    if lacking and _is_one_bias(off, allowed):
        return
    like = mistaken(sheet, step.layer, inside) if (np.abs(off) > allowed).any() else {}
    if _STORED_LESS_ONE not in like:  # a scale that is stored as its distance from 1: a convention
        yield judged(one, repr(formula), off, allowed, means=step.means, hints=tuple(like),
                     said=next(iter(like.values()), ""))  # fmt: skip


def _with_kept(inside: Mapping[str, Given]) -> Mapping[str, Given]:
    """Where nothing is dropped, all of attn is kept."""
    keep = inside.get("keep")
    dropped = "attn_kept" in inside or (keep is not None and not keep.array.all())
    return inside if dropped or "attn" not in inside else {**inside, "attn_kept": inside["attn"]}


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

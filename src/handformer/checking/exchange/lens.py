"""TransformerLens' names: hooks and parameters, and the orders of their axes.

Heads come after the positions, and each head has matrices of its own: W_Q is (head, in, out).
"""

import re
from collections.abc import Callable

from handformer import aliases
from handformer.checking.exchange.place import (
    AnyArray,
    Aside,
    Case,
    Found,
    Place,
    without_gradient,
)
from handformer.tracing.manifest import Value

_BLOCK = re.compile(r"blocks\.(\d+)\.")
_WEIGHTS = {
    "w_q": ("h i c", "i (h c)"), "w_k": ("h i c", "i (h c)"), "w_v": ("h i c", "i (h c)"),
    "w_o": ("h c i", "(h c) i"), "b_q": ("h c", "(h c)"), "b_k": ("h c", "(h c)"),
    "b_v": ("h c", "(h c)"),
}  # fmt: skip
_OTHER = {
    "unembed.W_U": ("i n", "n i"),  # only where ours is a table
    "mlm_head.W": ("j i", "i j"),  # the one matrix that they keep (out, in)
}
_SCALE = re.compile(r"(.*\.)?(hook_scale)|(scale)\d+ln[12]")
# Copies of other values, one a head, and buffers: no values of their own.
_ASIDE = re.compile(
    r"blocks\.\d+\.(hook_(attn|q|k|v|mlp)_in(put)?|attn\.(hook_(result|attn_out)|mask|IGNORE|"
    r"rotary_(sin|cos)|alibi))|pooler\..*|nsp_head\..*"
)


class _Everything:
    """Knows every path."""

    def __contains__(self, path: object) -> bool:
        return True


def find(name: str, case: Case) -> Found:
    """Our place for one of their names; None: it isn't theirs."""
    plain, is_gradient = without_gradient(name)
    if _SCALE.fullmatch(plain):
        return _scale(plain, is_gradient, case)
    ending = "_grad" if is_gradient else ""
    path = aliases.find(plain + ending, case.known)
    if path is not None:
        return (_place(plain, path, case.known[path]),)
    if _ASIDE.fullmatch(plain):
        return Aside("the case has no such value")
    block = _BLOCK.match(plain)
    is_theirs = aliases.find(plain, _Everything()) is not None
    if is_theirs and (block is None or case.has_layer(block[1])):
        return Aside("the model of the case has no such part")
    return None


def _place(plain: str, path: str, value: Value) -> Place:
    last = path.rpartition(".")[2].removeprefix("d_")
    if plain in _OTHER and (plain == "mlm_head.W" or value.axes == ("n", "i")):
        theirs, ours = _OTHER[plain]
        return Place(path, axes=theirs, ours=ours)
    if last in _WEIGHTS and value.kind in ("weight", "weight_gradient"):
        theirs, ours = _WEIGHTS[last]
        return Place(path, axes=theirs, ours=ours)
    if len(value.axes) == 4 and value.axes[1] in "hg" and value.axes[3] == "c":
        b, h, t, c = value.axes
        return Place(path, _split(value), f"{b} {t} {h} {c}", " ".join(value.axes))
    return Place(path, masked=last == "scores" and path.endswith(".scores"))


def _split(value: Value) -> Callable[[AnyArray], AnyArray]:
    """Some of their hooks stand before the heads are split."""
    b, h, t, c = value.shape

    def split(array: AnyArray) -> AnyArray:
        return array.reshape(b, t, h, c) if array.shape == (b, t, h * c) else array

    return split


def _scale(plain: str, is_gradient: bool, case: Case) -> Found:
    """The divisor of a norm, (b, t, 1) there."""
    x_hat = aliases.find(plain.replace("scale", "normalized"), case.known)
    if x_hat is None:
        return None
    if is_gradient:
        return Aside("the gradient of a norm's divisor is no value of ours")
    norm = x_hat.rpartition(".")[0]
    path = next(path for one in ("rstd", "rrms") if (path := f"{norm}.{one}") in case.known)

    def flat(array: AnyArray) -> AnyArray:
        return array[..., 0] if array.shape[-1:] == (1,) else array

    return (Place(path, flat, note="one over theirs, which is the divisor", inverse=True),)

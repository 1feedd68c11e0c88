"""Which known mistakes a wrong op makes: it is asked as a dump of the layer in which it stands.

The catalogue of mistakes speaks of layers. So an op's formulas get the names that they have there,
and its inputs are a case of their own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from numpy.typing import NDArray

from handformer.axes import LEADING, SIZES
from handformer.checking.case import Case as Steps
from handformer.checking.cases.alone import exact
from handformer.checking.checker import Checker
from handformer.checking.report import Cause
from handformer.checking.theirs import Theirs
from handformer.formula import Sheet, evaluate_all
from handformer.formula.edit import Renaming
from handformer.live.allowed import UNIT
from handformer.live.contract import Contract
from handformer.live.report import Local
from handformer.selfcheck.ops import Case
from handformer.tracing.sheet import of_sheet
from handformer.tracing.stated import Stated
from handformer.tracing.trace import Trace

AnyArray = NDArray[Any]
Causes = dict[str, tuple[Cause, ...]]
Place = tuple[str, dict[str, str]]  # a layer, and what its sheet calls the op's letters and values

_HEADS, _SINGLE, _OUT = "MultiHeadAttention", "SingleHeadAttention", {"b": "b t", "y": "out"}
_ATTN = {"x": "scores", "y": "attn", "j": "s", "i": "r"}
_POST: Place = ("MLP", {"b": "b t f", "x": "pre", "y": "post"})
_GATED: Place = ("GatedMLP", {"b": "b t f", "y": "post"})
PLACES: dict[str, tuple[Place, ...]] = {
    "alibi": ((_HEADS, {}),),
    "attention": ((_SINGLE, {"b": ""}),),
    "cross_entropy": (("CrossEntropy", {"b": "b t"}),),
    "dropout": (("Dropout", {"b": "b t i", "y": "out"}),),
    "embedding": (("Embedding", _OUT),),
    "flash_attention": (("FlashAttention", {}),),
    "geglu": (_GATED,), "swiglu": (_GATED,),
    "gelu": (_POST,), "gelu_tanh": (_POST,), "relu": (_POST,), "silu": (_POST,),
    "layer_norm": (("LayerNorm", _OUT),),
    "linear": (
        ("MLP", {"b": "b t", "j": "f", "w": "w_up", "bias": "b_up", "y": "pre"}),
        ("MLP", {"b": "b t", "i": "f", "j": "i", "x": "post", "w": "w_down", "bias": "b_down",
                 "y": "out"}),
    ),
    "masks.causal": (("CausalMask", {}),),
    "masks.padding": (("PaddingMask", {}),),
    "masks.window": (("WindowMask", {}),),
    "masked_attention": ((_HEADS, {}),),
    "masked_softmax": ((_HEADS, {**_ATTN, "b": "b h t"}),),
    "merge_heads": (
        (_HEADS, {"x": "context", "w": "w_o", "bias": "b_o", "j": "i", "i": "j", "y": "out"}),
    ),
    "project_heads": (
        (_HEADS, {"w": "w_q", "bias": "b_q", "y": "q", "d_x": "d_x_q"}),
    ),
    "rms_norm": (("RMSNorm", _OUT),),
    "rotary": ((_HEADS, {"x": "q", "y": "q_rot"}),),
    "rotary_interleaved": ((_HEADS, {"x": "q", "y": "q_rot"}),),
    "rotary_angles": ((_HEADS, {}),),
    "sinusoidal": (("SinusoidalPositions", _OUT),),
    "softmax": (("Softmax", {}), (_SINGLE, {**_ATTN, "b": "t"})),
    "tied_linear": (("TiedHead", _OUT),),
}  # fmt: skip


def causes(contract: Contract, case: Case, known: Mapping[str, AnyArray]) -> Causes:
    """The mistakes that reproduce what is wrong, by the op's names of the values.

    `known`: what the op is given, what they made of it, and of the other direction ours.
    """
    stated = Stated()
    stated.add("", case.sheet)
    written = contract.gives if contract.direction == "forward" else tuple(stated.formulas)
    for layer, names in PLACES.get(contract.name, ()):
        new, letters = Renaming.of(names), len(names.get(LEADING, LEADING).split())
        arrays = {new.array(name): _led(array, stated.axes.get(name, ()), letters)
                  for name, array in known.items()}  # fmt: skip
        trace = _case(layer, case.sheet.rename(**names), arrays, case.scalars)
        old = {new.array(name): name for name in written if name in known}
        theirs = {path: _theirs(path, arrays[path]) for path in old}
        verdicts = Checker(Steps(trace), theirs).verdicts()
        if any(one.causes for one in verdicts):
            return {old[one.path]: one.causes for one in verdicts if one.causes}
    return {}


def agreed(found: Sequence[Local]) -> tuple[Local, ...]:
    """The same, with those mistakes only that fit most often, and in most of the wrong cases.

    An op is one program: what can't be told apart in one case can in another, and what fits in
    few of them fits by chance.
    """
    wrong = Counter(one.value for one in found if not one.fine)
    fits = Counter((one.value, cause.id) for one in found for cause in one.causes)
    most = {value: max(n for (of, _), n in fits.items() if of == value) for value, _ in fits}

    def kept(value: str, cause: Cause) -> bool:
        return fits[value, cause.id] == most[value] > wrong[value] / 2

    return tuple(
        replace(one, causes=tuple(cause for cause in one.causes if kept(one.value, cause)))
        for one in found
    )


def _led(array: AnyArray, axes: tuple[str, ...], letters: int) -> AnyArray:
    """An array with so many leading axes as there are letters; without any, the first of them all.

    An op's letter b stands for any number of axes: the first are merged, or some of length 1 added.
    """
    if LEADING not in axes:
        return array
    cut = array.ndim - len(axes) + 1
    lead, own = array.shape[:cut], array.shape[cut:]
    if not letters:
        return array.reshape((prod(lead), *own))[0, ...]
    lead = (1,) * (letters - len(lead)) + lead
    merged = len(lead) - letters + 1
    return array.reshape((prod(lead[:merged]), *lead[merged:], *own))


def _case(
    layer: str, sheet: Sheet, arrays: dict[str, AnyArray], numbers: Mapping[str, Any]
) -> Trace:
    """What follows from the inputs among these arrays; of the others only the shapes count."""
    given = exact(arrays)
    values = evaluate_all(sheet, given, numbers)
    inputs = {name: array for name, array in given.items() if name not in values}
    scalars = {**_sizes(sheet, values), **numbers}
    return of_sheet(sheet, inputs, values, scalars, name=layer, layer=layer)


def _theirs(path: str, array: AnyArray) -> Theirs:
    return Theirs(path, path, array, UNIT if array.dtype.kind == "f" else 0.0)


def _sizes(sheet: Sheet, values: Mapping[str, AnyArray]) -> dict[str, int]:
    """The sizes that mistakes mention; heads without their layer are together as wide as it."""
    found = {
        SIZES[letter]: size
        for name, array in values.items()
        for letter, size in zip(sheet[name].axes, array.shape, strict=True)
        if letter in SIZES
    }
    if "n_heads" in found and "d_k" in found:
        found.setdefault("d_model", found["n_heads"] * found["d_k"])
    return found

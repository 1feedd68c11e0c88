"""A Transformer written by hand: every number kept, named, derived and checked.

import handformer as hand

layer = hand.SingleHeadAttention.init(d_model=8, d_k=8, rng=rng)
out, cache = layer.forward(x)
back = layer.backward(d_out, cache)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from handformer import fast as fast
    from handformer import ops as ops
    from handformer.checking.api import check as check
    from handformer.checking.report import Report as Report
    from handformer.errors import InputError as InputError
    from handformer.formula import FormulaError as FormulaError
    from handformer.formula import Sheet as Sheet
    from handformer.generate.load import load as load
    from handformer.generate.text import TextModel as TextModel
    from handformer.layers import MLP as MLP
    from handformer.layers import Alibi as Alibi
    from handformer.layers import CrossAttention as CrossAttention
    from handformer.layers import CrossBlock as CrossBlock
    from handformer.layers import Dropout as Dropout
    from handformer.layers import Embedding as Embedding
    from handformer.layers import FlashAttention as FlashAttention
    from handformer.layers import GatedMLP as GatedMLP
    from handformer.layers import Head as Head
    from handformer.layers import LayerNorm as LayerNorm
    from handformer.layers import MaskedTokenHead as MaskedTokenHead
    from handformer.layers import MultiHeadAttention as MultiHeadAttention
    from handformer.layers import PostNormBlock as PostNormBlock
    from handformer.layers import PreNormBlock as PreNormBlock
    from handformer.layers import RMSNorm as RMSNorm
    from handformer.layers import Rotary as Rotary
    from handformer.layers import SingleHeadAttention as SingleHeadAttention
    from handformer.layers import SinusoidalPositions as SinusoidalPositions
    from handformer.layers import TiedHead as TiedHead
    from handformer.models import Decoder as Decoder
    from handformer.models import Encoder as Encoder
    from handformer.models import EncoderDecoder as EncoderDecoder
    from handformer.models import ModelConfig as ModelConfig
    from handformer.text import Tokenizer as Tokenizer
    from handformer.tracing.api import trace as trace
    from handformer.tracing.ledger import ledger as ledger
    from handformer.tracing.trace import Trace as Trace

# Where each public name lives; it is imported when it is first asked for, so `import` is quick.
_PLACES = {
    "checking.api": ("check",),
    "checking.report": ("Report",),
    "errors": ("InputError",),
    "formula": ("FormulaError", "Sheet"),
    "layers": (
        "Alibi", "CrossAttention", "CrossBlock", "Dropout", "Embedding", "FlashAttention",
        "GatedMLP", "Head", "LayerNorm", "MLP", "MaskedTokenHead", "MultiHeadAttention",
        "PostNormBlock", "PreNormBlock", "RMSNorm", "Rotary", "SingleHeadAttention",
        "SinusoidalPositions", "TiedHead",
    ),
    "models": ("Decoder", "Encoder", "EncoderDecoder", "ModelConfig"),
    "text": ("Tokenizer",),
    "tracing.api": ("trace",),
    "tracing.ledger": ("ledger",),
    "tracing.trace": ("Trace",),
    "generate.text": ("TextModel",),
    "generate.load": ("load",),
}  # fmt: skip
_NAMESPACES = ("fast", "ops")
_HOME = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _NAMESPACES:
        return import_module(f"handformer.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'handformer' has no attribute {name!r}")
    return getattr(import_module(f"handformer.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMESPACES, *_HOME])

"""The engine: the ops of `handformer.ops` under the same names, compiled.

Each takes and gives what the plain one does, for float32 and float64; other types, and ops of
which a compiled form showed no gain, are the plain ones. So are all of them where Numba isn't
installed: `AVAILABLE` says which it is.

    import handformer.fast as fast
    logits, cache = model.forward(tokens, ops=fast)
"""

from importlib.util import find_spec

from handformer.ops import (
    alibi,
    attention,
    geglu,
    gelu,
    masks,
    rotary_interleaved,
    sinusoidal,
)

AVAILABLE = find_spec("numba") is not None

if AVAILABLE:
    from handformer.fast import (
        add,
        cross_entropy,
        dropout,
        embedding,
        flash_attention,
        gelu_tanh,
        layer_norm,
        linear,
        masked_attention,
        masked_softmax,
        merge_heads,
        pre_norm_step,
        project_heads,
        relu,
        rms_norm,
        rotary,
        rotary_angles,
        silu,
        softmax,
        swiglu,
        tied_linear,
    )
else:
    from handformer.ops import (  # type: ignore[no-redef]
        add,
        cross_entropy,
        dropout,
        embedding,
        flash_attention,
        gelu_tanh,
        layer_norm,
        linear,
        masked_attention,
        masked_softmax,
        merge_heads,
        project_heads,
        relu,
        rms_norm,
        rotary,
        rotary_angles,
        silu,
        softmax,
        swiglu,
        tied_linear,
    )

__all__ = [
    "AVAILABLE",
    "add",
    "alibi",
    "attention",
    "cross_entropy",
    "dropout",
    "embedding",
    "flash_attention",
    "geglu",
    "gelu",
    "gelu_tanh",
    "layer_norm",
    "linear",
    "masked_attention",
    "masked_softmax",
    "masks",
    "merge_heads",
    "project_heads",
    "relu",
    "rms_norm",
    "rotary",
    "rotary_angles",
    "rotary_interleaved",
    "silu",
    "sinusoidal",
    "softmax",
    "swiglu",
    "tied_linear",
]

if AVAILABLE:
    __all__ += ["pre_norm_step"]  # a step of generation as one kernel; plain ops have none

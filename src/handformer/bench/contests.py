"""Who competes in what: for each shape a training step and a trace, or a text that is written.

machine     this machine's own limit, measured in the same rounds as everything else
products    the matrix products of the step and nothing else
"""

import sys
from dataclasses import dataclass, field

from handformer.bench import arithmetic
from handformer.bench.contestant import Contestant
from handformer.bench.shapes import WRITER, Shape

MACHINE = "machine"
ALONE = "its products alone"
FAST, PLAIN = "handformer fast", "handformer plain"
PROMPT, NEW_TOKENS = 4, 32  # a prompt so short costs as much as one of the new tokens
STEP, TRACE, WRITE = "step", "trace", "write"


@dataclass(frozen=True)
class Options:
    """What the user asks: peers or none, PyTorch compiled too, and where peers are installed."""

    peers: bool = True
    compile: bool = False
    python: str = field(default_factory=lambda: sys.executable)


@dataclass(frozen=True)
class Contest:
    """Contestants that do the same work.

    operations
        of the matrix products in one piece of work; 0 where the speed of memory is what counts
    reads
        numbers that have to be read from memory for one piece of work; 0 where arithmetic counts
    """

    task: str
    shape: Shape
    contestants: tuple[Contestant, ...]
    operations: int = 0
    reads: int = 0
    tokens: int = 0


def contests(shapes: list[Shape], options: Options) -> list[Contest]:
    """Everything that is to be timed, in order."""
    found = []
    for shape in shapes:
        if shape is WRITER:
            found.append(_writing(shape, options))
        else:
            found += [_stepping(shape, options), _tracing(shape, options)]
    return found


def machine() -> Contestant:
    """The speed of this machine's matrix products and of its memory."""
    return Contestant(MACHINE, "contestants/machine.py")


def _stepping(shape: Shape, options: Options) -> Contest:
    settings = settings_of(shape)
    peers = [Contestant("PyTorch", "peers/torch_step.py", settings, options.python)]
    if options.compile:
        compiled = settings | {"compile": True}
        peers.append(Contestant("torch.compile", "peers/torch_step.py", compiled, options.python))
    found = (
        Contestant(FAST, "contestants/step.py", settings | {"ops": "fast"}),
        Contestant(PLAIN, "contestants/step.py", settings | {"ops": "plain"}),
        *(peers if options.peers else ()),
        Contestant(f"{ALONE}, NumPy's", "contestants/products.py", settings | {"by": "numpy"}),
        Contestant(f"{ALONE}, ours", "contestants/products.py", settings | {"by": "own"}),
        machine(),
    )
    return Contest(STEP, shape, found, arithmetic.operations(shape.config, shape.batch))


def _tracing(shape: Shape, options: Options) -> Contest:
    settings = settings_of(shape)
    peer = Contestant("TransformerLens", "peers/lens_trace.py", settings, options.python)
    found = (
        Contestant(FAST, "contestants/trace.py", settings | {"ops": "fast"}),
        Contestant(PLAIN, "contestants/trace.py", settings | {"ops": "plain"}),
        *((peer,) if options.peers else ()),
        machine(),
    )
    return Contest(TRACE, shape, found, arithmetic.operations(shape.config, shape.batch))


def _writing(shape: Shape, options: Options) -> Contest:
    settings = settings_of(shape) | {"prompt": PROMPT, "tokens": NEW_TOKENS}

    def ours(name: str, ops: str, dtype: str) -> Contestant:
        chosen = settings | {"ops": ops, "dtype": dtype}
        return Contestant(f"{name}, {dtype}", "contestants/write.py", chosen)

    def theirs(dtype: str) -> Contestant:
        chosen, file = settings | {"dtype": dtype}, "peers/transformers_write.py"
        return Contestant(f"transformers, {dtype}", file, chosen, options.python)

    found = (
        ours(FAST, "fast", "float32"),
        ours(FAST, "fast", "bfloat16"),
        ours(PLAIN, "plain", "float32"),
        *((theirs("float32"), theirs("bfloat16")) if options.peers else ()),
        machine(),
    )
    reads = NEW_TOKENS * arithmetic.weights(shape.config)
    return Contest(WRITE, shape, found, reads=reads, tokens=NEW_TOKENS)


def settings_of(shape: Shape) -> dict[str, object]:
    """The sizes, with none left to be guessed: peers know nothing of our defaults."""
    config = shape.config
    sizes = config.model_dump() | {
        "d_k": config.head_width, "d_ff": config.hidden, "n_kv_heads": config.kv_heads,
        "eps": config.norm_eps, "tied": config.tied_head,
    }  # fmt: skip
    return {"config": sizes, "batch": shape.batch}

"""The configurations on which whole models are compared with their peers, and their numbers.

All sizes of a case differ from each other, so that a swapped axis cannot hide; no parameter is
neutral (no gamma of 1, no bias of 0), so that a forgotten one cannot hide; tokens repeat, so that
gradients of table rows add up. Some queries see no key at all and still have a target that counts.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

IGNORED = -100

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Config:
    """The sizes and constants of one model. ``family`` is gpt2, llama, bert or transformer."""

    family: str
    n_heads: int
    d_k: int
    d_model: int
    d_ff: int
    vocab_size: int
    context: int
    tied: bool
    n_kv_heads: int = 0  # 0: as many as n_heads
    n_layers: int = 2
    eps: float = 1e-5
    rope_base: float = 10000.0
    shared: bool = False  # transformer only: one table for source and target

    def __post_init__(self) -> None:
        if not self.n_kv_heads:
            object.__setattr__(self, "n_kv_heads", self.n_heads)


@dataclass(frozen=True)
class Case:
    """A configuration and its inputs, drawn as pictures: one word a row, ``x`` yes and ``.`` no.

    ``counted``: which targets count, (batch, time); it fixes the batch's size. ``valid``: which
    keys may be seen; all where it is empty. ``source_valid``: the same for the source of an
    encoder-decoder; it fixes the source's length. The numbers depend on the name and the seed.
    """

    name: str
    config: Config
    counted: str
    valid: str = ""
    source_valid: str = ""
    seed: int = 0

    def __str__(self) -> str:
        return self.name

    def params(self) -> dict[str, NDArray[np.float64]]:
        """Every parameter by its dotted path."""
        rng = self._rng("params")
        return {path: _draw(rng, path, shape) for path, shape in shapes(self.config).items()}

    def inputs(self) -> dict[str, NDArray]:
        """What the model is given, by the names of the peer's keyword arguments."""
        rng = self._rng("inputs")
        n = self.config.vocab_size
        batch_time = picture(self.counted).shape
        if self.config.family == "transformer":
            source_valid = picture(self.source_valid)
            return {
                "source_tokens": _tokens(rng, source_valid.shape, n),
                "target_tokens": _tokens(rng, batch_time, n),
                "source_valid": source_valid,
                "target_valid": picture(self.valid),
                "source_positions": _places(source_valid),
                "target_positions": _places(picture(self.valid)),
            }
        inputs: dict[str, NDArray] = {"tokens": _tokens(rng, batch_time, n)}
        if self.config.family == "bert":
            inputs["types"] = rng.integers(2, size=batch_time)
        if self.valid:
            inputs["valid"] = picture(self.valid)
            inputs["positions"] = _places(inputs["valid"])
        return inputs

    def targets(self) -> NDArray[np.int64]:
        """The wanted token at each place, (batch, time), or ``IGNORED``."""
        counted = picture(self.counted)
        return np.where(
            counted,
            self._rng("targets").integers(self.config.vocab_size, size=counted.shape),
            IGNORED,
        )

    def _rng(self, place: str) -> np.random.Generator:
        key = int.from_bytes(f"{self.name}/{place}".encode()[-24:], "big")
        return np.random.Generator(np.random.Philox(np.random.SeedSequence([self.seed, key])))


def picture(rows: str) -> NDArray[np.bool_]:
    """``"xx. x.x"`` as a boolean array (rows, columns)."""
    return np.array([[mark == "x" for mark in row] for row in rows.split()])


def _places(valid: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The position of each token: how many visible ones stand before it in its row; else 0."""
    return np.where(valid, valid.cumsum(axis=1) - 1, 0)


def shapes(config: Config) -> dict[str, Shape]:
    """The shape of every parameter of a model, by path."""
    n, d, layers = config.vocab_size, config.d_model, range(config.n_layers)
    table = {"table": (n, d)}
    if config.family == "transformer":
        return {
            **({} if config.shared else _under("source_embedding", table)),
            **_under("target_embedding", table),
            **_union(_under(f"encoder.{i}", _block(config, norms=2)) for i in layers),
            **_union(_under(f"decoder.{i}", _block(config, norms=3)) for i in layers),
            **({} if config.tied else {"head.w": (d, n)}),
        }
    tables = {"embedding.table": (n, d)}
    if config.family in {"gpt2", "bert"}:
        tables["position_embedding.table"] = (config.context, d)
    if config.family == "bert":
        tables["type_embedding.table"] = (2, d)
        head = {
            "head.w": (d, d),
            "head.b": (d,),
            **_under("head.norm", _norm(config)),
            **({} if config.tied else {"head.w_out": (d, n)}),
            "head.bias": (n,),
        }
    else:
        head = {} if config.tied else {"head.w": (d, n)}
    blocks = _union(_under(f"blocks.{i}", _block(config, norms=2)) for i in layers)
    return {**tables, **blocks, **_under("norm", _norm(config)), **head}


def _block(config: Config, norms: int) -> dict[str, Shape]:
    parts = {"attention": _attention(config), "mlp": _mlp(config)}
    if norms == 3:
        parts["cross"] = _attention(config)
    parts |= {f"norm_{i + 1}": _norm(config) for i in range(norms)}
    return _union(_under(name, part) for name, part in parts.items())


def _attention(config: Config) -> dict[str, Shape]:
    d, query, key = config.d_model, config.n_heads * config.d_k, config.n_kv_heads * config.d_k
    weights: dict[str, Shape] = {
        "w_q": (d, query),
        "w_k": (d, key),
        "w_v": (d, key),
        "w_o": (query, d),
    }
    biases: dict[str, Shape] = {"b_q": (query,), "b_k": (key,), "b_v": (key,), "b_o": (d,)}
    return weights if config.family == "llama" else weights | biases


def _mlp(config: Config) -> dict[str, Shape]:
    d, f = config.d_model, config.d_ff
    if config.family == "llama":
        return {"w_gate": (d, f), "w_up": (d, f), "w_down": (f, d)}
    return {"w_up": (d, f), "b_up": (f,), "w_down": (f, d), "b_down": (d,)}


def _norm(config: Config) -> dict[str, Shape]:
    gamma: dict[str, Shape] = {"gamma": (config.d_model,)}
    return gamma if config.family == "llama" else gamma | {"beta": (config.d_model,)}


def _under(prefix: str, shapes: dict[str, Shape]) -> dict[str, Shape]:
    return {f"{prefix}.{name}": shape for name, shape in shapes.items()}


def _union(parts) -> dict[str, Shape]:
    return {path: shape for part in parts for path, shape in part.items()}


def _draw(rng: np.random.Generator, path: str, shape: Shape) -> NDArray[np.float64]:
    """Normal numbers, as large as keeps every row of attention uneven and none of them one-hot."""
    numbers = rng.standard_normal(shape)
    if path.endswith("gamma"):
        return 1 + 0.3 * numbers
    if len(shape) == 1:
        return 0.3 * numbers
    return numbers * (0.6 if path.endswith("table") else 0.9 / sqrt(shape[0]))


def _tokens(rng: np.random.Generator, shape: Shape, vocab_size: int) -> NDArray[np.int64]:
    """Random tokens, repeated inside each row and across rows; the last entry is never used."""
    tokens = rng.integers(vocab_size - 1, size=shape)
    tokens[:, -1] = tokens[:, 1]
    tokens[:, 2] = tokens[0, 2]
    return tokens


CASES = (
    Case(
        "gpt2_tied",
        Config("gpt2", n_heads=3, d_k=4, d_model=10, d_ff=14, vocab_size=13, context=7, tied=True),
        counted="xx.xx x...x",
    ),
    Case(  # queries 0 of row 1, 0 and 1 of row 2 see nothing
        "gpt2_untied",
        Config("gpt2", n_heads=2, d_k=5, d_model=8, d_ff=9, vocab_size=11, context=7, tied=False),
        counted="xxxxx. xx.xxx .xx.x.",
        valid="xxxxxx .xxxxx ..xx.x",
    ),
    Case(
        "llama_tied",
        Config(
            "llama", 4, 6, d_model=10, d_ff=7, vocab_size=13, context=8, tied=True, n_kv_heads=2
        ),
        counted="xx.xx .x.x. xxxxx",
    ),
    Case(  # the hole in row 0 makes distances between positions differ from those between places
        "llama_untied",
        Config(
            "llama",
            6,
            4,
            9,
            d_ff=8,
            vocab_size=11,
            context=10,
            tied=False,
            n_kv_heads=3,
            rope_base=500.0,
        ),
        counted="xxx.xx. x.xxxxx",
        valid="xxx.xxx ..xx.xx",
    ),
    Case(
        "bert_tied",
        Config(
            "bert",
            n_heads=3,
            d_k=4,
            d_model=8,
            d_ff=9,
            vocab_size=11,
            context=7,
            tied=True,
            eps=1e-12,
        ),
        counted=".x..x x....",
        valid="xxxxx xxx..",
    ),
    Case(  # row 2 is hidden from beginning to end; the larger eps can be seen in the numbers
        "bert_untied",
        Config("bert", n_heads=2, d_k=5, d_model=6, d_ff=7, vocab_size=13, context=8, tied=False),
        counted="x.x. xx.x ..x.",
        valid="xxx. x.xx ....",
    ),
    Case(
        "transformer_tied",
        Config(
            "transformer", n_heads=2, d_k=5, d_model=6, d_ff=8, vocab_size=11, context=9, tied=True
        ),
        counted="xxxx x.x. xx.x",
        valid="xxxx xxx. xxxx",
        source_valid="xxxxxxx xxxxx.. xxx....",
    ),
    Case(  # queries 0 and 1 of the target's row 1 see nothing of the target
        "transformer_untied",
        Config(
            "transformer", n_heads=3, d_k=4, d_model=6, d_ff=8, vocab_size=11, context=9, tied=False
        ),
        counted="xxx.xxx xxxx..x",
        valid="xxxxxx. ..xxxxx",
        source_valid="xxxxx xx.x.",
    ),
    Case(  # row 2 has no source at all
        "transformer_shared",
        Config("transformer", 2, 3, 8, d_ff=10, vocab_size=13, context=9, tied=True, shared=True),
        counted="xxxxx.. x.xx.x. xxxx.x. ..xxxxx",
        valid="xxxxx.. xxxxxx. xxxxxx. xxxxxxx",
        source_valid="xxxxx xxxx. ..... x.xxx",
    ),
)

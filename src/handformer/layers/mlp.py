"""The position-wise networks: two matrices with an activation between, or three with a gate."""

from math import sqrt
from types import ModuleType

import numpy as np

import handformer.ops as plain
from handformer.axes import Array, record
from handformer.formula import Sheet
from handformer.layers.layer import Layer, one_of, uniform
from handformer.ops import linear


@record
class MLPCache:
    """x, out (..., t, d_model); pre, post (..., t, d_ff): before and after the activation."""

    x: Array
    pre: Array
    post: Array
    out: Array


@record
class MLPBack:
    """The gradient of every value of the cache, and of the weights."""

    d_out: Array
    d_post: Array
    d_pre: Array
    d_x: Array
    params: "MLP"


@record
class MLP(Layer):
    """out = act(x w_up + b_up) w_down + b_down.

    w_up (d_model, d_ff), w_down (d_ff, d_model), b_up (d_ff) and b_down (d_model) or None.
    `activation` names an op: relu, gelu, gelu_tanh, silu.
    """

    w_up: Array
    b_up: Array | None
    w_down: Array
    b_down: Array | None
    activation: str = "gelu_tanh"

    def __post_init__(self) -> None:
        """Only an activation may stand in an activation's place."""
        one_of("activation", self.activation, ("relu", "gelu", "gelu_tanh", "silu"))

    @classmethod
    def init(
        cls, d_model: int, d_ff: int, rng: np.random.Generator, *, activation: str = "gelu_tanh"
    ) -> "MLP":
        """Weights uniform in ±1/sqrt(number of inputs), biases 0."""
        up = uniform(rng, 1 / sqrt(d_model), d_model, d_ff)
        down = uniform(rng, 1 / sqrt(d_ff), d_ff, d_model)
        return cls(up, np.zeros(d_ff), down, np.zeros(d_model), activation)

    @property
    def sheet(self) -> Sheet:
        """Two linear maps and the activation's own formulas between them."""
        act: Sheet = getattr(plain, self.activation).FORMULAS
        whole = (
            linear.FORMULAS.rename(b="b t", j="f", w="w_up", bias="b_up", y="pre")
            + act.rename(b="b t f", x="pre", y="post")
            + linear.FORMULAS.rename(
                b="b t", i="f", j="i", x="post", w="w_down", bias="b_down", y="out"
            )
        )
        return whole.without(*self.absent)

    def forward(self, x: Array, *, ops: ModuleType = plain) -> tuple[Array, MLPCache]:
        """out (..., t, d_model) and every value on the way."""
        pre = ops.linear.forward(x, self.w_up, self.b_up)
        post = getattr(ops, self.activation).forward(pre)
        out = ops.linear.forward(post, self.w_down, self.b_down)
        return out, MLPCache(x, pre, post, out)

    def backward(self, d_out: Array, cache: MLPCache, *, ops: ModuleType = plain) -> MLPBack:
        """Gradients from d_out (..., t, d_model)."""
        d_post, d_w_down, d_b_down = ops.linear.backward(
            d_out, cache.post, self.w_down, self.b_down
        )
        d_pre = getattr(ops, self.activation).backward(d_post, cache.pre)
        d_x, d_w_up, d_b_up = ops.linear.backward(d_pre, cache.x, self.w_up, self.b_up)
        params = MLP(d_w_up, d_b_up, d_w_down, d_b_down, self.activation)
        return MLPBack(d_out, d_post, d_pre, d_x, params)


@record
class GatedMLPCache:
    """x, out (..., t, d_model); gate, up, act, post (..., t, d_ff): act is the activated gate."""

    x: Array
    gate: Array
    up: Array
    act: Array
    post: Array
    out: Array


@record
class GatedMLPBack:
    """The gradient of every value of the cache, and of the weights."""

    d_out: Array
    d_post: Array
    d_act: Array
    d_gate: Array
    d_up: Array
    d_x_gate: Array
    d_x_up: Array
    d_x: Array
    params: "GatedMLP"


@record
class GatedMLP(Layer):
    """out = (act(x w_gate) * x w_up) w_down, without biases.

    w_gate, w_up (d_model, d_ff), w_down (d_ff, d_model). `activation` names an op: swiglu, geglu.

    Source: Shazeer 2020, "GLU variants improve Transformer".
    """

    w_gate: Array
    w_up: Array
    w_down: Array
    activation: str = "swiglu"

    def __post_init__(self) -> None:
        """Only a gated product may stand in its place."""
        one_of("activation", self.activation, ("swiglu", "geglu"))

    @classmethod
    def init(
        cls, d_model: int, d_ff: int, rng: np.random.Generator, *, activation: str = "swiglu"
    ) -> "GatedMLP":
        """Weights uniform in ±1/sqrt(number of inputs)."""
        gate, up = (uniform(rng, 1 / sqrt(d_model), d_model, d_ff) for _ in range(2))
        return cls(gate, up, uniform(rng, 1 / sqrt(d_ff), d_ff, d_model), activation)

    @property
    def sheet(self) -> Sheet:
        """Three linear maps and the gated product's own formulas between them."""
        project = linear.FORMULAS.without("bias")
        act: Sheet = getattr(plain, self.activation).FORMULAS
        return (
            project.rename(b="b t", j="f", w="w_gate", y="gate", d_x="d_x_gate")
            + project.rename(b="b t", j="f", w="w_up", y="up", d_x="d_x_up")
            + act.rename(b="b t f", y="post")
            + project.rename(b="b t", i="f", j="i", x="post", w="w_down", y="out")
            + Sheet.parse("d_x[b,t,i] = d_x_gate[b,t,i] + d_x_up[b,t,i]")
        )

    def forward(self, x: Array, *, ops: ModuleType = plain) -> tuple[Array, GatedMLPCache]:
        """out (..., t, d_model) and every value on the way."""
        gate = ops.linear.forward(x, self.w_gate, None)
        up = ops.linear.forward(x, self.w_up, None)
        act, post = getattr(ops, self.activation).forward(gate, up)
        out = ops.linear.forward(post, self.w_down, None)
        return out, GatedMLPCache(x, gate, up, act, post, out)

    def backward(
        self, d_out: Array, cache: GatedMLPCache, *, ops: ModuleType = plain
    ) -> GatedMLPBack:
        """Gradients from d_out (..., t, d_model)."""
        d_post, d_w_down, _ = ops.linear.backward(d_out, cache.post, self.w_down, None)
        d_act, d_gate, d_up = getattr(ops, self.activation).backward(
            d_post, cache.gate, cache.up, cache.act
        )
        d_x_up, d_w_up, _ = ops.linear.backward(d_up, cache.x, self.w_up, None)
        d_x_gate, d_w_gate, _ = ops.linear.backward(d_gate, cache.x, self.w_gate, None)
        params = GatedMLP(d_w_gate, d_w_up, d_w_down, self.activation)
        return GatedMLPBack(
            d_out,
            d_post,
            d_act,
            d_gate,
            d_up,
            d_x_gate,
            d_x_up,
            d_x=ops.add.forward(d_x_gate, d_x_up),  # x went two ways
            params=params,
        )

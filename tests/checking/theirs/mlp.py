"""The MLP of a block: up, activation, down; with a gate in llama's."""

from typing import Any

from tests.checking.theirs import activations, linear
from tests.checking.theirs.program import At, Stop


def forward(at: At, x: Any) -> Any:
    at.note("x", x)
    if at.has("w_gate"):
        return _gated(at, x)
    if at.wrong("FFN-9"):
        width = x.shape[-1]
        pre = at.put("pre", at.product(x, at["w_up"][:, :width]) + at["b_up"][:width])
        post = at.put("post", activations.activated(at, pre))
        return at.put("out", at.product(post, at["w_down"][:width]) + at["b_down"])
    pre = at.put("pre", linear.forward(at, x, "w_up", "b_up"))
    post = at.put("post", activations.activated(at, pre))
    if at.wrong("FFN-7:left out"):
        post = at.put("post", pre)
    if at.wrong("FFN-7:after the second"):
        at.leave_out("post")
        out = linear.forward(at, pre, "w_down", "b_down")
        return at.put("out", activations.activated(at, out))
    return at.put("out", linear.forward(at, post, "w_down", "b_down"))


def _gated(at: At, x: Any) -> Any:
    gate = at.put("gate", linear.forward(at, x, "w_gate"))
    up = at.put("up", linear.forward(at, x, "w_up"))
    act = activations.silu(at, gate)
    if at.wrong("FFN-3:gelu"):
        act = activations.gelu_tanh(gate)
    elif at.wrong("FFN-3:relu", "FFN-8"):
        act = gate * (gate > 0)
    if at.wrong("FFN-4"):
        act, up = activations.silu(at, up), gate
    at.put("act", act)
    post = at.put("post", act * up)
    if at.wrong("FFN-5"):
        at.leave_out("act")
        post = at.put("post", activations.silu(at, gate * up))
    elif at.wrong("FFN-6"):
        post = at.put("post", act)
    return at.put("out", linear.forward(at, post, "w_down"))


def backward(at: At, d_out: Any) -> Any:
    """d_x."""
    if at.wrong("FFN-9"):
        raise Stop
    x, post = at["x"], at["post"]
    d_post = at.put("d_post", linear.input_back(at, post, d_out, at["w_down"]))
    if at.has("w_gate"):
        d_x = _gated_back(at, x, d_post)
        at.put("d_w_down", linear.weight_back(at, post, d_out))
        return d_x
    pre = at["pre"]
    d_pre = at.put("d_pre", d_post * activations.slope(at, pre, post))
    d_x = at.put("d_x", linear.input_back(at, x, d_pre, at["w_up"]))
    at.put("d_w_up", linear.weight_back(at, x, d_pre))
    at.put("d_b_up", linear.bias_back(at, d_pre))
    at.put("d_w_down", linear.weight_back(at, post, d_out))
    at.put("d_b_down", linear.bias_back(at, d_out))
    return d_x


def _gated_back(at: At, x: Any, d_post: Any) -> Any:
    gate, up, act = at["gate"], at["up"], at["act"]
    d_act = at.put("d_act", d_post * up)
    slope = activations.silu_slope(at, act if at.wrong("BF-2") else gate)
    d_gate, d_up = d_act * slope, d_post * act
    if at.wrong("BF-4"):
        d_gate, d_up = d_up, d_gate
    d_gate, d_up = at.put("d_gate", d_gate), at.put("d_up", d_up)
    d_x_gate = at.put("d_x_gate", linear.input_back(at, x, d_gate, at["w_gate"]))
    d_x_up = at.put("d_x_up", linear.input_back(at, x, d_up, at["w_up"]))
    d_x = d_x_up if at.wrong("BR-2:of gate and up the last") else d_x_gate + d_x_up
    at.put("d_x", d_x)
    at.put("d_w_gate", linear.weight_back(at, x, d_gate))
    at.put("d_w_up", linear.weight_back(at, x, d_up))
    return d_x

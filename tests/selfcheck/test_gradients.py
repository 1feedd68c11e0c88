"""The check of gradients finds wrong ones: in a weight, in an input, in what was sent to one."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from handformer import tree
from handformer.axes import Array, record
from handformer.layers.layer import Layer
from handformer.selfcheck import gradients
from handformer.selfcheck.cases.layers import layers
from handformer.selfcheck.layers import LayerCase, Run, run

BLOCKS = [c for c in layers(np.random.default_rng(4), ((2,),)) if c.name.startswith("CrossBlock")]


def drawn() -> np.random.Generator:
    return np.random.default_rng(1)


def wrong(case: LayerCase, ran: Run) -> set[str]:
    found = gradients.verify(case, ran, drawn())
    return {one.value for one in found if not one.difference <= gradients.LIMIT}


def test_one_wrong_entry_of_one_weight_is_named() -> None:
    (case,) = BLOCKS
    ran = run(case, drawn())
    assert wrong(case, ran) == set()

    def change(path: str, gradient: Array) -> Array:
        other = gradient.copy()
        if path == "cross.w_k":
            other[2, 3] += 1e-5 * np.abs(gradient).max()
        return other

    back = replace(ran.back, params=tree.transform(ran.back.params, change))
    assert wrong(case, ran._replace(back=back)) == {"cross.w_k"}


def test_what_came_from_elsewhere_belongs_to_the_gradient() -> None:
    (case,) = BLOCKS
    ran = run(case, drawn())
    without = replace(ran.back, d_memory=ran.back.cross.d_memory)
    assert wrong(case, ran._replace(back=without)) == {"memory"}


@record
class Corner(Layer):
    """|w x|, whose slope jumps where w x is 0; its gradient may be scaled to be wrong."""

    w: Array
    scale: float = 1.0

    def forward(self, x: Array) -> tuple[Array, Any]:
        return np.abs(self.w * x), x

    def backward(self, d_out: Array, cache: Array, **_: Any) -> Any:
        sign = np.sign(self.w * cache)
        return Back(
            self.scale * d_out * sign * self.w, Corner(self.scale * d_out * sign * cache, 1)
        )


@record
class Back:
    d_x: Array
    params: Corner


@pytest.mark.parametrize("scale", [1.0, 1.001])
def test_a_corner_within_the_step_excuses_nothing(scale: float) -> None:
    """Some directions cross the corner of one entry; others don't, and there the gradient shows."""
    x = np.array([1.0, -2, 0.9 * gradients.STEP])
    case = LayerCase("", Corner(np.array([0.5, 0.7, 1.0]), scale), {"x": x})
    ran = run(case, drawn())
    for seed in range(20):
        found = gradients.verify(case, ran, np.random.default_rng(seed))
        fine = [one.difference <= gradients.LIMIT for one in found]
        assert all(fine) if scale == 1 else not any(fine)

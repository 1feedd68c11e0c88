"""What every attention with several heads shares: its weights, and the keys and values it
remembers.
"""

from math import sqrt
from typing import Any, TypeVar

import numpy as np

from handformer.axes import Array, BoolArray, record
from handformer.errors import InputError
from handformer.layers.layer import Layer, uniform

_Heads = TypeVar("_Heads", bound="HeadWeights")


@record
class HeadWeights(Layer):
    """The weights of several heads, and how they are cut.

    w_q (d_model, n_heads * d_k), w_k and w_v (d_model, n_kv_heads * d_k), w_o (n_heads * d_k,
    d_model); head h owns the columns h * d_k ... h * d_k + d_k - 1. The biases b_q, b_k, b_v, b_o
    are all there or all None. Query head h reads key/value head h // (n_heads / n_kv_heads).
    """

    w_q: Array
    w_k: Array
    w_v: Array
    w_o: Array
    b_q: Array | None
    b_k: Array | None
    b_v: Array | None
    b_o: Array | None
    n_heads: int
    n_kv_heads: int
    dropout: float = 0.0

    @classmethod
    def init(
        cls: type[_Heads],
        d_model: int,
        n_heads: int,
        rng: np.random.Generator,
        *,
        n_kv_heads: int | None = None,
        d_k: int | None = None,
        bias: bool = True,
        **settings: Any,
    ) -> _Heads:
        """Weights uniform in ±1/sqrt(d_k), biases 0; d_k is d_model / n_heads unless given.

        Raises
        ------
        ValueError
            where n_heads doesn't divide d_model and no d_k is given, or n_kv_heads doesn't divide
            n_heads
        """
        n_kv_heads = n_kv_heads or n_heads
        if d_k is None and d_model % n_heads:
            raise ValueError(
                f"n_heads={n_heads} doesn't divide d_model={d_model}; "
                "choose one that does, or set d_k"
            )
        if n_heads % n_kv_heads:
            raise ValueError(f"n_kv_heads={n_kv_heads} doesn't divide n_heads={n_heads}")
        d_k = d_k or d_model // n_heads
        widths = (n_heads * d_k, n_kv_heads * d_k, n_kv_heads * d_k)
        w_q, w_k, w_v = (uniform(rng, 1 / sqrt(d_k), d_model, width) for width in widths)
        w_o = uniform(rng, 1 / sqrt(d_k), n_heads * d_k, d_model)
        b_q, b_k, b_v, b_o = (np.zeros(width) if bias else None for width in (*widths, d_model))
        return cls(
            w_q, w_k, w_v, w_o, b_q, b_k, b_v, b_o, n_heads, n_kv_heads, **settings
        )  # fmt: skip

    @property
    def d_k(self) -> int:
        """Width of one head."""
        return int(self.w_q.shape[1]) // self.n_heads

    @property
    def scalars(self) -> dict[str, float]:
        """The numbers that the formulas mention."""
        return {
            "d_k": self.d_k, "n_heads": self.n_heads, "n_kv_heads": self.n_kv_heads,
            "group": self.n_heads // self.n_kv_heads,
        }  # fmt: skip

    def visible(self, mask: BoolArray | None, scores_shape: tuple[int, ...]) -> BoolArray:
        """The mask (..., t, s) as a view of the scores' shape; None hides nothing."""
        if mask is not None and mask.dtype != np.bool_:
            raise InputError(
                f"the mask is of dtype {mask.dtype}, expected bool, true where a key may be seen; "
                "of a mask that is added to the scores, that is mask == 0"
            )
        every_head = np.True_ if mask is None else np.expand_dims(mask, -3)
        return np.broadcast_to(every_head, scores_shape)

    def scores_shape(self, x: Array, n_keys: int) -> tuple[int, ...]:
        """(..., h, t, s)."""
        return (*x.shape[:-2], self.n_heads, x.shape[-2], n_keys)


@record
class KeysValues:
    """Keys (as they are compared: turned, where positions are rotary) and values of earlier tokens.

    k, v have shape (b, g, s, d_k).
    """

    k: Array
    v: Array

    def then(self, k: Array, v: Array) -> "KeysValues":
        """These and, after them, those of the new tokens."""
        return KeysValues(
            np.concatenate([self.k, k], axis=-2), np.concatenate([self.v, v], axis=-2)
        )

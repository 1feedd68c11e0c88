"""What every attention with several heads shares: its weights, and the keys and values it
remembers.
"""

from math import sqrt
from typing import Any, TypeVar

import numpy as np

from handformer.axes import Array, BoolArray, record
from handformer.errors import InputError
from handformer.layers.layer import Layer, uniform
from handformer.ops.drops import NO_DROPOUT

# A mask that hides nothing, and one that drops nothing, where no record keeps them.
EVERYTHING = NO_DROPOUT.keep((), 0.0)

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
        return np.broadcast_to(self.every_head(mask), scores_shape)

    def every_head(self, mask: BoolArray | None) -> BoolArray:
        """The mask (..., t, s) with an axis for the heads; None hides nothing.

        Raises
        ------
        InputError
            for a mask that isn't boolean
        """
        if mask is None:
            return EVERYTHING
        if mask.dtype != np.bool_:
            raise InputError(
                f"the mask is of dtype {mask.dtype}, expected bool, true where a key may be seen; "
                "of a mask that is added to the scores, that is mask == 0"
            )
        return mask[..., None, :, :]

    def scores_shape(self, x: Array, n_keys: int) -> tuple[int, ...]:
        """(..., h, t, s)."""
        return (*x.shape[:-2], self.n_heads, x.shape[-2], n_keys)


class Room:
    """Memory with place for tokens to come, in which a past grows without being copied.

    k, v have shape (b, g, capacity, d_k). `tip` holds the longest keys and values that were given
    out. Whoever takes them out may write behind them: a second continuation finds them gone.
    """

    def __init__(self, k: Array, v: Array, capacity: int) -> None:
        """The tokens of k, v (b, g, s, d_k), and place for others."""
        *leading, n, d_k = k.shape
        self.k, self.v = (np.empty((*leading, capacity, d_k), k.dtype) for _ in range(2))
        self.k[..., :n, :], self.v[..., :n, :] = k, v
        self._give(n)

    def after(self, k: Array, v: Array, n: int) -> tuple[Array, Array] | None:
        """The tip k, v with n tokens more; None where they aren't the tip (any more), or no place.

        What stands in the places of the new tokens is the caller's to write.
        """
        end = k.shape[-2] + n
        if end > self.k.shape[-2]:
            return None
        mine = self.tip.pop(id(k), None)  # in one step, so only one thread can have it
        return self._give(end) if mine is not None and mine[1] is v else None

    def _give(self, n: int) -> tuple[Array, Array]:
        tip = self.k[..., :n, :], self.v[..., :n, :]
        self.tip = {id(tip[0]): tip}
        return tip


@record
class KeysValues:
    """Keys (as they are compared: turned, where positions are rotary) and values of earlier tokens.

    k, v have shape (b, g, s, d_k); where they have grown, they are the beginning of a `room`.
    """

    k: Array
    v: Array
    room: Room | None = None

    def then(self, k: Array, v: Array) -> "KeysValues":
        """These and, after them, those of the new tokens. Nothing that was there changes."""
        longer, before = self.longer(k.shape[-2]), self.k.shape[-2]
        longer.k[..., before:, :], longer.v[..., before:, :] = k, v
        return longer

    def longer(self, n: int) -> "KeysValues":
        """These and, after them, n tokens of which the caller writes the keys and values.

        Where these are the tip of their room, the new places are the ones behind them. Otherwise
        all is copied to a room of twice the length: a token is copied about once, however many
        come.
        """
        room, tip = self.room, None
        if room is not None:
            tip = room.after(self.k, self.v, n)
        if room is None or tip is None:
            room = Room(self.k, self.v, 2 * (self.k.shape[-2] + n))
            ((k, v),) = room.tip.values()
            tip = room.after(k, v, n)
            assert tip is not None
        return KeysValues(*tip, room)

"""The same program in PyTorch: its gradients come from autograd, whatever is done forward.

An array that looks like NumPy's and is a tensor inside, so that one text serves both.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


def _torch() -> Any:
    import torch

    return torch


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """A tensor with NumPy's face."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    @classmethod
    def leaf(cls, array: Any) -> "Traced":
        return cls(_torch().tensor(array, requires_grad=True))

    def retained(self) -> "Traced":
        """The same values as a step of their own, whose gradient is kept."""
        tensor = self.tensor.view_as(self.tensor)
        if tensor.requires_grad:
            tensor.retain_grad()
        return Traced(tensor)

    @property
    def value(self) -> Any:
        return self.tensor.detach().numpy()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        return int(self.tensor.ndim)

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def T(self) -> "Traced":  # noqa: N802
        return Traced(self.tensor.permute(*reversed(range(self.ndim))))

    def __len__(self) -> int:
        return len(self.tensor)

    def __iter__(self) -> Any:
        return (Traced(part) for part in self.tensor)

    def __getitem__(self, place: Any) -> "Traced":
        places = place if isinstance(place, tuple) else (place,)
        return Traced(self.tensor[tuple(_index(one) for one in places)])

    def astype(self, dtype: Any) -> "Traced":
        name = {4: _torch().float32, 8: _torch().float64}[np.dtype(dtype).itemsize]
        return Traced(self.tensor.to(name))

    def reshape(self, *shape: Any) -> "Traced":
        return Traced(self.tensor.reshape(*shape))

    def swapaxes(self, one: int, other: int) -> "Traced":
        return Traced(self.tensor.swapaxes(one, other))

    def transpose(self, *axes: int) -> "Traced":
        return Traced(self.tensor.permute(*axes))

    def copy(self) -> "Traced":
        return self

    def sum(self, axis: Any = None, keepdims: bool = False) -> "Traced":
        return Traced(self.tensor.sum(dim=axis, keepdim=keepdims))

    def mean(self, axis: Any = None, keepdims: bool = False) -> "Traced":
        return Traced(self.tensor.mean(dim=axis, keepdim=keepdims))

    def max(self, axis: Any = None, keepdims: bool = False, **_: Any) -> "Traced":
        if axis is None:
            return Traced(self.tensor.max())
        return Traced(self.tensor.amax(dim=axis, keepdim=keepdims))

    def var(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> "Traced":
        return Traced(self.tensor.var(dim=axis, correction=ddof, keepdim=keepdims))

    def erf(self) -> "Traced":
        return Traced(_torch().erf(self.tensor))

    def through(self, change: Callable[[Any], Any]) -> "Traced":
        """Other values, as a cast makes them; the gradient passes as if nothing had been done."""
        moved = _torch().from_numpy(change(self.value) - self.value)
        return Traced(self.tensor + moved)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **_: Any) -> Any:
        assert method == "__call__"
        if ufunc.__name__ in ("greater", "isfinite"):
            return ufunc(*(one.value if isinstance(one, Traced) else one for one in given))
        name = {"absolute": "abs", "power": "pow"}.get(ufunc.__name__, ufunc.__name__)
        return Traced(getattr(_torch(), name)(*(self._tensor(one) for one in given)))

    def __array_function__(self, function: Any, _: Any, given: Any, named: Any) -> Any:
        return FUNCTIONS[function.__name__](self, *given, **named)

    def _tensor(self, one: Any) -> Any:
        if isinstance(one, Traced):
            return one.tensor
        if isinstance(one, np.ndarray):
            one = one.astype(self.dtype) if one.dtype.kind == "f" else one
            return _torch().from_numpy(one.copy())
        return _torch().tensor(one, dtype=self.tensor.dtype)


def _index(place: Any) -> Any:
    return _torch().from_numpy(place) if isinstance(place, np.ndarray) else place


def _where(like: Traced, mask: Any, one: Any, other: Any) -> Traced:
    mask = _torch().from_numpy(np.array(mask))
    return Traced(_torch().where(mask, like._tensor(one), like._tensor(other)))


def _joined(name: str) -> Callable[..., Traced]:
    def join(like: Traced, parts: Any, axis: int = 0) -> Traced:
        return Traced(getattr(_torch(), name)([like._tensor(part) for part in parts], dim=axis))

    return join


def _split(like: Traced, x: Traced, parts: Any, axis: int = 0) -> list[Traced]:
    cuts = parts if isinstance(parts, int) else [int(cut) for cut in parts]
    return [Traced(part) for part in _torch().tensor_split(x.tensor, cuts, dim=axis)]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": _where,
    "concatenate": _joined("cat"),
    "stack": _joined("stack"),
    "split": _split,
    "max": lambda _, x, axis=None, keepdims=False: x.max(axis, keepdims),
    "tile": lambda _, x, times: Traced(_torch().tile(x.tensor, np.atleast_1d(times).tolist())),
    "repeat": lambda _, x, times, axis: Traced(x.tensor.repeat_interleave(times, dim=axis)),
    "broadcast_to": lambda _, x, shape: Traced(x.tensor.broadcast_to(shape)),
    "einsum": lambda like, text, *parts: Traced(
        _torch().einsum(text, *(like._tensor(part) for part in parts))
    ),
}


def plain(array: Any) -> Any:
    return array.value if isinstance(array, Traced) else array


# The values whose gradients the cases have under d_ and their name.
KEPT = {
    *("q", "k", "v", "q_rot", "k_rot", "scores", "attn", "attn_kept", "context", "out", "mid"),
    *("x", "x_hat", "pre", "post", "act", "gate", "up", "source_x"),
}


def gradients(values: dict[str, Any], weights: dict[str, Any]) -> dict[str, Any]:
    """Every gradient of the loss, by path: of values that were written, and of weights."""
    values["loss.loss"].tensor.backward()
    found = {}
    for path, value in (values | weights).items():
        layer, _, name = path.rpartition(".")
        wanted = path in weights or name in KEPT
        if wanted and isinstance(value, Traced) and value.tensor.grad is not None:
            found[f"{layer}.d_{name}" if layer else f"d_{name}"] = value.tensor.grad.numpy()
    return found

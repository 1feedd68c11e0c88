"""Optimizers: from weights and gradients to new weights, pure functions on `{dotted path: array}`.

Decay       decoupled: the weight itself shrinks by lr * weight_decay, before the step along the
            gradient, and the moments never see it. Only matrices decay (two or more axes;
            embeddings are matrices). Vectors, that is biases and the gains of norms, never do:
            shrinking them doesn't simplify the function, it only moves its scale and centre.
Counter     one for all weights, 1 on the first update. The averages m and v begin at 0 and are too
            small by the factor 1 - beta ** step; dividing by it makes the first update full-sized.
Delicate    eps stands outside the root: inside, it would act as its own root, 1e-4 for 1e-8.
Source      Kingma and Ba 2015, algorithm 1 (Adam); Loshchilov and Hutter 2019, algorithm 2 (the
            decoupled decay, with the schedule's rate in front of both terms; decay first).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from handformer.axes import Array, record
from handformer.errors import InputError
from handformer.formula import Sheet

# One AdamW update of a matrix w. For a vector weight_decay is 0, and the index i falls away.
FORMULAS = Sheet.parse("""
    m_new[i,j] = beta_1 * m[i,j] + (1 - beta_1) * d_w[i,j]
    v_new[i,j] = beta_2 * v[i,j] + (1 - beta_2) * d_w[i,j] * d_w[i,j]
    m_hat[i,j] = m_new[i,j] / (1 - beta_1 ** step)
    v_hat[i,j] = v_new[i,j] / (1 - beta_2 ** step)
    decayed[i,j] = w[i,j] - lr * weight_decay * w[i,j]
    w_new[i,j] = decayed[i,j] - lr * m_hat[i,j] / (sqrt(v_hat[i,j]) + eps)
""")

# One SGD update of a matrix w.
SGD_FORMULAS = Sheet.parse("""
    velocity_new[i,j] = momentum * velocity[i,j] + d_w[i,j]
    decayed[i,j] = w[i,j] - lr * weight_decay * w[i,j]
    w_new[i,j] = decayed[i,j] - lr * velocity_new[i,j]
""")

Weights = Mapping[str, Array]
_STEP = "step"


@record
class State:
    """What an optimizer remembers between updates.

    `step` counts the updates made; `moments` holds, by its name in the formulas (`m`, `v`,
    `velocity`), one array for each weight, of the weight's shape and dtype.
    """

    step: int
    moments: dict[str, dict[str, Array]]

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The state as one flat dict for a checkpoint: `step`, `m/blocks.0.attention.w_q`, ..."""
        flat: dict[str, NDArray[np.generic]] = {_STEP: np.array(self.step, dtype=np.int64)}
        for name, arrays in self.moments.items():
            flat |= {f"{name}/{path}": array for path, array in arrays.items()}
        return flat

    @classmethod
    def from_arrays(cls, flat: Mapping[str, NDArray[np.generic]]) -> "State":
        """The state that `arrays` flattened.

        Raises
        ------
        InputError
            if there is no step, or an entry that isn't a moment of a weight
        """
        step = flat.get(_STEP)
        if step is None or step.shape != () or step.dtype.kind not in "iu" or int(step) < 0:
            raise InputError("the optimizer's state holds no step count: the checkpoint is damaged")
        moments: dict[str, dict[str, Array]] = {}
        for key, array in flat.items():
            name, slash, path = key.partition("/")
            if slash and array.dtype.kind == "f":
                moments.setdefault(name, {})[path] = array  # type: ignore[assignment]
            elif key != _STEP:
                raise InputError(
                    f"the optimizer's state holds {key!r} ({array.dtype}), which is no moment of a "
                    "weight: the checkpoint is damaged"
                )
        return cls(int(step), moments)


class Optimizer(Protocol):
    """What the training loop asks of an optimizer."""

    def init(self, params: Weights) -> State:
        """The state before the first update."""
        ...

    def update(
        self, params: Weights, grads: Weights, state: State, lr: float
    ) -> tuple[dict[str, Array], State]:
        """New weights and the new state; nothing is changed in place."""
        ...


@dataclass(frozen=True, slots=True)
class AdamW:
    """Adam with decoupled decay: each weight's step is scaled by its own past gradients' size."""

    beta_1: float = 0.9
    beta_2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.1

    def init(self, params: Weights) -> State:
        """Both moments 0, no update made."""
        return State(0, {"m": _zeros(params), "v": _zeros(params)})

    def update(
        self, params: Weights, grads: Weights, state: State, lr: float
    ) -> tuple[dict[str, Array], State]:
        """One update of every weight at the rate `lr`.

        Parameters
        ----------
        params, grads
            weights and dL/dw under the same paths, with the same shapes
        state
            from `init` or the last update

        Raises
        ------
        InputError
            if the state belongs to other weights or to another optimizer, or if the square of a
            gradient overflows its dtype
        """
        _require_same(params, grads, state, ("m", "v"))
        beta_1, beta_2, eps = self.beta_1, self.beta_2, self.eps
        step, lr = state.step + 1, float(lr)  # a NumPy float64 would widen float32 weights
        new: dict[str, Array] = {}
        m_all: dict[str, Array] = {}
        v_all: dict[str, Array] = {}
        for path, w in params.items():
            d_w = grads[path]
            m_new = beta_1 * state.moments["m"][path] + (1 - beta_1) * d_w
            v_new = beta_2 * state.moments["v"][path] + (1 - beta_2) * square(d_w, path)
            m_hat = m_new / (1 - beta_1**step)
            v_hat = v_new / (1 - beta_2**step)
            decayed = _decayed(w, lr, self.weight_decay)
            new[path] = decayed - lr * m_hat / (np.sqrt(v_hat) + eps)
            m_all[path], v_all[path] = m_new, v_new
        return new, State(step, {"m": m_all, "v": v_all})


@dataclass(frozen=True, slots=True)
class SGD:
    """Gradient descent by batches. With momentum, along a fading sum of all gradients so far."""

    momentum: float = 0.0
    weight_decay: float = 0.0

    def init(self, params: Weights) -> State:
        """No update made; a velocity only where there is momentum."""
        return State(0, {"velocity": _zeros(params)} if self.momentum else {})

    def update(
        self, params: Weights, grads: Weights, state: State, lr: float
    ) -> tuple[dict[str, Array], State]:
        """One update of every weight at the rate `lr`: as `AdamW.update`, without its overflow."""
        _require_same(params, grads, state, ("velocity",) if self.momentum else ())
        lr = float(lr)
        velocity: Weights = grads
        if self.momentum:
            old = state.moments["velocity"]
            velocity = {path: self.momentum * old[path] + d_w for path, d_w in grads.items()}
        new = {
            path: _decayed(w, lr, self.weight_decay) - lr * velocity[path]
            for path, w in params.items()
        }
        kept = {"velocity": dict(velocity)} if self.momentum else {}
        return new, State(state.step + 1, kept)


def _zeros(params: Weights) -> dict[str, Array]:
    return {path: np.zeros_like(w) for path, w in params.items()}


def _decayed(w: Array, lr: float, weight_decay: float) -> Array:
    return w - lr * weight_decay * w if w.ndim >= 2 else w


def square(d_w: Array, path: str) -> Array:
    """The squares of the gradient of the weight at `path`.

    Raises
    ------
    InputError
        where one overflows the dtype
    """
    try:
        with np.errstate(over="raise"):
            return d_w * d_w
    except FloatingPointError:
        raise InputError(
            f"the gradient of {path} reaches {float(np.abs(d_w).max()):.3g}, "
            f"whose square overflows {d_w.dtype}: lower the learning rate or clip the gradients"
        ) from None


def _require_same(params: Weights, grads: Weights, state: State, moments: tuple[str, ...]) -> None:
    """Weights, gradients and state must speak of the same things: a state may come from a file."""
    assert grads.keys() == params.keys(), sorted(grads.keys() ^ params.keys())
    if set(state.moments) != set(moments):
        raise InputError(
            f"the optimizer's state holds {sorted(state.moments) or 'no moments'}, expected "
            f"{sorted(moments) or 'none'}: it was saved by an optimizer of other settings"
        )
    for name in moments:
        for path in params.keys() | state.moments[name].keys():
            w, moment = params.get(path), state.moments[name].get(path)
            if w is None or moment is None or w.shape != moment.shape or w.dtype != moment.dtype:
                raise InputError(
                    f"the optimizer's state doesn't fit the model: {name} of {path} is "
                    f"{_form(moment)}, the weight is {_form(w)}"
                )


def _form(array: Array | None) -> str:
    return "absent" if array is None else f"{array.dtype} {array.shape}"

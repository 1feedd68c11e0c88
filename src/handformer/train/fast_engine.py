"""The compiled engine: shares of a batch on threads of their own, weights updated in place."""

import math
from collections.abc import Sequence

import numpy as np

from handformer import fast, tree
from handformer.axes import Array
from handformer.fast import adamw
from handformer.models import Model
from handformer.ops.drops import Drops
from handformer.train import clipping, step
from handformer.train.engine import Engine, overflow_named, require_finite_norm
from handformer.train.optimizer import AdamW, Optimizer, State, square
from handformer.train.step import Batch, Gradients, Pass, require_finite


class FastEngine(Engine):
    """Compiled ops; with AdamW, the model and state that it owns change in place.

    The gradients, and every value of the last round of passes, stay valid until the next call.
    """

    ops = fast

    @property
    def nbytes(self) -> int:
        """The memory that is kept from one step to the next."""
        return self.workers.nbytes

    def own(self, model: Model, state: State) -> tuple[Model, State]:
        """Both, with arrays that are contiguous and may be written to: mostly those given."""

        def mine(_: str, array: Array) -> Array:
            return np.require(array, requirements=["C", "W", "O"])

        moments = {
            name: {path: mine(path, array) for path, array in arrays.items()}
            for name, arrays in state.moments.items()
        }
        return tree.transform(model, mine), State(state.step, moments)

    def gradients(
        self, model: Model, batches: Sequence[Batch], *, smoothing: float, drop: Drops
    ) -> Gradients:
        """Loss and gradients: `step.gradients`, several micro-batches at a time."""
        total = sum(batch.count for batch in batches)
        loss, summed, squares = 0.0, dict[str, Array](), dict[str, float]()

        def run(item: tuple[Batch, Drops]) -> Pass:
            return step.passed(model, item[0], total, smoothing, item[1], self.ops)

        places = step.places(drop, batches)
        for made in self.rounds(run, places):
            loss += sum(one.loss for one in made)
            parts = [one.grads for one in made]
            if len(places) > self.shares:  # the next round writes over this one's
                first = summed or {path: array.copy() for path, array in parts.pop(0).items()}
                parts.insert(0, first)
            sums = adamw.add_up([list(part.values()) for part in parts], self.workers)
            summed, squares = parts[0], dict(zip(parts[0], sums, strict=True))
        found = Gradients(loss, summed, squares)
        if not (math.isfinite(loss) and math.isfinite(found.norm)):
            # Once more, one after the other, to name the number that was first.
            step.gradients(model, batches, smoothing=smoothing, drop=drop, ops=self.ops)
        return found

    def update(
        self, model: Model, found: Gradients, state: State, optimizer: Optimizer, clip: float,
        lr: float,
    ) -> tuple[Model, State]:  # fmt: skip
        """Clip, and make one update: in place, if the optimizer is AdamW.

        Raises
        ------
        NonFiniteError
            where the norm, a square or a new weight isn't finite
        """
        if not isinstance(optimizer, AdamW):
            return super().update(model, found, state, optimizer, clip, lr)
        require_finite_norm(found)
        params = tree.flatten(model)
        grads = [found.grads[path] for path in params]
        m, v = ([state.moments[name][path] for path in params] for name in ("m", "v"))
        rates = adamw.Rates(
            float(lr), optimizer.beta_1, optimizer.beta_2, optimizer.eps, optimizer.weight_decay,
            state.step + 1, clipping.factor(found.norm, clip),
        )  # fmt: skip
        if not adamw.update(list(params.values()), grads, (m, v), rates, self.workers):
            with overflow_named():
                for path, d_w in found.grads.items():
                    square(d_w * rates.scale, path)
            require_finite("updated weight", params)
        return model, State(state.step + 1, state.moments)

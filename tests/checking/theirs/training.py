"""Somebody else's updates: micro-batches, clipping, schedule, AdamW and SGD, in NumPy by hand.

`run` takes what a case gives (losses, gradients and counts of micro-batches, the first weights) and
gives what a program would write of each update. Every mistake of the catalogue's sections 15 to 18
can be made in it, by name.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

Arrays = dict[str, Any]

# Which rows are made here, in which form, and after `|` in which case; the path of the first value
# that is wrong in a dump of all that is written, and the rows that may be named in its place.
ROWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "ACC-1:means": ("steps.0.loss", ()),
    "ACC-1:sums": ("steps.0.loss", ()),
    "ACC-1:means, of gradients": ("steps.0.grads.*", ()),
    "ACC-2": ("steps.0.loss", ()),
    "ACC-2:of gradients": ("steps.0.grads.*", ()),
    "ACC-3:kept": ("steps.1.grads.*", ()),
    "ACC-3:first twice": ("steps.0.grads.*", ()),
    "ACC-3:cleared too early": ("steps.0.grads.*", ()),
    "ACC-4:alone": ("steps.0.grads.*", ()),
    "ACC-4:by the count": ("steps.0.grads.*", ()),
    "ACC-4:by the number": ("steps.0.grads.*", ()),
    "ACC-5": ("steps.4.m.*", ()),
    "CLIP-1": ("steps.1.clipped.*", ()),
    "CLIP-2:each": ("steps.1.grads.*", ()),
    "CLIP-2:sum": ("steps.3.grads.*", ()),
    "CLIP-3|scaled": ("steps.0.norm", ()),
    "CLIP-4:value": ("steps.1.clipped.*", ()),
    "CLIP-4:update": ("steps.1.clipped.*", ()),
    "CLIP-5:always": ("steps.0.clipped.*", ()),
    "CLIP-5:no root": ("steps.0.norm", ()),
    "OPT-1:both": ("steps.0.params.*", ()),
    "OPT-1:m": ("steps.0.params.*", ()),
    "OPT-1:v": ("steps.0.params.*", ()),
    "OPT-1:no power": ("steps.1.params.*", ("OPT-3", "ACC-5")),
    "OPT-2": ("steps.0.params.*", ("OPT-3",)),
    "OPT-3:0": ("steps.0.params.*", ("ACC-5",)),
    "OPT-3:2": ("steps.0.params.*", ("OPT-2",)),
    "OPT-3:epochs": ("steps.1.params.*", ("OPT-1", "ACC-5")),
    "OPT-4:inside": ("steps.0.params.*", ()),
    "OPT-4:before": ("steps.0.params.*", ()),
    "OPT-5:L2": ("steps.0.m.*", ()),
    "OPT-5:none": ("steps.0.params.*", ()),
    "OPT-6": ("steps.0.params.*", ()),
    "OPT-7": ("steps.0.params.*", ()),
    "OPT-8": ("steps.0.params.*", ()),
    "OPT-9": ("steps.0.params.embedding.table", ()),
    "OPT-10": ("steps.0.lr", ()),
    "OPT-11": ("steps.2.params.adapter.w", ()),
    "LR-1": ("steps.0.lr", ()),
    "LR-2:all steps but one": ("steps.2.lr", ()),
    "LR-2:all steps": ("steps.2.lr", ()),
    "LR-2:one more": ("steps.3.lr", ()),
    "LR-3:rises": ("steps.2.lr", ()),
    "LR-3:stays": ("steps.3.lr", ()),
    "LR-3:swapped": ("steps.0.lr", ()),
    "LR-3:rises|constant": ("steps.2.lr", ()),
    "LR-4|no-room": ("steps.3.lr", ()),
    "LR-5:micro": ("steps.2.lr", ()),
    "LR-5:micro, and this one's": ("steps.0.lr", ()),
    "LR-5:micro, before it": ("steps.0.lr", ()),
    "LR-5:epochs": ("steps.1.lr", ("LR-1",)),
    "OPT-5:L2|sgd": ("steps.0.velocity.*", ()),
    "OPT-6|sgd": ("steps.0.params.*", ()),
    "OPT-7|sgd": ("steps.0.params.*", ()),
    "OPT-8|sgd": ("steps.0.params.*", ()),
    "OPT-9|sgd": ("steps.0.params.embedding.table", ()),
    "ACC-5|sgd": ("steps.4.velocity.*", ()),
}
HARMLESS = {"CLIP-5:PyTorch": "clip_grad_norm_ adds 1e-6 to the norm"}
CANNOT = {
    "CLIP-1, by groups": "which weights a group holds is in no dump",
    "LR-4, s ** -0.5": "no schedule here has that form",
    "OPT-9, copies that diverge": "a case has one path for a tied weight, and one gradient",
}


def run(
    given: Mapping[str, Any], settings: Mapping[str, float], wrong: str = "", dtype: Any = float
) -> Arrays:
    """Every value of every update, by path.

    Parameters
    ----------
    given
        what the case gives, by path
    settings
        the numbers of optimizer, clipping and schedule; an optimizer with beta_1 is AdamW
    wrong
        which mistake is made
    """
    program = _Program(given, settings, wrong.partition("|")[0], np.dtype(dtype))
    for step in range(1 + max(int(path.split(".")[1]) for path in given if path[:5] == "steps")):
        program.update(step)
    return program.written


class _Program:
    def __init__(
        self, given: Mapping[str, Any], settings: Mapping[str, float], wrong: str, dtype: Any
    ) -> None:
        self.given, self.set, self.wrong, self.dtype = given, settings, wrong, dtype
        self.adam = "beta_1" in settings
        self.weights = self.begin("params")
        self.first = self.begin("m" if self.adam else "velocity")
        self.second = self.begin("v")
        self.buffers = self.begin("grads")
        self.times = dict.fromkeys(self.weights, 0)
        self.raised = 0  # a counter that every weight raises
        self.stored = 1.0  # a rate that is corrected again and again
        self.micro = 0  # micro-batches of all updates before
        self.written: Arrays = {}

    def begin(self, name: str) -> Arrays:
        start = f"start.{name}."
        return {
            path[len(start) :]: np.array(array, self.dtype)
            for path, array in self.given.items()
            if path.startswith(start)
        }

    def write(self, step: int, name: str, array: Any) -> None:
        floating = np.asarray(array).dtype.kind == "f"
        self.written[f"steps.{step}.{name}"] = np.array(array, self.dtype if floating else None)

    def update(self, step: int) -> None:
        at = f"steps.{step}.micro."
        counts = self.given[f"{at}counts"]
        scaled = f"{at}scaled." if self.set["loss_scale"] != 1 else f"{at}grads."
        parts = {
            path[len(scaled) :]: np.array(array, self.dtype) / self.dtype.type(self.scale)
            for path, array in self.given.items()
            if path.startswith(scaled)
        }
        self.write(step, "loss", self.loss(np.array(self.given[f"{at}losses"], self.dtype), counts))
        self.accumulate(parts, counts)
        if self.wrong == "ACC-3:first twice" and step == 0:
            self.accumulate(parts, counts)
        if self.wrong == "ACC-3:cleared too early":
            self.clear(parts)
        grads = {path: self.buffers[path].copy() for path in parts}
        for path, grad in grads.items():
            self.write(step, f"grads.{path}", grad)
        clipped = self.clipped(step, grads)
        rate = self.rate(step, len(counts))
        if self.wrong == "OPT-10":
            t = step + 1
            self.stored *= math.sqrt(1 - self.set["beta_2"] ** t) / (1 - self.set["beta_1"] ** t)
            rate *= self.stored
        self.write(step, "lr", rate)
        if not (self.wrong == "ACC-5" and len(counts) < 2):
            for path in parts:
                self.step(step, path, clipped[path], rate)
        for path, weight in self.weights.items():
            self.write(step, f"params.{path}", weight)
            self.write(step, f"{'m' if self.adam else 'velocity'}.{path}", self.first[path])
            if self.adam:
                self.write(step, f"v.{path}", self.second[path])
        if self.wrong != "ACC-3:kept":
            self.clear(parts)
        self.micro += len(counts)

    @property
    def scale(self) -> float:
        return self.set["loss_scale"]

    def loss(self, losses: Any, counts: Any) -> Any:
        if self.wrong == "ACC-1:means":
            return losses.sum()
        if self.wrong == "ACC-1:sums":
            return (losses * counts).sum()
        if self.wrong == "ACC-2":
            return losses.mean()
        return np.dot(losses, counts.astype(self.dtype)) / self.dtype.type(counts.sum())

    def clear(self, paths: Any) -> None:
        for path in paths:
            self.buffers[path] = np.zeros_like(self.buffers[path])

    def accumulate(self, parts: Arrays, counts: Any) -> None:
        number = len(counts)
        for place, count in enumerate(counts):
            share = float(count) / float(sum(counts))
            if self.wrong in ("ACC-1:means", "ACC-1:means, of gradients", "ACC-4:alone"):
                share = 1.0
            elif self.wrong == "ACC-1:sums":
                share = float(count)
            elif self.wrong in ("ACC-2", "ACC-2:of gradients", "ACC-4:by the number"):
                share = 1 / number
            if self.wrong.startswith("ACC-4"):
                self.clear(parts)
            own = {path: each[place] for path, each in parts.items()}
            if self.wrong == "CLIP-2:each":
                own = self.shortened(own)
            for path, grad in own.items():
                self.buffers[path] = self.buffers[path] + self.dtype.type(share) * grad
            if self.wrong == "CLIP-2:sum" and place < number - 1:
                self.buffers |= self.shortened({path: self.buffers[path] for path in parts})

    def shortened(self, grads: Arrays) -> Arrays:
        factor = min(1.0, self.set["limit"] / length(grads))
        return {path: grad * self.dtype.type(factor) for path, grad in grads.items()}

    def clipped(self, step: int, grads: Arrays) -> Arrays:
        limit, norm = self.set["limit"], length(grads)
        if self.wrong == "CLIP-3":
            norm *= self.scale
        if self.wrong == "CLIP-5:no root":
            norm = norm**2
        self.write(step, "norm", norm)
        factor = min(1.0, limit / norm) if norm else 1.0
        if self.wrong == "CLIP-5:always":
            factor = limit / norm
        if self.wrong == "CLIP-5:PyTorch":
            factor = min(1.0, limit / (norm + 1e-6))
        if self.wrong == "CLIP-4:update":
            factor = 1.0
        new = {path: grad * self.dtype.type(factor) for path, grad in grads.items()}
        if self.wrong == "CLIP-1":
            new = {path: self.shortened({path: grad})[path] for path, grad in grads.items()}
        if self.wrong == "CLIP-4:value":
            new = {path: np.clip(grad, -limit, limit) for path, grad in grads.items()}
        for path, grad in new.items():
            self.write(step, f"clipped.{path}", grad)
        return new

    def rate(self, step: int, micro: int) -> float:
        peak, rise = self.set["peak_lr"], self.set["warmup"]
        ends = self.set.get("steps")
        clock = {
            "LR-5:micro": self.micro,
            "LR-5:micro, and this one's": self.micro + micro - 1,
            "LR-5:micro, before it": self.micro + micro,
            "LR-5:epochs": 0,
        }.get(self.wrong, step)
        if self.wrong == "LR-3:swapped":
            rise, ends = ends, rise
        if clock < rise or self.wrong == "LR-3:rises":
            return peak * (clock + (self.wrong != "LR-1")) / rise
        if ends is None or self.wrong == "LR-3:stays":
            return peak
        begun, length = clock - rise, ends - 1 - rise
        if self.wrong == "LR-4":
            with np.errstate(all="ignore"):
                passed = float(np.float64(begun) / length)
        elif length <= 0:
            return peak
        elif self.wrong.startswith("LR-2"):
            passed = {
                "LR-2:all steps but one": clock / (ends - 1),
                "LR-2:all steps": clock / ends,
                "LR-2:one more": begun / (length + 1),
            }[self.wrong]
        else:
            passed = min(1.0, begun / length)
        low = self.set["min_lr"]
        wave = math.cos(math.pi * passed) if math.isfinite(passed) else math.nan
        return low + (peak - low) * (1 + wave) / 2

    def step(self, step: int, path: str, grad: Any, rate: float) -> None:
        weight, matrix = self.weights[path], self.weights[path].ndim > 1
        decay = self.set["weight_decay"] if matrix or self.wrong == "OPT-8" else 0.0
        if self.wrong.startswith("OPT-5"):
            grad = grad + self.dtype.type(decay) * weight if self.wrong.endswith("L2") else grad
            decay = 0.0
        shrunk = decay if self.wrong == "OPT-6" else rate * decay
        move = self.moved(step, path, grad) * self.dtype.type(rate)
        shrink = self.dtype.type(1 - shrunk)
        twice = self.wrong == "OPT-9" and path == "embedding.table"
        for _ in range(1 + twice):
            late = self.wrong == "OPT-7"
            weight = (weight - move) * shrink if late else weight * shrink - move
        self.weights[path] = weight

    def moved(self, step: int, path: str, grad: Any) -> Any:
        """What the rate is multiplied by; the averages are new then."""
        if not self.adam:
            self.first[path] = self.dtype.type(self.set["momentum"]) * self.first[path] + grad
            return self.first[path]
        one, two = self.set["beta_1"], self.set["beta_2"]
        eps = self.dtype.type(self.set["eps"])
        self.first[path] = average(self.first[path], grad, one)
        self.second[path] = average(self.second[path], grad * grad, two)
        self.times[path] += 1
        self.raised += 1
        t = {
            "OPT-2": self.raised,
            "OPT-3:0": self.times[path] - 1,
            "OPT-3:2": self.times[path] + 1,
            "OPT-3:epochs": 1,
            "OPT-1:no power": 1,
            "OPT-11": step + 1,
        }.get(self.wrong, self.times[path])
        first, second = self.first[path], self.second[path]
        lack = [self.dtype.type(1 - beta**t) for beta in (one, two)]
        with np.errstate(all="ignore"):
            if self.wrong not in ("OPT-1:both", "OPT-1:m", "OPT-10"):
                first = first / lack[0]
            if self.wrong not in ("OPT-1:both", "OPT-1:v", "OPT-10"):
                second = second / lack[1]
            if self.wrong == "OPT-4:inside":
                return first / np.sqrt(second + eps)
            if self.wrong == "OPT-4:before":
                return first * np.sqrt(lack[1]) / (np.sqrt(self.second[path]) + eps)
            return first / (np.sqrt(second) + eps)


def average(old: Any, new: Any, beta: float) -> Any:
    kind = new.dtype.type
    return kind(beta) * old + kind(1 - beta) * new


def length(grads: Arrays) -> float:
    """The norm of all gradients together."""
    every = np.concatenate([np.ravel(grad) for grad in grads.values()])
    return float(np.sqrt(np.sum(np.square(every), dtype=np.float64)))

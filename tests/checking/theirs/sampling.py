"""Somebody else's samplers, with the mistakes of section 20 on demand.

A mistake is named by its row and form; it is made in every set-up where it can be.
"""

from typing import Any

import numpy as np

# The set-up and the value where each shows first, and which other rows say the same.
ROWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "SAMP-1": ("top_p.kept", ()),
    "SAMP-2": ("top_p_equals.kept", ()),
    "SAMP-3": ("top_p_whole.kept", ()),
    "SAMP-4": ("top_k.kept", ()),
    "SAMP-5:greedy": ("top_k.kept", ()),
    "SAMP-5:k-th smallest": ("top_k.kept", ()),
    "SAMP-6": ("entries.left_probs", ()),
    "SAMP-7": ("top_k_equals.kept", ()),
    "SAMP-8": ("greedy.left_probs", ()),
    "SAMP-9:twice": ("temperature.probs", ()),
    "SAMP-9:multiplied": ("temperature.probs", ()),
    "SAMP-10:afterwards": ("temperature_top_p.probs", ()),
    "SAMP-10:on probabilities": ("temperature_top_p.probs", ()),
    "SAMP-11": ("top_k_top_p.probs", ()),
    "SAMP-12": ("penalty.penalised", ()),
    "SAMP-13": ("last.logits", ()),
    "SAMP-14": ("entries.left_probs", ()),
    "SAMP-15": ("draw.probs", ()),
    "SAMP-15:negative": ("draw.probs", ()),
}
CANNOT: dict[str, str] = {}


def softmax(x: Any) -> Any:
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)


def run(given: dict[str, Any], numbers: dict[str, dict[str, float]], wrong: str = "") -> Any:
    """All values by path, from what is given (by path) and the numbers of each set-up."""
    found: dict[str, Any] = {}
    for name, own in numbers.items():
        inputs = {
            path.split(".")[1]: array for path, array in given.items() if path.split(".")[0] == name
        }
        made = _set_up(name, inputs, own, wrong)
        found |= {f"{name}.{value}": np.asarray(array) for value, array in made.items()}
    return found


def _set_up(name: str, given: dict[str, Any], own: dict[str, float], wrong: str) -> dict[str, Any]:
    if name == "last":
        return {"logits": _last(given["all_logits"], given["valid"], wrong)}
    logits = given["logits"]
    if name == "entries":
        kept = np.arange(logits.shape[-1]) < (99 if wrong == "SAMP-14" else own["n_entries"])
        return {"left_probs": _left(logits, np.broadcast_to(kept, logits.shape), wrong)}
    if name == "penalty":
        return {"penalised": _penalised(logits, given["seen"], own["penalty"], wrong)}
    if name == "temperature":
        return {"probs": softmax(_cooled(logits, own["value"], wrong))}
    if name == "greedy":
        return _greedy(logits, wrong)
    if name == "draw":
        return _drawn(logits, given["chance"], wrong)
    if name == "temperature_top_p":
        return _both(logits, own, wrong)
    if name.startswith("top_k"):
        return _top_k(logits, own, wrong)
    probs = softmax(logits)
    kept = _nucleus(probs, own["mass"], wrong) if "mass" in own else _likely(probs, own["share"])
    return {"probs": probs, "kept": kept, "left_probs": _left(logits, kept, wrong)}


def _last(logits: Any, valid: Any, wrong: str) -> Any:
    if wrong == "SAMP-13":
        return logits[:, -1]
    return np.array([row[real][-1] for row, real in zip(logits, valid, strict=True)])


def _left(logits: Any, kept: Any, wrong: str) -> Any:
    filler = 1e-10 if wrong == "SAMP-6" else -1e10
    return softmax(np.where(kept, logits, filler))


def _penalised(logits: Any, seen: Any, penalty: float, wrong: str) -> Any:
    found = logits.copy()
    for place in np.argwhere(seen):
        at = tuple(place)
        shrinks = logits[at] > 0 or wrong == "SAMP-12"
        found[at] = logits[at] / penalty if shrinks else logits[at] * penalty
    return found


def _cooled(logits: Any, value: float, wrong: str) -> Any:
    if wrong == "SAMP-9:twice":
        return logits / value / value
    return logits * value if wrong == "SAMP-9:multiplied" else logits / value


def _greedy(logits: Any, wrong: str) -> dict[str, Any]:
    kept = np.zeros(logits.shape, dtype=bool)
    kept[np.arange(len(logits)), logits.argmax(axis=-1)] = True
    if wrong == "SAMP-8":
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"left_probs": softmax(logits / 0.0)}
    return {"kept": kept, "left_probs": _left(logits, kept, wrong)}


def _top_k(logits: Any, own: dict[str, float], wrong: str) -> dict[str, Any]:
    k = int(own["k"]) + (wrong == "SAMP-4")
    order = np.argsort(-logits, axis=-1, kind="stable")
    ranks = np.argsort(order, axis=-1)
    kept = ranks < k
    least = -np.sort(-logits, axis=-1)[:, k - 1, None]
    if wrong == "SAMP-7":
        kept = logits >= least
    if wrong == "SAMP-5:greedy":
        kept = ranks < 1
    if wrong == "SAMP-5:k-th smallest":
        kept = ranks <= logits.shape[-1] - k
    if "mass" not in own:
        left = _left(logits, kept, wrong)
        return {"probs": softmax(logits), "kept": kept, "left_probs": left}
    probs = _left(logits, kept, wrong)
    if wrong == "SAMP-11":
        probs = np.where(kept, softmax(logits), 0)
    both = _nucleus(probs, own["mass"], wrong) & kept
    return {"probs": probs, "kept": both, "left_probs": _left(logits, both, wrong)}


def _nucleus(probs: Any, mass: float, wrong: str) -> Any:
    """Sorted, summed, cut, and put back."""
    order = np.argsort(-probs, axis=-1, kind="stable")
    summed = np.cumsum(np.take_along_axis(probs, order, axis=-1), axis=-1)
    count = (summed < mass).sum(axis=-1) + 1
    if wrong == "SAMP-1":
        count = np.maximum((summed <= mass).sum(axis=-1), 1)
    if wrong == "SAMP-2":
        count = (summed <= mass).sum(axis=-1) + 1
    if mass >= 1:
        count[:] = 1 if wrong == "SAMP-3" else probs.shape[-1]
    kept = np.zeros(probs.shape, dtype=bool)
    for row, n in enumerate(count):
        kept[row, order[row, :n]] = True
    return kept


def _likely(probs: Any, share: float) -> Any:
    return probs >= share * probs.max(axis=-1, keepdims=True)


def _both(logits: Any, own: dict[str, float], wrong: str) -> dict[str, Any]:
    value = own["value"]
    cooled = logits / value
    probs = softmax(logits if wrong.startswith("SAMP-10") else cooled)
    kept = _nucleus(probs, own["mass"], wrong)
    left = _left(cooled, kept, wrong)
    if wrong == "SAMP-10:on probabilities":
        weights = np.where(kept, probs, 0) / value
        left = weights / weights.sum(axis=-1, keepdims=True)
    return {"probs": probs, "kept": kept, "left_probs": left}


def _drawn(logits: Any, chance: Any, wrong: str) -> dict[str, Any]:
    probs = softmax(logits)
    if wrong == "SAMP-15":
        probs = logits / logits.sum(axis=-1, keepdims=True)
    if wrong == "SAMP-15:negative":
        probs = logits
    summed = np.cumsum(probs, axis=-1)
    return {
        "probs": probs,
        "token": (summed <= (chance * summed[:, -1])[:, None]).sum(axis=-1),
    }

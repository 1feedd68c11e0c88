"""Checkpoints: all that an unbroken run would have in memory, written aside and renamed.

    checkpoints/step-000500/weights.safetensors, optimizer.safetensors, state.json

Batches, masks and samples are drawn from (seed, step), so the step is the whole random state.
state.json holds the sha256 of the two other files: a damaged checkpoint is found before anything is
made of it.
"""

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from handformer.axes import Array
from handformer.errors import InputError
from handformer.train.optimizer import State

WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.safetensors", "state.json"
KEEP = 3


@dataclass(frozen=True)
class Checkpoint:
    """The weights and the optimizer's state after `step` updates."""

    step: int
    params: dict[str, Array]
    state: State


def write(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint below `folder`, whole or not at all, and leave only the newest three
    there.

    A checkpoint of that step that is there already stays: the same run comes to the same numbers.
    """
    place = folder / f"step-{checkpoint.step:06d}"
    if place.exists():
        return place
    aside = folder / f".{place.name}.{os.getpid()}.part"
    aside.mkdir(parents=True)
    try:
        sums = {}
        for name, arrays in (
            (WEIGHTS, checkpoint.params),
            (OPTIMIZER, checkpoint.state.arrays()),
        ):
            data = save({path: _contiguous(array) for path, array in arrays.items()})
            sums[name] = hashlib.sha256(data).hexdigest()
            _write(aside / name, data)
        state = {"step": checkpoint.step, "sha256": sums}
        _write(aside / STATE, (json.dumps(state, indent=2) + "\n").encode())
        os.replace(aside, place)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    for old in whole(folder)[:-KEEP]:
        shutil.rmtree(old)
    return place


def whole(folder: Path) -> list[Path]:
    """The checkpoints below `folder`, oldest first."""
    return sorted(folder.glob("step-*"), key=lambda path: (len(path.name), path.name))


def read(place: Path) -> Checkpoint:
    """Read a checkpoint.

    Raises
    ------
    InputError
        where a file is missing or damaged; the line names it and the cure
    """
    cure = "delete this checkpoint to go on from the one before it"
    try:
        state = json.loads((place / STATE).read_text(encoding="utf-8"))
        step, sums = int(state["step"]), dict(state["sha256"])
        arrays = {}
        for name in (WEIGHTS, OPTIMIZER):
            data = (place / name).read_bytes()
            if hashlib.sha256(data).hexdigest() != sums.get(name):
                raise InputError(f"{place / name}: damaged, its sha256 is another; {cure}")
            arrays[name] = load(data)
        return Checkpoint(step, arrays[WEIGHTS], State.from_arrays(arrays[OPTIMIZER]))
    except InputError:
        raise
    except OSError as error:
        raise InputError(
            f"{error.filename}: can't read the checkpoint: {error.strerror}; {cure}"
        ) from None
    except (ValueError, KeyError, TypeError, SafetensorError) as error:
        raise InputError(f"{place}: damaged checkpoint ({error}); {cure}") from None


def _contiguous(array: NDArray[Any]) -> NDArray[Any]:
    """safetensors writes a view's whole memory: give it memory of its own."""
    return np.asarray(array, order="C")  # keeps a single number one, as ascontiguousarray does not


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())

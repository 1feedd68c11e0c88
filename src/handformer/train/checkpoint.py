"""Checkpoints: all that an unbroken run would have in memory, written aside and renamed.

checkpoints/step-000500/ weights.safetensors, optimizer.safetensors, tokenizer.json, state.json

Batches, masks and samples are drawn from (seed, step), so the step is the whole random state.
state.json holds the sha256 of the other files: a damaged checkpoint is found before anything is
made of it.
"""

import hashlib
import json
import os
import re
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
from handformer.text import Tokenizer
from handformer.train import aside
from handformer.train.optimizer import State

WEIGHTS, OPTIMIZER, TOKENIZER = "weights.safetensors", "optimizer.safetensors", "tokenizer.json"
STATE = "state.json"
KEEP = 3


@dataclass(frozen=True)
class Checkpoint:
    """The weights and the optimizer's state after `step` updates, and the tokens' spelling."""

    step: int
    params: dict[str, Array]
    state: State
    tokenizer: Tokenizer


def write(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint below `folder`, whole or not at all, and leave only the newest three
    there.

    A checkpoint of that step that is there already stays: the same run comes to the same numbers.

    Raises
    ------
    OSError, InputError
        where the disk refuses; the checkpoints that are there stay
    """
    place = folder / f"step-{checkpoint.step:06d}"
    if place.exists():
        return place
    beside = aside.folder(place)
    beside.mkdir(parents=True)
    try:
        checkpoint.tokenizer.save(beside / TOKENIZER)
        aside.write(beside / WEIGHTS, _bytes(checkpoint.params))
        aside.write(beside / OPTIMIZER, _bytes(checkpoint.state.arrays()))
        sums = {
            name: _sha256((beside / name).read_bytes()) for name in (WEIGHTS, OPTIMIZER, TOKENIZER)
        }
        state = {"step": checkpoint.step, "sha256": sums}
        aside.write(beside / STATE, (json.dumps(state, indent=2) + "\n").encode())
        os.replace(beside, place)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    for old in whole(folder)[:-KEEP]:
        aside.remove(old)
    return place


def whole(folder: Path) -> list[Path]:
    """The checkpoints below `folder`, oldest first."""
    places = (place for place in folder.glob("step-*") if re.fullmatch(r"step-\d{6,}", place.name))
    return sorted(places, key=lambda place: int(place.name.removeprefix("step-")))


def read(place: Path) -> Checkpoint:
    """Read a checkpoint.

    Raises
    ------
    InputError
        where a file is missing or damaged; the line names it and the cure
    """
    try:
        state = json.loads((place / STATE).read_text(encoding="utf-8"))
        step, sums = state["step"], dict(state["sha256"])
        data = {name: (place / name).read_bytes() for name in (WEIGHTS, OPTIMIZER, TOKENIZER)}
        for name, content in data.items():
            if _sha256(content) != sums[name]:
                raise ValueError(f"{name} has another sha256 than {STATE} says")
        optimizer = State.from_arrays(load(data[OPTIMIZER]))
        for where, number in (("name", step), ("optimizer", optimizer.step)):
            if place.name != f"step-{number:06d}":
                raise ValueError(f"{STATE} says step {step}, its {where} another")
        return Checkpoint(step, load(data[WEIGHTS]), optimizer, Tokenizer.load(place / TOKENIZER))
    except OSError as error:
        wrong = f"{error.filename}: {error.strerror}"
    except (ValueError, KeyError, TypeError, SafetensorError) as error:
        wrong = str(error)
    raise InputError(
        f"{place}: damaged checkpoint ({wrong}); delete it to go on from the one before it"
    )


def _bytes(arrays: dict[str, Any]) -> bytes:
    return save({path: _contiguous(array) for path, array in arrays.items()})


def _contiguous(array: NDArray[Any]) -> NDArray[Any]:
    """safetensors writes a view's whole memory: give it memory of its own."""
    return np.asarray(array, order="C")  # keeps a single number one, as ascontiguousarray does not


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

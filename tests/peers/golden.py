"""What a peer computed for a case: a record, and the file that stands in where there is no peer."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from tests.peers.cases import Config

FOLDER = Path(__file__).parents[1] / "golden"

Arrays = dict[str, NDArray]


@dataclass(frozen=True)
class Golden:
    """A case with everything a peer computed for it. float64, token numbers int64, masks boolean.

    ``params`` and ``grads`` share their paths; ``inputs`` has the names of the peer's arguments.
    ``values`` holds intermediates and their gradients, ``blocks.0.attention.scores`` and
    ``blocks.0.attention.d_scores``, and at the end ``logits`` and ``d_logits``.
    """

    name: str
    config: Config
    params: Arrays
    inputs: Arrays
    targets: NDArray[np.int64]
    logits: NDArray[np.float64]
    loss: float
    grads: Arrays
    values: Arrays


def load(case_name: str) -> Golden:
    """Read the committed numbers of a case."""
    with safe_open(FOLDER / f"{case_name}.safetensors", framework="numpy") as file:
        about = json.loads(file.metadata()["case"])
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)

    def under(group: str) -> Arrays:
        return {
            key.removeprefix(group): array for key, array in arrays.items() if key.startswith(group)
        }

    inputs = under("input/")
    return Golden(
        name=about["name"],
        config=Config(**about["config"]),
        params=under("param/"),
        targets=inputs.pop("targets"),
        inputs=inputs,
        logits=arrays["logits"],
        loss=float(arrays["loss"]),
        grads=under("grad/"),
        values=under("value/"),
    )


def to_bytes(golden: Golden) -> bytes:
    """The file that ``load`` reads: the same bytes for the same numbers."""
    arrays = {"logits": golden.logits, "loss": np.array(golden.loss)}
    groups = {
        "param": golden.params,
        "input": golden.inputs | {"targets": golden.targets},
        "grad": golden.grads,
        "value": golden.values,
    }
    for group, members in groups.items():
        arrays |= {f"{group}/{path}": np.array(array, order="C") for path, array in members.items()}
    # One key only: safetensors writes its metadata in the order of a hash table.
    about = json.dumps({"name": golden.name, "config": asdict(golden.config)}, sort_keys=True)
    return save(arrays, metadata={"case": about})

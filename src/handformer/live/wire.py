"""A call and its answer as bytes between two processes: JSON, and the arrays as safetensors."""

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load, save

_LENGTHS = struct.Struct("<QQ")


def send(stream: BinaryIO, told: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write one message."""
    head = json.dumps(told).encode()
    blob = save({name: np.ascontiguousarray(array).reshape(array.shape)
                 for name, array in arrays.items()})  # fmt: skip
    stream.write(_LENGTHS.pack(len(head), len(blob)) + head + blob)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read one message.

    Raises
    ------
    EOFError
        where the other side has gone
    """
    head, blob = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    told: dict[str, Any] = json.loads(_exactly(stream, head))
    return told, load(_exactly(stream, blob))


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data

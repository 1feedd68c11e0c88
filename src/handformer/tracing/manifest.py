"""What a trace says of itself: the model, every value with its axes, and the formulas.

It stands as JSON in the file's metadata, so that any program with a reader of safetensors can use a
trace without us. The formulas are the text of the layers' own sheets: whoever reads the file can
execute them.
"""

from importlib.metadata import version
from math import prod
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from handformer.tracing.seen import Kind


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Value(_Part):
    """One value, in the order of the computation.

    path, also
        where it is made, and where else the same numbers are seen
    axes, shape
        the letters of its axes, and their lengths
    scope
        the path of the layer whose sheet states its formula; None: it comes from outside, or only
        some of its positions were kept
    tolerance
        what rounding explains of a difference between the value and its formula, as a part of the
        sum of the magnitudes of the terms; None for whole numbers, masks, and what has no formula
    source
        the letters of those axes that run along the source, of an encoder-decoder; all other
        positions are those of the tokens
    kept
        whether its numbers are in the trace
    """

    path: str
    kind: Kind
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    also: tuple[str, ...] = ()
    scope: str | None = None
    tolerance: float | None = None
    source: tuple[str, ...] = ()
    kept: bool = True

    @property
    def nbytes(self) -> int:
        """The memory that its numbers take."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


class Placed(_Part):
    """A layer where it stands: its class, the number of its sheet, and the numbers in it."""

    path: str
    layer: str
    sheet: int
    scalars: dict[str, float | int]


class Text(_Part):
    """The tokens' spellings, row by row; None where there is no such side."""

    tokens: list[list[str]]
    targets: list[list[str | None]]
    source: list[list[str]] | None = None


class Manifest(_Part):
    """All that is said of a trace.

    `positions` are those that axis t was cut to; None: it is whole.
    """

    format: Literal[1] = 1
    version: str = Field(default_factory=lambda: version("handformer"))
    name: str
    model: str
    config: dict[str, Any] | None
    dtype: str
    sheets: tuple[str, ...]
    scopes: tuple[Placed, ...]
    values: tuple[Value, ...]
    positions: tuple[int, ...] | None = None
    text: Text | None = None
    vocabulary: tuple[str, ...] | None = None

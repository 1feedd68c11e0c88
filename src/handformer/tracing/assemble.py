"""Put a trace together: what was found in a pass, and the layers that state it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from handformer.formula import Sheet
from handformer.tracing.entries import Entries, repeated
from handformer.tracing.manifest import Manifest, Placed, Text
from handformer.tracing.scopes import Scope
from handformer.tracing.seen import Found
from handformer.tracing.stated import Stated
from handformer.tracing.trace import Trace, sealed


def with_repeats(found: Sequence[Found], told: Stated, placed: Sequence[Scope]) -> list[Scope]:
    """The same layers; the outermost states of what is seen in two places that it is the same."""
    top, *parts = placed
    repeats = Sheet(tuple(repeated(found, told)))
    told.add(top.path, repeats)
    return [replace(top, sheet=top.sheet + repeats), *parts]


def assemble(
    found: Sequence[Found],
    told: Stated,
    placed: Sequence[Scope],
    *,
    name: str,
    model: str,
    dtype: str,
    config: Mapping[str, Any] | None = None,
    text: Text | None = None,
    vocabulary: tuple[str, ...] | None = None,
) -> Trace:
    """The trace of these values.

    Parameters
    ----------
    found
        every value, in the order of the computation
    told
        what all sheets state of them
    placed
        the layers where they stand
    """
    sheets = {id(scope.sheet): scope.sheet for scope in placed}
    numbers = {key: number for number, key in enumerate(sheets)}
    entries = Entries(told, placed, found)
    manifest = Manifest(
        name=name,
        model=model,
        config=None if config is None else dict(config),
        dtype=dtype,
        sheets=tuple(repr(sheet) for sheet in sheets.values()),
        scopes=tuple(
            Placed(
                path=scope.path, layer=scope.layer, sheet=numbers[id(scope.sheet)],
                scalars=dict(scope.scalars),
            )
            for scope in placed
        ),
        values=tuple(map(entries.value, found)),
        text=text,
        vocabulary=vocabulary,
    )  # fmt: skip
    return Trace(manifest, {entries.path(one): sealed(one.array) for one in found})

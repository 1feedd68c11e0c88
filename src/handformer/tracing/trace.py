"""A trace: every number of one forward and one backward pass, by path.

trace = hand.trace(model, "The cat sat")
trace["blocks.0.attention.attn"]
trace["blocks.0.attention.d_scores"]
trace.keys("*.attn")
trace.save("cat.safetensors")
trace = hand.Trace.load("cat.safetensors")      # opens at once; a value is read when asked for
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pydantic
from numpy.typing import NDArray

from handformer import aliases
from handformer.errors import InputError
from handformer.formula import FormulaError, Sheet
from handformer.formula.names import unknown
from handformer.tracing import file
from handformer.tracing.fit import require_fit
from handformer.tracing.manifest import Manifest, Value

if TYPE_CHECKING:
    from handformer.tracing.explanation import Explanation
    from handformer.tracing.notebook import Shown

AnyArray = NDArray[Any]
_ENTRIES = "nm"  # letters of the vocabulary


class Trace(Mapping[str, AnyArray]):
    """Arrays by path, with the manifest that explains them; none of them can be written to."""

    def __init__(self, manifest: Manifest, arrays: Mapping[str, AnyArray]) -> None:
        """Made by `hand.trace` and `Trace.load`; the arrays are read-only (see `sealed`)."""
        self.manifest = manifest
        self._arrays = arrays
        self._entries = {path: v for v in manifest.values for path in (v.path, *v.also)}
        self._placed = {scope.path: scope for scope in manifest.scopes}
        self._sheets: dict[int, Sheet] = {}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Trace":
        """Open a trace file; its numbers are read when they are asked for.

        Raises
        ------
        InputError
            where there is none, or it is damaged
        """
        where = Path(path)
        opened = file.File(where)
        try:
            manifest = Manifest.model_validate_json(opened.manifest)
            require_fit(manifest, opened)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            at = ".".join(map(str, first["loc"])) or "the manifest"
            raise InputError(f"{where}: damaged manifest: {at}: {first['msg']}") from None
        except (ValueError, FormulaError) as error:
            raise InputError(f"{where}: damaged manifest: {error}") from None
        return cls(manifest, _Mapped(opened))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace as one file, whole or not at all; the same trace gives the same bytes.

        Raises
        ------
        InputError
            where the disk refuses
        """
        where = Path(path)
        arrays = {v.path: self._arrays[v.path] for v in self.manifest.values if v.kept}
        try:
            file.write(where, arrays, self.manifest.model_dump_json())
        except OSError as error:
            raise InputError(f"{where}: can't write: {error.strerror or error}") from None

    def entry(self, path: str) -> Value:
        """What the manifest says of the value at a path, or at one that others call it.

        Raises
        ------
        KeyError
            where there is none, with the near names
        """
        found = self._find(path)
        if found is None:
            raise KeyError(unknown("value", path, self._entries))
        return found

    def known(self, path: str) -> Value | None:
        """What the manifest says of the value at one of our own paths; None: there is none."""
        return self._entries.get(path)

    def _find(self, path: str) -> Value | None:
        if not isinstance(path, str):
            raise KeyError(f"{path!r} is no path: expected one such as blocks.0.attention.attn")
        found = self._entries.get(path)
        if found is None:
            ours = self._published.get(path) or aliases.find(path, self._entries)
            found = self._entries.get(ours or "")
        return found

    def __getitem__(self, path: str) -> AnyArray:
        """The numbers of the value at a path.

        Raises
        ------
        KeyError
            where there is no such value, or the trace was written without it
        """
        entry = self.entry(path)
        if not entry.kept:
            raise KeyError(f"{entry.path} isn't in this trace: it was written without it")
        return self._arrays[entry.path]

    def __contains__(self, path: object) -> bool:
        """Whether its numbers are there."""
        found = self._find(path) if isinstance(path, str) else None
        return found is not None and found.kept

    def __iter__(self) -> Iterator[str]:
        """The paths of all values whose numbers are there, in the order of the computation."""
        return (value.path for value in self.manifest.values if value.kept)

    def __len__(self) -> int:
        """How many values there are."""
        return sum(value.kept for value in self.manifest.values)

    def keys(self, pattern: str = "*") -> list[str]:  # type: ignore[override]
        """The paths that fit a pattern, as in `*.attn`, in the order of the computation."""
        return [path for path in self if fnmatchcase(path, pattern)]

    def __repr__(self) -> str:
        """The model, what went through it, and how much there is."""
        size = sum(value.nbytes for value in self.manifest.values if value.kept)
        said = self.manifest
        return (
            f"Trace of {said.name} ({said.model}, {said.dtype}): {len(self)} values, {size:,} bytes"
        )

    @property
    def loss(self) -> float:
        """The mean loss over the targets that count."""
        return float(self["loss.loss"])

    def sheet(self, scope: str) -> Sheet:
        """The formulas of the layer at a path."""
        number = self._placed[scope].sheet
        if number not in self._sheets:
            self._sheets[number] = Sheet.parse(self.manifest.sheets[number])
        return self._sheets[number]

    def scalars(self, scope: str) -> Mapping[str, float | int]:
        """The bare numbers of the layer at a path."""
        return self._placed[scope].scalars

    def inside(self, scope: str) -> Mapping[str, AnyArray]:
        """The values below a path by the names that its formulas give them, read when asked for."""
        return _Inside(self, f"{scope}." if scope else "")

    @cached_property
    def _published(self) -> Mapping[str, str]:
        """Our paths of the weights by the names in published files, where one array is one."""
        from handformer.models.config import ModelConfig  # noqa: PLC0415 (a trace opens quickly)
        from handformer.weights import names  # noqa: PLC0415

        if self.manifest.config is None:
            return {}
        config = ModelConfig.read(self.manifest.config)
        table = names.rows(config) if names.fits(config) else []
        found = {row.theirs: row.ours[0] for row in table if len(row.ours) == 1}
        return found | {theirs.partition(".")[2]: ours for theirs, ours in found.items()}

    def spellings(self, path: str) -> Mapping[str, list[list[str]]]:
        """The spellings of the tokens, row by row, along each axis of a value that has them.

        A row that was padded is shorter than the axis.
        """
        entry, text = self.entry(path), self.manifest.text
        if text is None:
            return {}
        sides = {letter: text.tokens for letter in entry.axes if letter in "tsru"}
        if "t" in sides and self.manifest.positions is not None:
            cut = self.manifest.positions
            sides["t"] = [[row[at] if at < len(row) else "" for at in cut] for row in text.tokens]
        return sides | dict.fromkeys(entry.source, text.source or text.tokens)

    def words(self, path: str, letter: str, row: int = 0) -> Sequence[str] | None:
        """What stands along an axis: the tokens of a row, or the vocabulary; None: nothing does.

        Tables of positions and of types have rows too, which are no entries of the vocabulary.
        """
        if letter in _ENTRIES:
            named = not path.startswith(("position", "type"))
            return self.manifest.vocabulary if named else None
        rows = self.spellings(path).get(letter, [])
        return rows[row] if row < len(rows) else None

    def explain(self, path: str, *place: int, terms: int = 8) -> "Explanation":
        """One entry in its arithmetic: see `tracing.explain`.

            print(trace.explain("blocks.0.attention.scores", 0, 1, 3, 2))

        Raises
        ------
        InputError
            where there is no such value or place
        """
        from handformer.tracing.explain import explain  # noqa: PLC0415 (it takes a trace)

        return explain(self, path, place, terms=terms)

    def show(self, path: str) -> "Shown":
        """One value to be looked at: in a notebook a heat map, with the tokens' texts.

            trace.show("blocks.0.attention.attn")

        Raises
        ------
        InputError
            where there is no such value
        """
        from handformer.tracing.notebook import Shown  # noqa: PLC0415 (it takes a trace)

        return Shown(self, path)

    def _repr_html_(self) -> str:
        from handformer.tracing.notebook import contents  # noqa: PLC0415 (only a notebook asks)

        return contents(self)

    def _below(self, prefix: str) -> list[str]:
        return [path for path in self._entries if path.startswith(prefix)]


class _Inside(Mapping[str, AnyArray]):
    """Part of a trace under relative names."""

    def __init__(self, trace: Trace, prefix: str) -> None:
        self._trace, self._prefix = trace, prefix

    def __getitem__(self, name: str) -> AnyArray:
        if name not in self:
            raise KeyError(name)
        return self._trace[self._prefix + name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._prefix + name in self._trace

    def __iter__(self) -> Iterator[str]:
        known = self._trace._below(self._prefix)
        return (path.removeprefix(self._prefix) for path in known if path in self._trace)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Mapped(Mapping[str, AnyArray]):
    """The arrays of a file."""

    def __init__(self, opened: file.File) -> None:
        self._opened = opened

    def __getitem__(self, name: str) -> AnyArray:
        return self._opened.array(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._opened.offsets)

    def __len__(self) -> int:
        return len(self._opened.offsets)


def sealed(array: AnyArray) -> AnyArray:
    """The same numbers, read-only: they may be the model's own weights."""
    view = array.view()
    view.flags.writeable = False
    return view

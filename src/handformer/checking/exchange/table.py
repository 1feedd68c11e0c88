"""A reader's own table of names: names.toml.

[names]
"my_scores_0" = "blocks.0.attention.scores"
"att{l}.sc" = "blocks.{l}.attention.scores"     # {l}: any number

[axes]
"blocks.*.attention.q" = "b t h c"              # the order in which they wrote it
"blocks.*.attention.k" = "b s (g c)"            # two axes as one
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from handformer.checking.exchange.arrange import axes
from handformer.checking.exchange.place import Case, Place
from handformer.errors import InputError
from handformer.formula.names import unknown
from handformer.tracing.manifest import Value

_SECTIONS = ("names", "axes")
_NUMBER = re.compile(r"\\\{([a-z]+)\\\}")


@dataclass(frozen=True)
class Table:
    """What names.toml says.

    where
        the file, for messages
    names
        our paths by their names
    axes
        their orders of axes by patterns of our paths
    """

    where: str = "names"
    names: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str, case: Case) -> tuple[Place, ...] | None:
        """Our place for one of their names; None: the table doesn't have it.

        Raises
        ------
        InputError
            where the table sends it to a path that the case doesn't have
        """
        for theirs, ours in self.names.items():
            pattern = _NUMBER.sub(r"(?P<\1>[0-9]+)", re.escape(theirs))
            found = re.fullmatch(pattern, name)
            if found is None:
                continue
            path = re.sub(r"\{([a-z]+)\}", lambda part, at=found: at[part[1]], ours)  # type: ignore[misc]
            if path not in case.known:
                raise InputError(f"{self.where}: {name}: {unknown('value', path, case.known)}")
            return (Place(path),)
        return None

    def order(self, path: str, value: Value) -> str:
        """The order in which they wrote a value, where the table says it.

        Raises
        ------
        InputError
            where it has other letters than the value
        """
        for pattern, order in self.axes.items():
            if fnmatchcase(path, pattern):
                letters = sorted(letter for axis in axes(order) for letter in axis)
                if letters != sorted(value.axes):
                    raise InputError(
                        f"{self.where}: {path} has the axes {' '.join(value.axes)!r}, "
                        f"not {order!r}: write the same letters in your order"
                    )
                return order
        return ""

    def require_fit(self, case: Case) -> None:
        """Refuse a pattern of axes that fits no value.

        Raises
        ------
        InputError
            that names it, and the near paths
        """
        for pattern in self.axes:
            if not any(fnmatchcase(path, pattern) for path in case.known):
                raise InputError(f"{self.where}: {unknown('value', pattern, case.known)}")


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read names.toml.

    Raises
    ------
    InputError
        where it can't be read, or says something else than names and axes
    """
    where = Path(path)
    try:
        said = tomllib.loads(where.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{where}: can't read the names: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"{where}: not a TOML file: {error}") from None
    for section, entries in said.items():
        if section not in _SECTIONS:
            raise InputError(f"{where}: {unknown('section', section, _SECTIONS)}")
        _require_texts(where, section, entries)
    for name, ours in said.get("names", {}).items():
        numbers, used = (re.findall(r"\{([a-z]+)\}", text) for text in (name, ours))
        if len(numbers) != len(set(numbers)) or not set(used) <= set(numbers):
            raise InputError(
                f"{where}: {name!r} = {ours!r}: each {{number}} stands once on the left"
            )
    for order in said.get("axes", {}).values():
        try:
            axes(order)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
    return Table(str(where), said.get("names", {}), said.get("axes", {}))


def _require_texts(where: Path, section: str, entries: Any) -> None:
    if not isinstance(entries, dict):
        raise InputError(f"{where}: {section} is {entries!r}: expected a section [{section}]")
    for name, entry in entries.items():
        if not isinstance(entry, str):
            raise InputError(
                f"{where}: {section}: {name} is {entry!r}: expected a text, "
                "and a name with dots in quotation marks"
            )

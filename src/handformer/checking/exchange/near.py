"""The paths that a strange name may have meant."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

_NUMBER = re.compile(r"\d+")
_MOST = 3


class Near:
    """Looks among paths; those of all layers are one, so that many layers cost no more."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Take the paths together that differ in their numbers alone."""
        self._paths = dict.fromkeys(paths)
        self._forms: dict[str, str] = {}
        for path in self._paths:
            self._forms.setdefault(_NUMBER.sub("0", path), path)
        self._close = lru_cache(maxsize=1024)(self._look)

    def find(self, name: str) -> tuple[str, ...]:
        """The near paths, the nearest first."""
        numbers = _NUMBER.findall(name)
        found = []
        for form in self._close(_NUMBER.sub("0", name)):
            left = iter(numbers)
            path = _NUMBER.sub(lambda number, rest=left: next(rest, number[0]), form)  # type: ignore[misc]
            found.append(path if path in self._paths else self._forms[form])
        return tuple(dict.fromkeys(found))

    def _look(self, form: str) -> tuple[str, ...]:
        return tuple(get_close_matches(form, self._forms, n=_MOST))

"""Theirs is a function of Python: `module:function`, or `file.py:function`."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

AnyArray = NDArray[Any]


def find(target: str, direction: str) -> Callable[..., Any]:
    """The function; of something that has a `forward` and a `backward`, the one that is asked for.

    Raises
    ------
    LookupError
        where there is no such module or function, or it isn't one
    """
    where, _, name = target.rpartition(":")
    try:
        module = _file(where) if where.endswith(".py") else importlib.import_module(where)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise LookupError(f"{where} can't be imported: {said}") from None
    try:
        found = reduce(getattr, name.split("."), module)
    except AttributeError:
        raise LookupError(f"{where} has no {name}") from None
    found = getattr(found, direction, found)
    if not callable(found):
        raise LookupError(f"{target} is of type {type(found).__name__}: expected a function")
    return found  # type: ignore[no-any-return]


def _file(where: str) -> Any:
    path = Path(where)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"no file {where}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def arguments(
    function: Callable[..., Any], parameters: Sequence[str], given: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """How to call it: by name, where it names its parameters as the op does; else in its order."""
    try:
        wanted = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # something compiled doesn't tell
        return [given[name] for name in parameters], {}
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = [one.name for one in wanted if one.kind in plain]
    needed = [one.name for one in wanted if one.kind in plain and one.default is one.empty]
    if len(named) == len(wanted) and {*needed} <= {*given}:
        return [], {name: given[name] for name in named if name in given}
    return [given[name] for name in parameters], {}


def named(result: Any, gives: Sequence[str], output: str | None) -> dict[str, AnyArray]:
    """What it returned, by name: a mapping, a tuple in the op's order, or the output alone.

    Raises
    ------
    LookupError
        where it can't be told what is what
    """
    if isinstance(result, Mapping):
        strange = sorted({*map(str, result)} - {*gives})
        if strange:
            raise LookupError(f"returned {', '.join(strange)}, expected {', '.join(gives)}")
        parts = dict(result)
    elif isinstance(result, tuple | list):
        if len(result) != len(gives):
            raise LookupError(
                f"returned {len(result)} values, expected {len(gives)}: {', '.join(gives)}"
                + (f"; or {output} alone" if output else "")
            )
        parts = dict(zip(gives, result, strict=True))
    elif result is None or output is None:
        raise LookupError(f"returned {type(result).__name__}, expected {', '.join(gives)}")
    else:
        parts = {output: result}
    return {name: np.asarray(part) for name, part in parts.items() if part is not None}

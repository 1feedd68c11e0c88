"""`hand.check`: somebody's numbers held against a case."""

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.case import Case
from handformer.checking.checker import Checker
from handformer.checking.exchange import Dump, match, read, read_table
from handformer.checking.exchange.tensors import widened
from handformer.checking.report import Report
from handformer.tracing.trace import Trace

Path_ = str | os.PathLike[str]


def check(
    theirs: Path_ | Dump | Mapping[str, NDArray[Any]],
    against: Path_ | Trace,
    *,
    names: Path_ | None = None,
    said: Callable[[str], None] = lambda _: None,
) -> Report:
    """Hold somebody's values against a case: which step is wrong, and which mistake it is.

        report = hand.check("theirs.safetensors", against="case.safetensors")
        report.first.path, report.first.causes[0].wrong

    Parameters
    ----------
    theirs
        a file or folder with what they computed (see `docs/exchange.md`), or arrays by name
    against
        a trace with weights, inputs and everything that is expected, its file, or the name of a
        case that comes with the package
    names
        a file that says which of their names are which of ours
    said
        is told the path of each value before it is looked at

    Raises
    ------
    InputError
        where a file can't be read, or says what can't be meant
    """
    began = time.monotonic()
    trace, case_name = opened(against)
    dump = _dump(theirs)
    matched = match(dump, trace, None if names is None else read_table(names))
    checker = Checker(Case(trace), matched.found, matched.copies)
    verdicts = checker.verdicts(said)
    return Report(
        case=case_name,
        dump=dump.path.name,
        verdicts=verdicts,
        unknown=matched.unknown,
        aside=matched.aside,
        seconds=time.monotonic() - began,
        theirs=checker.kept,
        right=checker.right,
    )


def opened(against: Path_ | Trace) -> tuple[Trace, str]:
    """The case that is meant, and what it is called: its file, or the name of a ready-made one.

    Raises
    ------
    InputError
        for a file that isn't there, and for a name that isn't known, with the near ones
    """
    if isinstance(against, Trace):
        return against, against.manifest.name
    where = Path(against)
    if where.is_file() or where.suffix or len(where.parts) != 1:
        return Trace.load(where), where.name
    from handformer.checking import cases  # noqa: PLC0415 (they bring models with them)

    return cases.build(where.name), where.name


def _dump(theirs: Path_ | Dump | Mapping[str, NDArray[Any]]) -> Dump:
    if isinstance(theirs, str | os.PathLike):
        return read(theirs)
    if isinstance(theirs, Dump):
        return theirs
    where = Path("arrays")
    return Dump(where, ((n, partial(widened, n, np.asarray(a), f"{n}")) for n, a in theirs.items()))

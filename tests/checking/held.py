"""Somebody's dump of generation held against a case, as `hand.check` does it."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from handformer.checking.case import Case
from handformer.checking.checker import Checker
from handformer.checking.exchange import Dump, match
from handformer.checking.exchange.tensors import widened
from handformer.checking.mistakes import CATALOGUE
from handformer.checking.report import Report
from handformer.tracing.trace import Trace


def held(case: Trace, dump: Mapping[str, Any], dtype: Any = np.float32) -> Report:
    """What is found of a dump, its fractions written in a type."""
    written = {path: np.asarray(array) for path, array in dump.items()}
    written = {p: a.astype(dtype) if a.dtype.kind == "f" else a for p, a in written.items()}
    readers = ((path, partial(widened, path, array, path)) for path, array in written.items())
    matched = match(Dump(Path("theirs"), readers), case)
    checker = Checker(Case(case), matched.found, matched.copies, CATALOGUE)
    return Report("case", "theirs", checker.verdicts(), matched.unknown)


def named(report: Report) -> dict[str, tuple[str, ...]]:
    """Every value that is wrong, with the rows that are named at it."""
    return {one.path: tuple(cause.id for cause in one.causes) for one in report.bad}

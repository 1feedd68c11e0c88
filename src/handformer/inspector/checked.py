"""The page of a check: that of the case's trace, and beside it what somebody else computed.

Of a value that is wrong the page gets their numbers and those that would have been right. Where the
trace is too large for a page, it keeps the numbers of those values and of what they are made from.
"""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.report import Cause, Report
from handformer.checking.show.record import as_json
from handformer.checking.show.said import visible
from handformer.formula import FormulaError
from handformer.formula.encode import encode
from handformer.formula.sheet import Formula
from handformer.inspector import export
from handformer.tracing.trace import Trace

_TYPES = {"float64": "F64", "float32": "F32", "int64": "I64", "bool": "BOOL"}


def page(report: Report, trace: Trace, *, title: str = "") -> bytes:
    """A check as one HTML file, which works without a network.

    Parameters
    ----------
    trace
        the case that the dump was held against
    title
        what stands at the page's head: the dump and the case unless given

    Raises
    ------
    InputError
        where it would be larger than browsers can open
    """
    shown = trace if export.forecast(trace) <= export.LARGEST else _cut(trace, report)
    title = visible(title or f"{report.dump} against {report.case}")
    return export.page(shown, title=title, check=part(report))


def part(report: Report) -> dict[str, Any]:
    """What the page is told of a check.

    values, answer and so on
        as in the report's JSON; each cause with its formula's tree too, where it has one
    tensors
        `theirs` and `right` by path, as the page has it of a trace, for each wrong value
    data
        their bytes in base64
    """
    told = as_json(report)
    for value, verdict in zip(told["values"], report.verdicts, strict=True):
        trees = [_tree(cause) for cause in verdict.causes]
        value["causes"] = [
            {**cause, "tree": tree} for cause, tree in zip(value["causes"], trees, strict=True)
        ]
    wrong = {verdict.path for verdict in report.bad}
    data = bytearray()
    tensors = {
        side: {path: _add(data, array) for path, array in arrays.items() if path in wrong}
        for side, arrays in (("theirs", report.theirs), ("right", report.right))
    }
    return {**told, "tensors": tensors, "data": base64.b64encode(data).decode("ascii")}


def _add(data: bytearray, array: NDArray[Any]) -> dict[str, Any]:
    """Append an array's bytes; what is said of it."""
    if array.dtype.name not in _TYPES:
        array = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
    start = len(data)
    data += array.astype(array.dtype.newbyteorder("<")).tobytes()
    kind = _TYPES[array.dtype.name]
    return {"dtype": kind, "shape": list(array.shape), "offsets": [start, len(data)]}


def _tree(cause: Cause) -> Mapping[str, Any] | None:
    """The formula with the mistake as the page typesets it; None for one in words."""
    try:
        formula = Formula.parse(cause.formula)
    except FormulaError:
        return None
    return {"name": formula.name, "axes": list(formula.axes), "body": encode(formula.body)}


def _cut(trace: Trace, report: Report) -> Trace:
    """The same trace with the numbers of only what is wrong, what goes into it, and masks."""
    wanted = {path for verdict in report.bad for path in (verdict.path, *verdict.reads)}
    values = tuple(
        value.model_copy(update={"kept": value.kept and _wanted(value.path, wanted)})
        for value in trace.manifest.values
    )
    arrays = {value.path: trace[value.path] for value in values if value.kept}
    return Trace(trace.manifest.model_copy(update={"values": values}), arrays)


def _wanted(path: str, wanted: set[str]) -> bool:
    return path in wanted or path == "tokens" or path.rpartition(".")[2] == "mask"

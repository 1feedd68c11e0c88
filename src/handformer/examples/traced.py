"""A worked example as a trace: the same file, page and explanations as a model's."""

import numpy as np

from handformer.examples.example import Example
from handformer.formula.names import is_gradient
from handformer.tracing.entries import Entries
from handformer.tracing.manifest import Manifest, Placed
from handformer.tracing.scopes import Scope
from handformer.tracing.seen import Kind, Seen
from handformer.tracing.stated import Stated
from handformer.tracing.trace import Trace, sealed


def traced(example: Example) -> Trace:
    """Every value of an example, with its formulas."""
    run = example.code(example.inputs, example.scalars)
    scalars = {name: n for name, n in run.scalars.items() if isinstance(n, int | float)}
    scope = Scope("", "Example", run.sheet, scalars)
    seen = Seen(id)  # of copies: an example may take one array for all its weights
    for name, array in {**example.inputs, **run.values}.items():
        kind: Kind = "gradient" if is_gradient(name) else "value"
        seen.add("input" if name in example.inputs else kind, {name: np.array(array)})
    told = Stated()
    told.add(scope.path, run.sheet)
    found = [one for one in seen if told.axes.keys() & {*one.paths} or one.array.ndim == 0]
    entries = Entries(told, [scope], found)
    manifest = Manifest(
        name=example.name,
        model=scope.layer,
        config=None,
        dtype="float64",
        sheets=(repr(run.sheet),),
        scopes=(Placed(path="", layer=scope.layer, sheet=0, scalars=scalars),),
        values=tuple(map(entries.value, found)),
    )
    return Trace(manifest, {entries.path(one): sealed(one.array) for one in found})

"""A worked example as a trace: the same file, page and explanations as a model's."""

from handformer.examples.example import Example
from handformer.tracing.sheet import of_sheet
from handformer.tracing.trace import Trace


def traced(example: Example) -> Trace:
    """Every value of an example, with its formulas."""
    run = example.code(example.inputs, example.scalars)
    return of_sheet(
        run.sheet, example.inputs, run.values, run.scalars, name=example.name, layer="Example"
    )

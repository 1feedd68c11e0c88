"""What the page knows by heart is what Python says: sizes, Greek letters, whole numbers."""

import re
from collections.abc import Callable
from typing import Any

from handformer.axes import SIZES
from handformer.examples import EXAMPLES
from handformer.examples.traced import traced as example
from handformer.formula.names import GREEK, is_width
from tests.tracing.small import FAMILIES, traced

TABLES = """async () => {
  const [frame, names, rounding] = await Promise.all(
    ["frame", "names", "rounding"].map((name) => import(`./${name}.js`)));
  return [frame.SIZES, names.GREEK, [...names.WIDTHS], rounding.COUNTS.source];
}"""


def test_its_tables_are_pythons(blank: Callable[..., Any]) -> None:
    sizes, greek, widths, counts = blank().evaluate(TABLES)
    assert sizes == SIZES
    assert greek == GREEK
    assert {*widths} == {name for name in SIZES.values() if is_width(name)}
    kinds: dict[str, set[type]] = {}
    for trace in (*map(traced, FAMILIES), *map(example, EXAMPLES.values())):
        for scope in trace.manifest.scopes:
            for name, value in scope.scalars.items():
                kinds.setdefault(name, set()).add(type(value))
    assert len(kinds) > 10
    whole = {name for name, found in kinds.items() if found == {int}}
    assert {name for name in kinds if re.search(counts, name)} == whole

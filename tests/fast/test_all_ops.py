"""Fast equals plain: every value of every op, both directions, both dtypes, any layout.

The bound isn't a constant. A fast value may differ from a float64 shadow by what rounding explains:
as much as inputs rounded otherwise move the shadow itself.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from handformer import fast
from handformer.selfcheck.cases import all_cases, cast
from handformer.selfcheck.ops import Case, run
from tests.ops.rounding import explained, results
from tests.ops.test_all_ops import drawn, same, strided, transposed, turned

CASES = [case for case in all_cases(np.random.default_rng(3)) if "masks" not in case.op.__name__]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def compiled(case: Case) -> Any:
    """The same op in the engine."""
    return getattr(fast, case.op.__name__.rpartition(".")[2])


@every_case
@every_dtype
@pytest.mark.parametrize("layout", [same, strided, transposed, turned])
def test_fast_equals_plain(
    case: Case, dtype: Any, layout: Callable[[np.ndarray], np.ndarray]
) -> None:
    case = cast(case, dtype)
    values = run(case, drawn())
    given = {name: layout(np.asarray(value)) for name, value in values.items()}
    for array in given.values():
        array.flags.writeable = False
    right, allowed = explained(case, given)
    found = results(compiled(case), case, given)
    assert found.keys() == right.keys() == {f.name for f in case.sheet if f.kept}
    for name, value in right.items():
        assert found[name].shape == value.shape, name
        assert found[name].dtype == (values[name].dtype), name
        assert (np.abs(found[name] - value) <= allowed[name]).all(), name


def test_what_is_compared_is_compiled() -> None:
    """Else plain would be compared with plain."""
    assert fast.AVAILABLE
    names = {case.op.__name__.rpartition(".")[2] for case in CASES}
    inside = {n for n in names if getattr(fast, n).__name__.startswith("handformer.fast.")}
    plain = {"alibi", "attention", "geglu", "gelu", "rotary_interleaved", "sinusoidal"}
    assert names - inside == plain

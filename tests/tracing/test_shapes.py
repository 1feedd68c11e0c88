"""What runs on shapes alone gives what a real run gives: shapes, dtypes, and what is one memory."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from handformer import ops, tree
from handformer.ops.drops import NO_DROPOUT, RandomDropout
from handformer.selfcheck.cases import all_cases, cast
from handformer.selfcheck.cases.models import ModelCase, models
from handformer.selfcheck.ops import Case, call, run
from handformer.tracing.outline import outline
from handformer.tracing.shapes import Shapes, Undrawn, place

Arrays = dict[str, NDArray[Any]]
CASES = [case for case in all_cases(np.random.default_rng(2)) if "masks" not in case.op.__name__]
MODELS = models(np.random.default_rng(5))


def forms(parts: Any) -> list[Any]:
    """The shape and dtype of each result of an op."""
    parts = parts if isinstance(parts, tuple) else (parts,)
    return [None if part is None else (part.shape, part.dtype) for part in parts]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_op_returns_the_forms_of_the_plain_one(case: Case, dtype: Any) -> None:
    case = cast(case, dtype)
    whole = {name: number for name, number in case.scalars.items() if isinstance(number, int)}
    shapes = Shapes({"vocab_size": 7, **whole})
    op = getattr(shapes.ops, case.op.__name__.rpartition(".")[2])
    given = {**case.scalars, **run(case, np.random.default_rng(1))}
    for direction in ("forward", "backward"):
        if hasattr(case.op, direction):
            found, right = (call(getattr(o, direction), given) for o in (op, case.op))
            assert type(found) is type(right)
            assert forms(found) == forms(right)


def test_there_are_all_ops_and_masks() -> None:
    names = {*vars(ops.masks)["__all__"]}
    assert set(ops.__all__) <= {*vars(Shapes({}).ops)}
    assert names <= {*vars(Shapes({}).ops.masks)}


def test_masks_have_their_shapes() -> None:
    masks = Shapes({}).ops.masks
    valid = np.ones((2, 7), np.bool_)
    causal, padding = masks.causal.forward(5, 7), masks.padding.forward(valid, 5)
    assert forms((causal, padding)) == [((5, 7), np.bool_), ((2, 5, 7), np.bool_)]
    assert forms(masks.combine(causal, padding)) == [((2, 5, 7), np.bool_)]
    assert forms(masks.window.forward(5, 7, 3)) == [((5, 7), np.bool_)]


def passes(case: ModelCase, model: Any, drop: Any, namespace: Any) -> Arrays:
    """Every value of both directions by path."""
    logits, cache = model.forward(**case.inputs, drop=drop, ops=namespace)
    back = model.backward(np.broadcast_to(logits, logits.shape), cache, ops=namespace)
    return {**tree.flatten(model), **tree.flatten(cache), **tree.gradients(back)}


def shared(arrays: Arrays) -> set[frozenset[str]]:
    """The paths under which one memory is seen, together."""
    found: dict[int, set[str]] = {}
    for path, array in arrays.items():
        found.setdefault(place(array), set()).add(path)
    return {frozenset(paths) for paths in found.values()}


@pytest.mark.parametrize("case", MODELS, ids=lambda case: case.name)
def test_a_model_keeps_the_same_values_in_the_same_places(case: ModelCase) -> None:
    config = case.model.config
    dropped = config.dropout > 0
    real = passes(case, case.model, RandomDropout(0, 0) if dropped else NO_DROPOUT, ops)
    width = config.head_width
    numbers = {"d_k": width, "n_pairs": width // 2, "vocab_size": config.vocab_size}
    shapes = Shapes(numbers)
    found = passes(case, outline(config, shapes, np.float64), Undrawn(shapes), shapes.ops)
    assert {path: (a.shape, a.dtype) for path, a in found.items()} == {
        path: (a.shape, a.dtype) for path, a in real.items()
    }
    assert shared(found) == shared(real)


def test_values_take_no_memory_and_know_what_they_would() -> None:
    shapes = Shapes({})
    x, w = shapes.empty((10**6, 10**5), np.float32), shapes.empty((10**5, 10**6), np.float32)
    y = shapes.ops.linear.forward(x, w, None)
    assert y.shape == (10**6, 10**6)
    assert shapes.of(y).bytes == 4 * 10**12
    assert shapes.of(y).flops == 10**12 * (2 * 10**5 - 1)
    assert not y.flags.writeable
    assert shapes.of(y[..., None, :]).bytes == 4 * 10**12  # a view is what it is a view of


def test_each_dtype_has_its_own_results() -> None:
    shapes = Shapes({})
    for dtype in (np.float32, np.float64):
        x = shapes.empty((3, 4), dtype)
        assert shapes.ops.add.forward(x, x).dtype == dtype


def test_a_real_array_takes_what_it_takes() -> None:
    array = np.zeros((4, 6), np.float32)
    assert Shapes({}).of(array[:2].T).bytes == 96
    assert Shapes({}).of(np.broadcast_to(np.True_, (5, 5))).bytes == 1
    assert Shapes({}).of(array).flops is None


def test_dropout_hands_on_what_it_got_only_where_nothing_drops() -> None:
    shapes = Shapes({})
    x = shapes.empty((3, 4), np.float32)
    keep = Undrawn(shapes).keep((3, 4), 0.1)
    assert shapes.ops.dropout.forward(x, keep, 0.0) is x
    assert place(shapes.ops.dropout.forward(x, keep, 0.1)) != place(x)
    assert shapes.of(keep).bytes == 12
    assert shapes.of(Undrawn(shapes).keep((3, 4), 0.0)).bytes == 1


def test_a_size_beyond_all_memory_is_said() -> None:
    with pytest.raises(MemoryError, match=r"no array can have the shape \(2147483647, 2147483647"):
        Shapes({}).empty((2**31 - 1, 2**31 - 1), np.float32)

"""Optimizers: worked numbers, the formula text, PyTorch, and what a checkpoint keeps."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load, save

from handformer.axes import Array
from handformer.errors import InputError
from handformer.formula.evaluate import evaluate
from handformer.formula.sheet import Sheet
from handformer.train.optimizer import FORMULAS, SGD, SGD_FORMULAS, AdamW, Optimizer, State

PLAIN = AdamW(beta_1=0.9, beta_2=0.999, eps=1e-8, weight_decay=0.0)


def some(seed: int, dtype: type = np.float64) -> dict[str, Array]:
    """A matrix, a vector and a stack of matrices: what a model's weights look like."""
    rng = np.random.default_rng(seed)
    shapes = {"w": (3, 4), "gamma": (4,), "stack": (2, 3, 2)}
    return {path: rng.standard_normal(shape).astype(dtype) for path, shape in shapes.items()}


def run(
    optimizer: Optimizer, updates: int, *, lr: float = 0.01, dtype: type = np.float64
) -> tuple[dict[str, Array], State]:
    params = some(0, dtype)
    state = optimizer.init(params)
    for step in range(updates):
        params, state = optimizer.update(params, some(step + 1, dtype), state, lr)
    return params, state


def test_adamw_by_hand() -> None:
    # First update: m = 0.1 * 2 = 0.2, m_hat = 0.2 / 0.1 = 2; v = 0.05 * 4 = 0.2, v_hat = 0.2 / 0.05
    # = 4; decayed = 1 - 0.1 * 0.5 * 1 = 0.95; w = 0.95 - 0.1 * 2 / (2 + 1) = 0.95 - 1/15.
    optimizer = AdamW(beta_1=0.9, beta_2=0.95, eps=1.0, weight_decay=0.5)
    params = {"w": np.array([[1.0]])}
    params, state = optimizer.update(
        params, {"w": np.array([[2.0]])}, optimizer.init(params), lr=0.1
    )
    assert_allclose(params["w"], [[0.95 - 1 / 15]], rtol=1e-15)
    assert state.step == 1
    # Second, with gradient -1: m = 0.9 * 0.2 - 0.1 = 0.08, m_hat = 0.08 / 0.19; v = 0.95 * 0.2 +
    # 0.05 = 0.24, v_hat = 0.24 / 0.0975.
    before = params["w"].item()
    params, state = optimizer.update(params, {"w": np.array([[-1.0]])}, state, lr=0.1)
    expected = 0.95 * before - 0.1 * (0.08 / 0.19) / ((0.24 / 0.0975) ** 0.5 + 1)
    assert_allclose(params["w"], [[expected]], rtol=1e-14)
    assert_allclose(state.moments["m"]["w"], [[0.08]], rtol=1e-14)
    assert state.step == 2


def test_the_first_update_of_every_weight_has_the_size_of_the_rate() -> None:
    # Without the correction it would be (1 - beta_1) / sqrt(1 - beta_2) = 3.16 times that; with a
    # counter for each weight the later weights' would differ.
    params = some(0)
    new, _ = PLAIN.update(params, some(1), PLAIN.init(params), lr=0.01)
    for path, d_w in some(1).items():
        assert_allclose(new[path] - params[path], -0.01 * np.sign(d_w), rtol=1e-5)


@pytest.mark.parametrize(
    ("optimizer", "sheet", "moments"),
    [
        (AdamW(0.8, 0.9, 1e-2, 0.3), FORMULAS, {"m": "m", "v": "v"}),
        (SGD(0.7, 0.3), SGD_FORMULAS, {"velocity": "velocity"}),
        (SGD(0.0, 0.3), SGD_FORMULAS, {}),
    ],
)
def test_code_equals_the_formulas(optimizer: Any, sheet: Sheet, moments: dict[str, str]) -> None:
    _, state = run(optimizer, 3)
    params, grads = some(7), some(8)
    new, after = optimizer.update(params, grads, state, 0.02)
    names = ("beta_1", "beta_2", "eps", "weight_decay", "momentum")
    settings = {name: getattr(optimizer, name) for name in names if hasattr(optimizer, name)}
    for path, w in params.items():
        matrix = w.reshape(-1, w.shape[-1])
        arrays = {"w": matrix, "d_w": grads[path].reshape(matrix.shape)}
        velocity = {"velocity": np.zeros_like(w)} if not moments else {}
        kept = velocity | {name: state.moments[name][path] for name in moments}
        arrays |= {name: moment.reshape(matrix.shape) for name, moment in kept.items()}
        scalars = {**settings, "lr": 0.02, "step": 4}
        if w.ndim == 1:
            scalars["weight_decay"] = 0.0
        wanted = evaluate(sheet, "w_new", arrays, scalars)
        assert_allclose(new[path], wanted.reshape(w.shape), rtol=1e-13)
        for name in moments:
            wanted = evaluate(sheet, f"{name}_new", arrays, scalars)
            assert_allclose(after.moments[name][path], wanted.reshape(w.shape), rtol=1e-13)


@pytest.mark.parametrize("optimizer", [AdamW(weight_decay=0.5), SGD(0.5, 0.5)])
def test_only_matrices_decay(optimizer: Optimizer) -> None:
    params = some(0)
    nothing = {path: np.zeros_like(w) for path, w in params.items()}
    new, _ = optimizer.update(params, nothing, optimizer.init(params), lr=0.1)
    assert_allclose(new["w"], 0.95 * params["w"], rtol=1e-15)
    assert_allclose(new["stack"], 0.95 * params["stack"], rtol=1e-15)
    assert_array_equal(new["gamma"], params["gamma"])


def test_sgd_by_hand() -> None:
    # velocity 1, then 0.5 * 1 + 1 = 1.5.
    optimizer = SGD(momentum=0.5)
    params = {"b": np.array([1.0])}
    state = optimizer.init(params)
    for expected in (0.9, 0.75):
        params, state = optimizer.update(params, {"b": np.array([1.0])}, state, lr=0.1)
        assert_allclose(params["b"], [expected], rtol=1e-15)


@pytest.mark.parametrize("optimizer", [AdamW(), SGD(), SGD(0.9, 0.1)])
def test_nothing_changes_in_place_and_the_dtype_stays(optimizer: Optimizer) -> None:
    params, grads = some(0, np.float32), some(1, np.float32)
    state = optimizer.init(params)
    moments = [array for arrays in state.moments.values() for array in arrays.values()]
    for array in (*params.values(), *grads.values(), *moments):
        array.flags.writeable = False
    new, after = optimizer.update(params, grads, state, np.float64(0.01))
    kept = [array for arrays in after.moments.values() for array in arrays.values()]
    for array in (*new.values(), *kept):
        assert array.dtype == np.float32
        assert array.flags.writeable  # an array of its own, not an argument handed on


def test_adamw_equals_pytorch() -> None:
    torch = pytest.importorskip("torch")
    optimizer = AdamW(0.9, 0.95, 1e-8, 0.1)
    params = some(0)
    theirs = {path: torch.nn.Parameter(torch.tensor(w)) for path, w in params.items()}
    groups = [
        {"params": [w for w in theirs.values() if w.ndim >= 2], "weight_decay": 0.1},
        {"params": [w for w in theirs.values() if w.ndim < 2], "weight_decay": 0.0},
    ]
    peer = torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8)
    state = optimizer.init(params)
    for step in range(20):
        lr = 0.01 / (1 + step)
        grads = some(step + 1)
        for path, w in theirs.items():
            w.grad = torch.tensor(grads[path])
        for group in peer.param_groups:
            group["lr"] = lr
        peer.step()
        params, state = optimizer.update(params, grads, state, lr)
        for path, w in theirs.items():
            assert_allclose(params[path], w.detach().numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("optimizer", [AdamW(), SGD(), SGD(0.9)])
def test_a_state_goes_through_a_file_and_continues_exactly(optimizer: Optimizer) -> None:
    params, state = run(optimizer, 3)
    again = State.from_arrays(load(save(state.arrays())))
    straight, _ = optimizer.update(params, some(9), state, 0.01)
    resumed, _ = optimizer.update(params, some(9), again, 0.01)
    for path, w in straight.items():
        assert_array_equal(resumed[path], w)


@pytest.mark.parametrize(
    ("flat", "says"),
    [
        ({}, "no step count"),
        ({"step": np.zeros(2, dtype=int)}, "no step count"),
        ({"step": np.array(1.5)}, "no step count"),
        ({"step": np.array(-1)}, "no step count"),
        ({"step": np.array(1), "w": np.zeros(2)}, "'w' .float64., which is no moment"),
        ({"step": np.array(1), "m/w": np.zeros(2, dtype=int)}, "'m/w' .int64., which is no moment"),
    ],
)
def test_a_damaged_state_is_refused(flat: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        State.from_arrays(flat)


def test_a_state_of_something_else_is_refused() -> None:
    params = some(0)
    _, state = run(AdamW(), 1)
    with pytest.raises(InputError, match=r"holds \['m', 'v'\], expected \['velocity'\]"):
        SGD(0.9).update(params, params, state, 0.1)
    with pytest.raises(InputError, match=r"holds no moments, expected \['m', 'v'\]"):
        AdamW().update(params, params, SGD().init(params), 0.1)
    fewer = {path: w for path, w in params.items() if path != "gamma"}
    with pytest.raises(InputError, match=r"of gamma is float64 \(4,\), the weight is absent"):
        AdamW().update(fewer, fewer, state, 0.1)
    wider = {**params, "w": np.zeros((3, 5))}
    with pytest.raises(
        InputError, match=r"of w is float64 \(3, 4\), the weight is float64 \(3, 5\)"
    ):
        AdamW().update(wider, wider, state, 0.1)


def test_a_gradient_too_large_to_be_squared_is_named() -> None:
    params = {"w": np.ones((1, 1), dtype=np.float32)}
    grads = {"w": np.full((1, 1), -3e19, dtype=np.float32)}
    with pytest.raises(InputError, match=r"gradient of w reaches 3e\+19, whose square overflows"):
        AdamW().update(params, grads, AdamW().init(params), 0.1)

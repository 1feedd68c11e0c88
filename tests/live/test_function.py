"""Functions of Python in the place of ours: right ones pass, every mistake has its line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import handformer.ops as plain
from handformer.errors import InputError
from handformer.live.api import check_op
from handformer.live.contract import contract, names
from handformer.live.show import answer
from handformer.ops import layer_norm
from tests.live import theirs

THEIRS = "tests.live.theirs"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples/live"
BOTH = [
    (name, direction)
    for name in names()
    for direction in ("forward", "backward")
    if hasattr(contract(name).op, direction)
]


def checked(name: str, *args: Any, **kwargs: Any) -> Any:
    return check_op(name, *args, timed=False, **kwargs)


@pytest.mark.parametrize(("name", "direction"), BOTH)
def test_our_own_op_is_right_alone_and_in_a_model(name: str, direction: str) -> None:
    report = checked(name, getattr(contract(name).op, direction), direction=direction)
    assert report.fine, answer(report)
    assert not report.missing
    calls = [model.calls for model in report.models]
    nowhere = {"attention", "masks.window"} | (
        {"masked_softmax"} if direction == "backward" else set()
    )
    assert all(calls)
    assert bool(calls) is (name not in nowhere)
    for model in report.models:
        assert model.values[0].path == "loss.loss"
        gradients = [one.path.rpartition(".")[2] for one in model.values[1:]]
        assert all(one.startswith("d_") for one in gradients)
        assert len(model.values) > 90


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wrong_axis", "y is 0.8"),
        ("a_bit_off", "entries are farther off than that"),
        ("no_maximum", "y holds NaN in 14 of 14 entries, first at (0, 0) (beyond exp's range)"),
        ("no_infinity", "right alone, but in gpt2 untied, dropout y holds NaN in"),
        ("wide", "y is float64, expected float32"),
        ("flat", "y has the shape (14,), expected (2, 7)"),
        ("in_place", "writes into its input x"),
        ("twice", "returned 2 values, expected 1: y"),
        ("nothing", "returned NoneType, expected y"),
        ("raising", "raises KeyError: 'x'"),
        ("crashing", "crashed: SIGSEGV"),
        ("leaving", "ended with exit code 3: not today"),
        ("hanging", "gave no answer within 2 s"),
    ],
)
def test_a_wrong_one_is_told_in_one_line(name: str, said: str) -> None:
    report = checked("softmax", f"{THEIRS}:{name}", timeout=2)
    assert not report.fine
    line = answer(report)
    assert said in line or any(said in f"{w.value} {w.problem}" for w in report.wrong), line
    assert "\n" not in line


@pytest.mark.parametrize("name", ["right", "other_names", "Pair"])
def test_a_right_one_passes_however_it_is_called(name: str) -> None:
    report = checked("softmax", f"{THEIRS}:{name}")
    assert report.fine, answer(report)
    # Softmax stands inside of the attention of both models, a block each.
    assert [(m.model.split()[0], m.calls) for m in report.models] == [("gpt2", 2), ("llama", 2)]


def test_the_backward_of_a_pair_is_taken_by_its_direction() -> None:
    report = checked("softmax", f"{THEIRS}:Pair", direction="backward")
    assert report.fine, answer(report)
    assert {one.value for one in report.local} == {"d_x"}


def test_what_they_leave_out_follows_from_its_formula() -> None:
    forward = checked("layer_norm", f"{EXAMPLES}/layer_norm.py:forward")
    backward = checked("layer_norm", f"{EXAMPLES}/layer_norm.py:backward", direction="backward")
    assert forward.fine
    assert forward.missing == ("mean", "rstd", "x_hat")
    assert backward.fine
    assert backward.missing == ("d_gamma", "d_beta")
    assert {one.value for one in forward.local} == {"y"}
    assert {one.value for one in backward.local} == {"d_x_hat", "d_x"}
    without = checked("layer_norm", lambda x, gamma, beta, eps: {"x_hat": x})
    assert any(one.value == "y" and one.problem == "wasn't written" for one in without.wrong)


def test_each_value_is_judged_by_itself() -> None:
    """A wrong x_hat makes no right y wrong, and the model shows how far the mistake reaches."""

    def unbiased(x: Any, gamma: Any, beta: Any, eps: float) -> Any:
        mean, rstd, x_hat, _ = layer_norm.forward(x, gamma, beta, eps)
        x_hat = x_hat * np.sqrt(np.float32((x.shape[-1] - 1) / x.shape[-1]))
        return mean, rstd, x_hat, x_hat * gamma if beta is None else x_hat * gamma + beta

    report = checked("layer_norm", unbiased)
    assert {one.value for one in report.wrong} == {"x_hat"}
    (model,) = report.models
    assert not model.values[0].fine
    assert sum(not one.fine for one in model.values) > 50


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("sofmax", "a:b", "unknown op sofmax; did you mean softmax"),
        ("softmax", None, "what is to stand in for softmax?"),
        ("softmax", f"{THEIRS}:rigth", f"{THEIRS} has no rigth"),
        ("softmax", f"{THEIRS}:np", "is of type module: expected a function"),
        ("softmax", "no_such_module:f", "no_such_module can't be imported: ModuleNotFoundError"),
        ("softmax", "no_such_file.py:f", "can't be imported: FileNotFoundError"),
        ("softmax", "./no_such.so", "./no_such.so: there is no such file"),
        ("softmax", "softmax", "softmax is neither a library"),
    ],
)
def test_what_cannot_be_asked_is_the_users_error(name: str, given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said.replace("(", r"\(").replace("?", r"\?")):
        checked(name, given)


def test_a_direction_that_is_not_there_is_the_users_error() -> None:
    with pytest.raises(InputError, match="alibi has no backward"):
        checked("alibi", f"{THEIRS}:right", direction="backward")
    with pytest.raises(InputError, match="direction up: expected forward or backward"):
        checked("softmax", f"{THEIRS}:right", direction="up")


def test_the_contract_says_what_goes_in_and_out() -> None:
    found = contract("layer_norm")
    assert (found.takes, found.scalars) == (("x", "gamma", "beta"), ("eps",))
    assert (found.gives, found.output) == (("mean", "rstd", "x_hat", "y"), "y")
    assert "in[1]      gamma" in str(found)
    assert "scalars[0] eps" in str(found)
    back = contract("masked_attention", "backward")
    assert back.takes == ("d_context", "q", "k", "v", "attn", "attn_kept", "keep")
    assert back.scalars == ("rate",)
    assert back.output is None
    assert contract("rotary_angles").scalars == ("d_k", "base")  # and dtype is always float32
    assert contract("cross_entropy").output == "loss"


def test_the_stand_in_leaves_our_own_ops_alone() -> None:
    before = {name: dict(vars(contract(name).op)) for name in names()}
    checked("softmax", theirs.wrong_axis)
    assert {name: dict(vars(contract(name).op)) for name in names()} == before
    assert_array_equal(plain.softmax.forward(np.zeros((3, 4))), np.full((3, 4), 0.25))

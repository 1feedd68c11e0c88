"""A report as text and as JSON; and large inputs for the clock."""

import json

import numpy as np
import pytest

from handformer.live.api import check_op
from handformer.live.contract import contract, names
from handformer.live.large import large
from handformer.live.show import json as as_json
from handformer.live.show import text
from handformer.selfcheck.ops import call
from tests.live import theirs


def test_a_right_op_reads_well() -> None:
    report = check_op("softmax", theirs.right, timed=False)
    said = text(report).splitlines()
    assert said[0] == "softmax, forward: right"
    assert "alone, against its formulas" in said
    assert any(line.startswith("    y            off by") and "fine (4 c" in line for line in said)
    assert "in a model, gpt2 untied, dropout (called 2 times)" in said
    assert sum("gradients: none farther off" in line for line in said) == 2
    assert said[-1].startswith("Right: 77 entries of 4 values agree")


def test_a_wrong_op_reads_well_with_its_cause() -> None:
    report = check_op("softmax", theirs.wrong_axis, timed=False)
    said = text(report)
    assert "y            WRONG (leading (2,)): is " in said
    assert "SM-1: The softmax runs over the rows, not over the keys. Take it over the last" in said
    assert "y            fine in 1 of 4 cases" in said
    assert said.splitlines()[-1].startswith("Wrong: y is ")


def test_a_program_can_read_all_of_it() -> None:
    report = check_op("softmax", theirs.no_maximum, timed=False)
    read = json.loads(as_json(report))
    assert read["fine"] is False
    assert read["op"] == "softmax"
    assert read["answer"].startswith("Wrong")
    (wrong,) = (one for one in read["local"] if not one["fine"])
    assert wrong["difference"]["theirs"] is None
    assert "NaN" in wrong["problem"]
    good = json.loads(as_json(check_op("relu", lambda x: np.maximum(x, 0))))
    assert good["fine"] is True
    assert good["speed"]["ratio"] > 0
    assert good["models"][0]["values"][0]["path"] == "loss.loss"


@pytest.mark.parametrize("name", names())
def test_every_op_has_large_inputs(name: str) -> None:
    case = large(contract(name), np.random.default_rng(0))
    made = call(case.op.forward, {**case.scalars, **case.arrays})
    parts = made if isinstance(made, tuple) else (made,)
    assert max(np.size(part) for part in parts) >= 256
    assert all(part.dtype != np.float64 for part in parts if part is not None)

"""`handformer selfcheck`: that it asks everything, and says what is wrong."""

import importlib
import json
import pkgutil
from collections.abc import Callable

import pytest

from handformer import layers, ops
from handformer.axes import Array
from handformer.cli import main
from handformer.examples import EXAMPLES
from handformer.formula import Formula
from handformer.layers import Layer
from handformer.models import CLASSES
from handformer.ops import layer_norm, softmax
from handformer.selfcheck.ops import Finding
from handformer.selfcheck.parts import Part, Row, parts

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch

INF, NAN = float("inf"), float("nan")


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["selfcheck", *words])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def names(section: str) -> list[str]:
    return [part.name for part in parts() if part.section == section]


def only(monkeypatch: Patch, *wanted: str) -> None:
    """Check no more than the parts of these names, so that it takes no time."""
    chosen = [part for part in parts() if part.name in wanted]
    assert len(chosen) == len(wanted)
    monkeypatch.setattr("handformer.selfcheck.parts.parts", lambda: chosen)


def test_it_has_a_row_for_everything() -> None:
    walked = [info.name for info in pkgutil.walk_packages(ops.__path__, f"{ops.__name__}.")]
    stating = [name for name in walked if hasattr(importlib.import_module(name), "FORMULAS")]
    assert sorted(names("op")) == sorted(name.partition(".ops.")[2] for name in stating)
    written = {name for name in layers.__all__ if issubclass(getattr(layers, name), Layer)}
    assert sorted(names("layer")) == sorted(written - {"Layer"})
    assert sorted(names("model")) == sorted(CLASSES)
    every = [(part.section, part.name) for part in parts()]
    assert len(every) == len({*every})


def finding(difference: float) -> tuple[Finding, ...]:
    return (Finding("fine", 0.0), Finding("z", difference))


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        (Row("op", "", finding(1e-12), finding(1e-7)), 0),
        (Row("op", "", finding(2e-12), finding(1e-7)), 1),
        (Row("op", "", finding(1e-12), finding(2e-7)), 1),
        (Row("op", "", finding(NAN), finding(INF)), 2),
        (Row("op", "", finding(1e-16), limit=0.0), 1),
        (Row("op", "", finding(0.0), limit=0.0), 0),
    ],
)
def test_a_row_is_right_within_its_limits(row: Row, wrong: int) -> None:
    assert [found.value for found in row.failures] == ["z"] * wrong
    assert row.fine == (not wrong)


def test_a_part_in_which_nothing_was_compared_is_not_right() -> None:
    assert not Row("op", "", ()).fine
    assert not Part("op", "", 1.0, lambda: ((), finding(0.0))).row().fine


@pytest.mark.parametrize("name", ["softmax", "LayerNorm", "rows of d_logits sum to 0"])
def test_a_part_finds_the_same_whatever_was_checked_before(name: str) -> None:
    one, other, third = ({part.name: part for part in parts(seed)} for seed in (0, 0, 1))
    for before in ("alibi", "RMSNorm", "the loss sees no shift of logits"):
        other[before].row()
    assert one[name].row() == other[name].row()
    assert one[name].row() != third[name].row()


def test_what_is_right_is_said_in_a_table(monkeypatch: Patch, capsys: Capture) -> None:
    only(monkeypatch, "softmax", "RMSNorm", "rows of d_logits sum to 0")
    assert run() == 0
    printed = capsys.readouterr()
    assert printed.err == ""  # progress is for terminals
    assert "\x1b" not in printed.out
    lines = printed.out.splitlines()
    assert all(len(line) <= 80 for line in lines[:-1])
    for name in (*EXAMPLES, "softmax", "RMSNorm", "rows of d_logits sum to 0"):
        (line,) = (line for line in lines if line.startswith(f"   {name} "))
        assert line.split()[-1] == "right"
    assert lines[-1].startswith(f"All {len(EXAMPLES) + 3} are right: ")


def twice(d_y: Array, y: Array) -> Array:
    return 2 * right_softmax(d_y, y)


right_softmax = softmax.backward


def test_what_is_wrong_is_named_and_the_exit_code_is_one(
    monkeypatch: Patch, capsys: Capture
) -> None:
    only(monkeypatch, "softmax", "RMSNorm", "LayerNorm")
    monkeypatch.setattr(softmax, "backward", twice)

    def broken(x: Array, gamma: Array, beta: Array, eps: float) -> None:
        raise ValueError("an accident [x]\nof two lines")

    monkeypatch.setattr(layer_norm, "forward", broken)
    assert run() == 1
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert "op softmax: d_x (leading ()) is off by 1.0e+00" in lines
    assert "layer LayerNorm: raised ValueError: an accident [x]" in lines
    assert "Traceback" not in out
    words = [line.split() for line in lines if line.startswith("   ") and line.strip()]
    verdicts = {first: last for first, *_, last in words}
    assert verdicts["softmax"] == verdicts["LayerNorm"] == "WRONG"
    assert verdicts["RMSNorm"] == "right"
    assert "example identity-backward: d_scores is off by 1.0e+00" in lines


def test_a_wrong_derivation_is_told_from_wrong_code(monkeypatch: Patch, capsys: Capture) -> None:
    only(monkeypatch, "softmax")
    wrong = Formula.parse("d_x[b,j] = 2 * y[b,j] * (d_y[b,j] - sum(i, d_y[b,i] * y[b,i]))")
    monkeypatch.setattr(softmax, "FORMULAS", softmax.FORMULAS.replace(wrong))
    monkeypatch.setattr(softmax, "backward", twice)
    assert run() == 1
    named = [line for line in capsys.readouterr().out.splitlines() if line.startswith("op soft")]
    assert named
    assert all(line.startswith("op softmax: d_x (") and "by differences)" in line for line in named)


def test_for_programs(monkeypatch: Patch, capsys: Capture) -> None:
    only(monkeypatch, "softmax", "RMSNorm")
    assert run("--json") == 0
    read = json.loads(capsys.readouterr().out)
    assert read["right"] is True
    assert read["seconds"] > 0
    assert len(read["rows"]) == len(EXAMPLES) + 2
    row = next(row for row in read["rows"] if row["name"] == "softmax")
    assert row["section"] == "op"
    assert row["right"] is True
    assert row["limit"] == 1e-12
    assert (row["values"], row["gradients"], row["failures"]) == (8, 4, [])
    assert row["difference"] < 1e-12
    assert row["gradient_difference"] < 1e-7


@pytest.mark.parametrize("difference", [1e-3, INF, NAN])
def test_for_programs_what_is_wrong(difference: float, monkeypatch: Patch, capsys: Capture) -> None:
    check: Callable[[], tuple[tuple[Finding, ...], tuple[()]]] = lambda: (finding(difference), ())  # noqa: E731
    monkeypatch.setattr(
        "handformer.selfcheck.parts.parts", lambda: [Part("op", "odd", 1e-12, check)]
    )
    assert run("--json") == 1
    read = json.loads(capsys.readouterr().out)
    assert read["right"] is False
    row = read["rows"][-1]
    shown = 1e-3 if difference == 1e-3 else None  # JSON knows no infinity
    assert row["failures"] == [{"value": "z", "difference": shown}]
    assert row["difference"] == shown


@pytest.mark.slow
def test_everything_is_right(capsys: Capture) -> None:
    assert run() == 0
    assert "are right" in capsys.readouterr().out.splitlines()[-1]

"""`handformer check` without a case: invariants of a dump, and two ways that must agree."""

import json
from pathlib import Path

import numpy as np
import pytest

from handformer.checking import equivalence
from handformer.live import api
from handformer.live.report import OpReport
from tests.cli.typed import trained, typed

Capsys = pytest.CaptureFixture[str]


def test_invariants_of_a_dump(tmp_path: Path, capsys: Capsys) -> None:
    attn = np.full((2, 3, 4, 4), 0.25, np.float32)
    path = tmp_path / "dump.npz"
    np.savez(path, **{"blocks.0.attention.attn": attn})
    said = typed(capsys, "check", path, "--invariants")
    assert (said.code, said.err) == (0, "")
    assert "rows sum to 1" in said.out
    np.savez(path, **{"blocks.0.attention.attn": attn * 2})
    said = typed(capsys, "check", path, "--invariants", "--json")
    assert (said.code, said.err) == (1, "")
    assert json.loads(said.out)["fine"] is False


def test_one_op_in_the_place_of_ours(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, object]] = []

    def check_op(name: str, with_: str | None, **options: object) -> OpReport:
        asked.append({"name": name, "with_": with_, **options})
        return OpReport(name, "backward", str(with_), broken="it fell over")

    monkeypatch.setattr(api, "check_op", check_op)
    words = ("check", "--op", "softmax", "--direction", "backward", "--with", "mine:softmax")
    said = typed(capsys, *words)
    assert (said.code, said.err) == (1, "")
    assert "it fell over" in said.out
    assert asked == [
        {"name": "softmax", "with_": "mine:softmax", "command": None, "direction": "backward"}
    ]
    assert json.loads(typed(capsys, *words, "--json").out)["fine"] is False
    typed(capsys, "check", "--op", "gelu", "--with-command", "./prog {inputs}")
    assert asked[-1] == {
        "name": "gelu", "with_": None, "command": "./prog {inputs}", "direction": "forward",
    }  # fmt: skip


def test_an_op_alone_tells_what_it_takes(capsys: Capsys) -> None:
    said = typed(capsys, "check", "--op", "softmax")
    assert (said.code, said.err) == (0, "")
    assert "softmax" in said.out
    told = json.loads(typed(capsys, "check", "--op", "softmax", "--json").out)
    assert (told["op"], told["takes"], told["gives"]) == ("softmax", ["x"], ["y"])
    assert "y[b,j] = exp(x[b,j] - top[b]) / total[b]" in told["formulas"]


def test_two_ways_of_a_model(
    tmp_path: Path, capsys: Capsys, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trained(capsys, tmp_path)
    said = typed(capsys, "check", run, "--kv-cache", "--padding")
    assert (said.code, said.err) == (0, "")
    assert "with a cache and all at once" in said.out
    assert "padded, and each alone" in said.out

    def wrong(model: object) -> equivalence.Agreement:
        found = equivalence.Compared("head.out", 1.0, (0,), 2.0, 1.0, "the first row")
        return equivalence.Agreement("asked", "gpt2", (found,))

    monkeypatch.setattr(equivalence, "padding", wrong)
    said = typed(capsys, "check", run, "--kv-cache", "--padding", "--json")
    assert said.code == 1
    told = json.loads(said.out)
    assert (told["kv_cache"]["fine"], told["padding"]["fine"]) == (True, False)


@pytest.mark.parametrize("way", ["--kv-cache", "--invariants"])
def test_a_file_that_is_not_there_is_one_line(way: str, capsys: Capsys) -> None:
    assert "none" in typed(capsys, "check", "none", way).complaint()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--op softmax --with a:b --with-command c", "what is to stand in"),
        ("--op sofmax --with a:b", "softmax"),
        ("--op softmax --with a:b --direction up", "--direction"),
    ],
)
def test_what_cannot_be_asked_of_an_op_is_one_line(words: str, named: str, capsys: Capsys) -> None:
    assert named in typed(capsys, "check", *words.split()).complaint()

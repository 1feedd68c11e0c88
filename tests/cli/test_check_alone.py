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
        {
            "name": "softmax",
            "with_": "mine:softmax",
            "command": None,
            "direction": "backward",
            "seed": 0,
        }
    ]
    assert json.loads(typed(capsys, *words, "--json").out)["fine"] is False
    typed(capsys, "check", "--op", "gelu", "--with-command", "./prog {inputs}")
    assert asked[-1] == {
        "name": "gelu", "with_": None, "command": "./prog {inputs}", "direction": "forward",
        "seed": 0,
    }  # fmt: skip


def test_an_op_alone_tells_what_it_takes(capsys: Capsys) -> None:
    said = typed(capsys, "check", "--op", "softmax")
    assert (said.code, said.err) == (0, "")
    assert "softmax" in said.out


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


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--invariants --against case", "one thing at a time"),
        ("--invariants --padding", "one thing at a time"),
        ("--invariants --html page.html", "--html"),
        ("--invariants --names names.toml", "--names"),
        ("--padding --watch", "--watch"),
        ("--padding --junit check.xml", "--junit"),
        ("--op softmax --with a:b", "THEIRS"),
        ("--with a:b", "--op"),
        ("--kv-cache", "none"),
        ("--invariants", "none"),
    ],
)
def test_what_cannot_be_asked_is_one_line(words: str, named: str, capsys: Capsys) -> None:
    said = typed(capsys, "check", "none", *words.split())
    assert named in said.complaint()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--op softmax --with a:b --with-command c", "what is to stand in"),
        ("--op sofmax --with a:b", "softmax"),
        ("--op softmax --with a:b --direction up", "--direction"),
        ("--op softmax --with a:b --html x", "--html"),
    ],
)
def test_what_cannot_be_asked_of_an_op_is_one_line(words: str, named: str, capsys: Capsys) -> None:
    assert named in typed(capsys, "check", *words.split()).complaint()

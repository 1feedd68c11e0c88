"""Which options each question of `handformer check` takes: all others are refused, in one line."""

from pathlib import Path

import pytest

from handformer.cli.check_modes import TAKES
from tests.cli.typed import typed

Capsys = pytest.CaptureFixture[str]
ASKED = {
    "--list": "--list", "--write": "--write softmax case.safetensors", "--op": "--op softmax",
    "--kv-cache": "run --kv-cache", "--padding": "run --padding",
    "--invariants": "dump.npz --invariants", "--against": "dump.npz --against softmax",
}  # fmt: skip
OPTIONS = {
    **{mode: words[words.index("--") :] for mode, words in ASKED.items()},
    "THEIRS": "dump.npz", "--names": "--names names.toml", "--with": "--with a:b",
    "--with-command": "--with-command prog", "--direction": "--direction backward",
    "--json": "--json", "--junit": "--junit check.xml", "--html": "--html check.html",
    "--watch": "--watch",
}  # fmt: skip
FOREIGN = [
    (mode, option)
    for mode, takes in TAKES.items()
    for option in OPTIONS
    if option not in takes and option != mode
]


def test_every_question_and_every_option_is_tried(capsys: Capsys) -> None:
    assert {*ASKED} == {*TAKES}
    told = typed(capsys, "check", "--help").out
    assert [name for name in OPTIONS if name not in told] == []
    assert {name for takes in TAKES.values() for name in takes} | {*TAKES} == {*OPTIONS}


@pytest.mark.parametrize(("mode", "option"), FOREIGN)
def test_what_a_question_does_not_take_is_refused(
    mode: str, option: str, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = typed(capsys, "check", *ASKED[mode].split(), *OPTIONS[option].split())
    line = said.complaint()
    assert option in line
    if option in TAKES:
        assert mode in line
        assert line.endswith(": ask one thing at a time")
    else:
        homes, _, other = line.removeprefix(f"{option} goes with ").partition(", not with ")
        assert homes.split(" and ") == [one for one, takes in TAKES.items() if option in takes]
        assert other == f"{mode}: leave it out"
    assert said.out == ""
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "no dump: give its file or folder, or --list for the ready-made cases"),
        ("--json", "no dump: give its file or folder, or --list for the ready-made cases"),
        ("dump.npz",
         "nothing to hold it against: give --against CASE (see --list), or ask --invariants"),
        ("--with a:b", "--with stands in for an op: name it with --op, as in --op softmax"),
        ("d.npz --with-command a",
         "--with-command stands in for an op: name it with --op, as in --op softmax"),
        ("--against softmax", "no THEIRS: --against needs its file or folder"),
        ("--padding", "no THEIRS: --padding needs its file or folder"),
    ],
)  # fmt: skip
def test_what_is_missing_is_said(words: str, said: str, capsys: Capsys) -> None:
    assert typed(capsys, "check", *words.split()).complaint() == said

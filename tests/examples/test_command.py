"""`handformer example`: what it prints, and what it says to a mistake."""

import json

import pytest

from handformer.cli import main
from handformer.examples import EXAMPLES
from handformer.examples.chinese import CHINESE

Capture = pytest.CaptureFixture[str]


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["example", *words])
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.mark.parametrize("words", [(), ("--list",), ("identity", "--list")])
def test_the_list_names_each_example_with_a_line(words: tuple[str, ...], capsys: Capture) -> None:
    assert run(*words) == 0
    lines = capsys.readouterr().out.splitlines()
    for example, line in zip(EXAMPLES.values(), lines, strict=False):
        assert line.split(maxsplit=1) == [example.name, example.title]
        assert len(line) <= 92


def test_the_list_for_a_program(capsys: Capture) -> None:
    assert run("--list", "--format", "json") == 0
    read = json.loads(capsys.readouterr().out)
    assert read == {name: example.title for name, example in EXAMPLES.items()}


@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("text", "Self-attention: two tokens"),
        ("markdown", "# Self-attention: two tokens"),
        ("latex", r"\documentclass"),
        ("html", "<!doctype html>\n<html lang='en'>"),
        ("json", '{\n  "name": "identity"'),
    ],
)
def test_each_form_is_printed(form: str, start: str, capsys: Capture) -> None:
    assert run("identity", "--format", form) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(start)
    assert printed.out.endswith("\n")
    assert printed.err == ""


@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("text", "自注意力："),
        ("markdown", "# 自注意力："),
        ("latex", r"\documentclass{ctexart}"),
        ("html", "<!doctype html>\n<html lang='zh'>"),
        ("json", '{\n  "name": "identity",\n  "title": "自注意力：'),
    ],
)
def test_each_form_is_printed_in_chinese(form: str, start: str, capsys: Capture) -> None:
    assert run("identity", "--format", form, "--language", "zh") == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(start)
    assert printed.err == ""


def test_the_list_in_chinese(capsys: Capture) -> None:
    assert run("--language", "zh") == 0
    lines = capsys.readouterr().out.splitlines()
    for name, line in zip(EXAMPLES, lines, strict=False):
        assert line.split(maxsplit=1) == [name, CHINESE.texts[name].title]
    assert run("--list", "--format", "json", "--language", "zh") == 0
    read = json.loads(capsys.readouterr().out)
    assert read == {name: CHINESE.texts[name].title for name in EXAMPLES}


def test_an_unknown_language_is_one_line_with_those_there_are(capsys: Capture) -> None:
    assert run("identity", "--language", "fr") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert all(word in printed.err for word in ("fr", "en", "zh"))


def test_an_unknown_name_is_one_line_with_the_near_ones(capsys: Capture) -> None:
    assert run("idenity") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "handformer: no example is named 'idenity': did you mean identity or identity-backward? "
        "handformer example --list names them all\n"
    )
    assert run("zzz") == 2
    assert "'zzz': handformer example --list" in capsys.readouterr().err


def test_an_unknown_form_is_one_line_with_those_there_are(capsys: Capture) -> None:
    assert run("identity", "--format", "pdf") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert all(form in printed.err for form in ("pdf", "text", "markdown", "latex", "html", "json"))

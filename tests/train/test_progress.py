"""Progress: a bar in a terminal, plain lines in a file."""

import io

import pytest

from handformer.train import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock() -> "Clock":
    return Clock()


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_file_gets_plain_lines_now_and_then(clock: Clock) -> None:
    stream = io.StringIO()
    with progress.show(steps=1007, start=100, stream=stream, clock=clock) as shown:
        for step in range(101, 1008):
            clock.now += 0.01 if step <= 200 else 6.0 if step <= 202 else 0.01
            shown.update(step, loss=2.5, tokens_per_second=12345.6)
            if step == 150:
                shown.note("step 150: validation loss 2.4")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "step  101/1007  loss 2.5000    12,346 tokens/s      0:09 left"
    assert lines[1].startswith("step  150/1007")
    assert lines[2] == "step 150: validation loss 2.4"
    assert [line.split("/")[0].split()[1] for line in lines[3:7]] == ["200", "201", "202", "250"]
    assert lines[-1].startswith("step 1007/1007")
    assert lines[-1].endswith("0:00 left")
    assert len(lines) == 23
    assert "\x1b" not in stream.getvalue()


def test_hours_are_hours_and_no_update_is_no_pace(clock: Clock) -> None:
    stream = io.StringIO()
    with progress.show(steps=3, stream=stream, clock=clock) as shown:
        clock.now = 1860.5
        shown.update(0, loss=1.0, tokens_per_second=0.0)
        shown.update(1, loss=1.0, tokens_per_second=0.0)
    assert [line.split()[-2] for line in stream.getvalue().splitlines()] == ["?", "1:02:01"]


def test_the_colour_wishes_of_an_environment_dont_put_a_bar_into_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    with progress.show(steps=1, stream=stream) as shown:
        shown.update(1, loss=1.0, tokens_per_second=1.0)
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_gets_a_bar_and_notes_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    with progress.show(steps=20, start=5, stream=stream) as shown:
        shown.update(6, loss=2.5, tokens_per_second=12345.6)
        shown.note("[bold]a sample[/bold]")
        shown.update(20, loss=1.5, tokens_per_second=12345.6)
    written = stream.getvalue()
    assert "\x1b" in written
    assert "[bold]a sample[/bold]" in written  # a sample is text, whatever brackets it holds
    assert "step 20/20  loss 1.5000    12,346 tokens/s" in written


@pytest.mark.parametrize("make", [io.StringIO, Terminal])
def test_a_sample_cannot_steer_the_terminal(
    make: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = make()
    with progress.show(steps=1, stream=stream) as shown:
        shown.note("a\x1b]0;title\x07b\tc")
    assert "\x1b]" not in stream.getvalue()
    assert "\x07" not in stream.getvalue()
    assert "a\N{REPLACEMENT CHARACTER}]0;title\N{REPLACEMENT CHARACTER}b" in stream.getvalue()


def test_a_file_that_knows_few_letters_gets_question_marks() -> None:
    raw = io.BytesIO()
    with progress.show(steps=1, stream=io.TextIOWrapper(raw, "ascii")) as shown:
        shown.note("déjà")
        assert raw.getvalue() == b"d?j?\n"


def test_the_default_is_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.show(steps=1) as shown:
        shown.note("hello")
    assert capsys.readouterr().out == "hello\n"

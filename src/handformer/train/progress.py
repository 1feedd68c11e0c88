"""Progress while a model trains: a live bar in a terminal, plain lines anywhere else.

with progress.show(steps=2000) as shown:
    shown.update(step, loss=2.31, tokens_per_second=51_000)     # step counts the updates made
    shown.note("step 250: validation loss 2.25")                # a line of its own, above the bar
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from handformer.axes import record

SECONDS = 5.0  # a plain line at least this often,
PARTS = 20  # and after every twentieth of the run
_CONTROL = {
    code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), 127) if chr(code) not in "\n\t"
}


class Shown(Protocol):
    """What a training loop tells."""

    def update(self, step: int, *, loss: float, tokens_per_second: float) -> None:
        """`step` updates are made; the loss in nats of the last one, and the present speed."""
        ...

    def note(self, text: str) -> None:
        """Say something that stays: an evaluation, a sample."""
        ...


@contextmanager
def show(
    *,
    steps: int,
    start: int = 0,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Shown]:
    """Show the progress of updates start + 1 to steps on `stream`, standard output if not given."""
    stream = sys.stdout if stream is None else stream
    pace = _Pace(steps, start, clock(), clock)
    console = Console(file=stream, highlight=False)
    # Not console.is_terminal: the environment can force that, and a bar in a file is noise.
    if not stream.isatty() or console.is_dumb_terminal:
        yield _Lines(pace, stream)
        return
    columns = (BarColumn(bar_width=None), TextColumn("{task.fields[says]}"))
    with Progress(*columns, console=console, expand=True) as bar:
        yield _Bar(pace, bar, bar.add_task("", total=steps, completed=start, says=""))


@record
class _Pace:
    steps: int
    start: int
    began: float
    clock: Callable[[], float]

    def says(self, step: int, loss: float, tokens_per_second: float) -> str:
        width = len(str(self.steps))
        return (
            f"step {step:>{width}}/{self.steps}  loss {loss:6.4f}  "
            f"{tokens_per_second:>8,.0f} tokens/s  {self.left(step):>8} left"
        )

    def left(self, step: int) -> str:
        made = step - self.start
        if made <= 0:
            return "?"
        seconds = round((self.clock() - self.began) / made * max(0, self.steps - step))
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


@record
class _Bar:
    pace: _Pace
    bar: Progress
    task: TaskID

    def update(self, step: int, *, loss: float, tokens_per_second: float) -> None:
        says = self.pace.says(step, loss, tokens_per_second)
        self.bar.update(self.task, completed=step, says=says)

    def note(self, text: str) -> None:
        self.bar.console.print(Text(text.translate(_CONTROL)))


class _Lines:
    def __init__(self, pace: _Pace, stream: TextIO) -> None:
        self.pace, self.stream = pace, stream
        self.last = -float("inf")

    def update(self, step: int, *, loss: float, tokens_per_second: float) -> None:
        now = self.pace.clock()
        every = max(1, self.pace.steps // PARTS)
        if now - self.last >= SECONDS or step % every == 0 or step == self.pace.steps:
            self.last = now
            self.note(self.pace.says(step, loss, tokens_per_second))

    def note(self, text: str) -> None:
        encoding = self.stream.encoding or "utf-8"
        plain = text.translate(_CONTROL).encode(encoding, "replace").decode(encoding)
        print(plain, file=self.stream, flush=True)

"""The command line: one file a command; a user's mistake is one line and exit code 2.

Exit codes: 0 fine; 1 the answer is no (a check failed, a run diverged); 2 it could not be asked (a
wrong option, a wrong file); 128 and the signal's number where one stopped it, as shells have it:
130 after Ctrl-C, 143 after SIGTERM, 141 where nobody reads the output any more.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import ParamSpec

FINE, NO, CANNOT = 0, 1, 2
STOPPED = 128

P = ParamSpec("P")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `handformer` with these arguments, those of the process if none are given, and exit."""
    from handformer.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a character gets a substitute, not a traceback.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    given = list(arguments) if arguments is not None else None
    try:
        code = app(given, prog_name="handformer", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        code = _nobody_reads()
    except Exception as error:
        code = _usage(error)
    sys.exit(code if isinstance(code, int) else FINE)


def one_line(command: Callable[P, int]) -> Callable[P, int]:
    """The same command, which says what a user did wrong in one line, and gives the exit code."""
    from handformer.errors import InputError

    @wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> int:
        try:
            return command(*arguments, **options)
        except InputError as error:
            return complain(str(error))
        except BrokenPipeError:
            return _nobody_reads()
        except KeyboardInterrupt:
            return complain("stopped", STOPPED + signal.SIGINT)
        except MemoryError as error:
            return complain(f"out of memory: {error}; take a smaller model or batch")
        except OSError as error:
            return complain(str(error))

    return run


def complain(message: str, code: int = CANNOT) -> int:
    """Say what is wrong in one line on standard error, and give the exit code for it."""
    print(f"handformer: {' '.join(message.split())}", file=sys.stderr)
    return code


def _nobody_reads() -> int:
    """The reader, `head` say, has seen enough: what is left in the buffer goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return STOPPED + signal.SIGPIPE


def _usage(error: Exception) -> int:
    """Typer's own complaints about the command line; anything else is our mistake, and goes on."""
    shown = getattr(error, "format_message", None)
    if shown is None:
        raise error
    return complain(f"{shown()} (see --help)")

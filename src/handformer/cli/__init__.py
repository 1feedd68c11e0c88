"""The command line: one file a command; a user's mistake is one line and exit code 2."""

import sys
from collections.abc import Sequence

FINE, NO, CANNOT = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `handformer` with these arguments, those of the process if none are given, and exit."""
    from handformer.cli.app import app
    from handformer.errors import InputError

    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a character gets a substitute, not a traceback.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = app(list(arguments) if arguments is not None else None, standalone_mode=False)
    except InputError as error:
        code = complain(str(error))
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        sys.stderr.close()
        code = FINE
    except KeyboardInterrupt:
        code = complain("stopped")
    except Exception as error:
        code = _usage(error)
    sys.exit(code if isinstance(code, int) else FINE)


def complain(message: str) -> int:
    """Say what is wrong in one line on standard error, and give the exit code for it."""
    print(f"handformer: {' '.join(message.split())}", file=sys.stderr)
    return CANNOT


def _usage(error: Exception) -> int:
    """Typer's own complaints about the command line; anything else is our mistake, and goes on."""
    shown = getattr(error, "format_message", None)
    if shown is None:
        raise error
    return complain(f"{shown()} (see --help)")

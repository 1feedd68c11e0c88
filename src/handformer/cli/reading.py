"""What goes through a model, as it is typed: texts or token ids; and which of its positions."""

from pathlib import Path
from typing import Any

from handformer.errors import InputError

FAR = 1_000_000  # positions, more than any text has


def positions(given: str) -> tuple[int, ...]:
    """The places of `0,3` or `4:8`, each once."""
    runs: list[range] = []
    try:
        for part in given.split(","):
            first, colon, last = part.partition(":")
            runs.append(range(int(first), int(last) if colon else int(first) + 1))
    except ValueError:
        raise InputError(f"--positions {given!r}: expected places as in 0,3 or 4:8") from None
    if any(run.stop - run.start > FAR for run in runs):
        raise InputError(f"--positions {given!r}: at most {FAR:,} places")
    places = [place for run in runs for place in run]
    if not places or min(places) < 0:
        raise InputError(f"--positions {given!r}: expected places from 0 on, as in 0,3 or 4:8")
    return tuple(dict.fromkeys(places))


def asked(
    text: list[str] | None, tokens: str | None, batch: Path | None, targets: list[str] | None
) -> dict[str, Any]:
    """The arguments of `hand.trace` that say what is read."""
    given = [bool(text), tokens is not None, batch is not None].count(True)
    if given != 1:
        what = "too much" if given else "nothing"
        raise InputError(f"{what} to read: give one of --text, --tokens and --batch")
    if tokens is not None:
        aims = None if not targets else [_ids("--targets", one) for one in targets]
        return {"tokens": [_ids("--tokens", tokens)], "targets": aims}
    texts = text or []
    if batch is not None:
        try:
            texts = batch.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise InputError(f"{batch}: can't read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise InputError(f"{batch}: not UTF-8 text (byte {error.start})") from None
        texts = [line for line in texts if line]
        if not texts:
            raise InputError(f"{batch}: no text in it: expected one a line")
    return {"text": texts, "targets": targets or None}


def _ids(option: str, given: str) -> list[int]:
    try:
        return [int(part) for part in given.replace(",", " ").split()]
    except ValueError:
        raise InputError(f"{option} {given!r}: expected token ids, as in 5,3,8") from None

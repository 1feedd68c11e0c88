"""A run as the page shows it: its log in columns, its settings, and its samples, as plain data.

Every number is the log's own. Texts stay texts: whoever shows them has to escape them.
"""

from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any

from handformer.errors import InputError
from handformer.train import log as lines
from handformer.train.config import RunConfig
from handformer.train.run_folder import RunFolder

UPDATE = ("step", "loss", "lr", "gradient_norm", "tokens_per_second")
PARTS, VALIDATION, SAMPLE = "gradient_norms", "validation_loss", "sample"

Number = float | int | None


def log(folder: Path) -> dict[str, Any]:
    """What a run has logged so far, while it goes on too.

    Returns
    -------
    title, step, config
        the folder's name, the last step that is logged, and every setting by section
    training
        columns over the updates that are logged, by the names of UPDATE; a number that wasn't
        finite, or that the log doesn't hold, is None
    parts
        `names` of the parts of the model; `norms[n]` are those of their gradients after `step[n]`
        updates, in that order, as far as the log holds them
    validation
        columns `step` and `loss`
    samples
        `{"step", "text"}` in order

    Raises
    ------
    InputError
        where there is no run, or its log isn't one
    """
    place = RunFolder(folder)
    config = place.read_config()
    entries = lines.read(place.log) if place.log.exists() else []
    try:
        updates = [entry for entry in entries if "loss" in entry]
        evaluations = [entry for entry in entries if VALIDATION in entry]
        return {
            "title": folder.absolute().name,
            "step": max((entry["step"] for entry in entries), default=0),
            "config": _settings(config),
            "training": {key: [_number(entry, key) for entry in updates] for key in UPDATE},
            "parts": _parts(updates),
            "validation": {
                "step": [entry["step"] for entry in evaluations],
                "loss": [_number(entry, VALIDATION) for entry in evaluations],
            },
            "samples": [
                {"step": entry["step"], "text": _text(entry, SAMPLE)}
                for entry in entries
                if SAMPLE in entry
            ],
        }
    except InputError as error:
        raise InputError(f"{place.log}: {error}") from None


def _settings(config: RunConfig) -> dict[str, Any]:
    """Every setting; of the text's path the last part, which says enough to those who read it."""
    settings = config.model_dump(mode="json")
    for key in ("path", "tokenizer"):
        if settings["data"][key] is not None:
            settings["data"][key] = PurePath(settings["data"][key]).name
    return settings


def _parts(updates: Iterable[lines.Entry]) -> dict[str, Any]:
    """The norms of the parts as a table. All lines of a run have the same ones, or none."""
    told = [(entry["step"], _table(entry)) for entry in updates if PARTS in entry]
    names = [*dict.fromkeys(name for _, norms in told for name in norms)]
    return {
        "names": names,
        "step": [step for step, _ in told],
        "norms": [[norms.get(name) for name in names] for _, norms in told],
    }


def _table(entry: lines.Entry) -> dict[str, Number]:
    norms = entry[PARTS]
    if not isinstance(norms, dict):
        raise _odd(entry, PARTS, "a table of numbers")
    return {name: _number({**norms, "step": entry["step"]}, name) for name in norms}


def _number(entry: lines.Entry, key: str) -> Number:
    value = entry.get(key)
    if value is None or type(value) in (int, float):
        return value
    raise _odd(entry, key, "a number")


def _text(entry: lines.Entry, key: str) -> str:
    if isinstance(value := entry[key], str):
        return value
    raise _odd(entry, key, "a text")


def _odd(entry: lines.Entry, key: str, expected: str) -> InputError:
    found = repr(entry[key])
    short = found if len(found) <= 40 else f"{found[:40]}..."
    return InputError(f"step {entry['step']}: {key} is {short}, expected {expected}")

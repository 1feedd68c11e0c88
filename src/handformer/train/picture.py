"""Pictures in files: which kinds there are, and the same bytes for the same picture."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from handformer.errors import InputError
from handformer.train import aside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of each kind, what would change from day to day and from version to version.
KINDS: dict[str, dict[str, None]] = {
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def kind(path: Path) -> str:
    """The ending that says what kind of picture is wanted.

    Raises
    ------
    InputError
        for an ending that isn't one of KINDS
    """
    ending = path.suffix.lower()
    if ending not in KINDS:
        raise InputError(f"{path}: a picture ends in {', '.join(KINDS)}; give it such a name")
    return ending


def write(figure: "Figure", path: Path) -> None:
    """Write a picture, whole or not at all.

    Raises
    ------
    OSError
        if it can't be written
    """
    ending = kind(path)
    made = io.BytesIO()
    figure.savefig(made, format=ending[1:], metadata=KINDS[ending])
    aside.write(path, made.getvalue())

"""Whether a manifest makes sense, and says what its file holds: anybody may have written it."""

from collections.abc import Mapping

from handformer.axes import LEGEND
from handformer.formula import Sheet
from handformer.tracing.file import File
from handformer.tracing.manifest import Manifest, Value

RANK = "k"  # the axis of the likeliest tokens


def require_fit(manifest: Manifest, opened: File) -> None:
    """Refuse a manifest that doesn't say what the file holds.

    Raises
    ------
    ValueError
        that names the first thing that doesn't fit
    """
    sheets = [_read(number, sheet) for number, sheet in enumerate(manifest.sheets)]
    scopes: dict[str, Sheet] = {}
    for scope in manifest.scopes:
        if not 0 <= scope.sheet < len(sheets):
            raise ValueError(f"the scope {scope.path!r} has no sheet {scope.sheet}")
        scopes[scope.path] = sheets[scope.sheet]
    kept = {value.path for value in manifest.values if value.kept}
    if odd := sorted(kept ^ opened.offsets.keys()):
        raise ValueError(f"{odd[0]!r} is in the file or in the manifest, not in both")
    if min(manifest.positions or (0,)) < 0:
        raise ValueError(f"the positions {manifest.positions} count from 0")
    for value in manifest.values:
        _require_sense(value, scopes)
        if value.kept and opened.offsets[value.path][:2] != (value.dtype, value.shape):
            raise ValueError(f"{value.path} is of another type or shape in the file")


def _read(number: int, sheet: str) -> Sheet:
    try:
        return Sheet.parse(sheet)
    except (ValueError, KeyError) as error:
        raise ValueError(f"sheet {number}: {error}") from None


def _require_sense(value: Value, scopes: Mapping[str, Sheet]) -> None:
    """Refuse an entry whose axes or formula can't be meant."""
    if not value.path:
        raise ValueError("a value has no path")
    if len(value.axes) != len(value.shape):
        raise ValueError(f"{value.path} has {len(value.shape)} axes, {len(value.axes)} letters")
    if unknown_letters := {*value.axes} - {*LEGEND, RANK}:
        raise ValueError(f"{value.path} has an axis {min(unknown_letters)!r}, which is no letter")
    if value.scope is None:
        return
    if value.scope not in scopes:
        raise ValueError(f"{value.path} has no scope {value.scope!r}")
    name = value.path.removeprefix(f"{value.scope}.") if value.scope else value.path
    if name not in scopes[value.scope]:
        raise ValueError(f"the scope {value.scope!r} has no formula for {value.path}")
    if scopes[value.scope][name].axes != value.axes:
        raise ValueError(f"{value.path} has the axes {value.axes}, and others in its formula")

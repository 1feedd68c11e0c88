"""What the page gets of a trace: what it says of itself, its formulas as trees, and where in the
file each value's bytes lie. The numbers themselves are read from the file, a value at a time.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handformer.formula import Sheet
from handformer.formula.encode import encode_sheet
from handformer.tracing.trace import Trace

_METADATA = "__metadata__"


def document(trace: Trace, path: Path, *, number: str, title: str) -> dict[str, Any]:
    """All but the numbers of a trace that lies at `path` in a file; it has been checked on opening.

    tensors
        by path: dtype and shape as safetensors writes them, and offsets from data_start on
    """
    header, start = _header(path)
    return {
        "id": number,
        "title": title,
        "manifest": json.loads(trace.manifest.model_dump_json()),
        "sheets": [encode_sheet(Sheet.parse(text)) for text in trace.manifest.sheets],
        "tensors": {
            name: {
                "dtype": entry["dtype"],
                "shape": entry["shape"],
                "offsets": entry["data_offsets"],
            }
            for name, entry in header.items()
            if name != _METADATA
        },
        "data_start": start,
    }


def to_json(data: Any) -> bytes:
    """JSON in plain ASCII: no character of it means anything to HTML's or JavaScript's own lines.

    What isn't finite becomes a string, since JSON has no such numbers; `<`, `>` and `&` become
    escapes, which JSON allows in strings, and outside of strings it has none of them.
    """
    text = json.dumps(_plain(data), allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("ascii")


def _plain(data: Any) -> Any:
    if isinstance(data, float) and not math.isfinite(data):
        return "nan" if math.isnan(data) else "inf" if data > 0 else "-inf"
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    return data


def _header(path: Path) -> tuple[dict[str, Any], int]:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        return json.loads(file.read(size)), 8 + size

"""The page's own files, as they lie in the package: a fixed list, read by name and by no path."""

from importlib.resources import files
from types import MappingProxyType

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
START = "index.html"
_FOLDER = files("handformer.inspector") / "page"


def _kind(name: str) -> str | None:
    return TYPES.get(name[name.rfind(".") :])


# Every file of the page with its content type.
FILES = MappingProxyType(
    {
        entry.name: kind
        for entry in sorted(_FOLDER.iterdir(), key=lambda entry: entry.name)
        if entry.is_file() and (kind := _kind(entry.name)) is not None
    }
)


def read(name: str) -> bytes:
    """One of FILES."""
    assert name in FILES, name
    return (_FOLDER / name).read_bytes()

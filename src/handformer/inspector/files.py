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


# Every file of the page with its content type; what isn't here isn't served.
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


def start() -> bytes:
    """The first file, which also names all modules: they come at once, not one after the other."""
    names = [name for name in FILES if name.endswith(".js")]
    links = "".join(f'<link rel="modulepreload" href="./{name}">\n' for name in names)
    return read(START).replace(b"</head>", links.encode() + b"</head>", 1)

"""The same page as one file, which works from a disk, with nothing beside it and no network.

Style and modules stand in the file itself. The modules can't find each other by relative paths
there, so their imports are given names, and a map says which module each name means. The trace is
the file that `Trace.save` writes, in base64.

No text of a trace can become markup: all of it stands in JSON that holds no `<`. And the page's own
policy lets it fetch nothing and run nothing but its own modules.
"""

import base64
import hashlib
import html
import re
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from handformer.errors import InputError
from handformer.inspector import files
from handformer.inspector.data import document, to_json
from handformer.inspector.tour import LANGUAGES, tour
from handformer.tracing.trace import Trace

LARGEST = 200_000_000  # bytes; browsers open larger texts slowly, or not at all
_IMPORT = re.compile(r"""(\b(?:from|import)\s*\(?\s*)(["'])\./([\w-]+\.js)\2""")
_RELATIVE = re.compile(r"""(["'`])\.{1,2}/""")
_STYLE = re.compile(r'[ \t]*<link[^>]*rel="stylesheet"[^>]*href="(?:\./)?([\w-]+\.css)"[^>]*>\n?')
_SCRIPT = re.compile(r'[ \t]*<script[^>]*src="(?:\./)?([\w-]+\.js)"[^>]*></script>\n?')
_ICON = re.compile(r'(<link[^>]*rel="icon"[^>]*href=")(?:\./)?([\w-]+\.svg)"')
_TITLE = re.compile(r"<title>.*?</title>", re.DOTALL)
_OUTSIDE = re.compile(r"""\b(?:src|href|action|srcset)=["']?(?!["']?(?:#|data:))[^\s>]*""")
_CHARSET = '<meta charset="utf-8">\n'


def page(trace: Trace, *, title: str, log: Any = None) -> bytes:
    """The page of a trace, and of a run's log where there is one, as one HTML file.

    Raises
    ------
    InputError
        where it would be larger than LARGEST; that is known before anything is put together
    """
    expected = forecast(trace)
    if expected > LARGEST:
        raise InputError(
            f"the page would have about {expected / 1e6:,.0f} MB, expected at most "
            f"{LARGEST / 1e6:,.0f} MB: leave values out with --only 'blocks.0.*', or the weights "
            "with --no-weights; `handformer inspect` shows a trace of any size"
        )
    return _assemble(title, to_json(_boot(trace, title, log)))


def forecast(trace: Trace) -> int:
    """About how many bytes the page of a trace will have; no number is read for it."""
    numbers = sum(
        prod(value.shape) * np.dtype(value.dtype).itemsize
        for value in trace.manifest.values
        if value.kept
    )
    own = sum(len(files.read(name)) for name in files.FILES)
    tours = sum(len(to_json(tour(one))) for one in LANGUAGES)
    told = len(trace.manifest.model_dump_json())  # tables and formulas take as much again, twice
    return 4 * (numbers + own) // 3 + tours + 3 * told


def _boot(trace: Trace, title: str, log: Any) -> dict[str, Any]:
    """All that the page would otherwise ask a server for."""
    with TemporaryDirectory(prefix="handformer-") as folder:
        path = Path(folder) / "trace.safetensors"
        trace.save(path)
        shown = document(trace, path, number="1", title=title)
        shown["data"] = base64.b64encode(path.read_bytes()).decode("ascii")
    can = {"run": False, "generate": False, "log": log is not None}
    family = (trace.manifest.config or {}).get("family")
    about = {"kind": "trace", "title": title, "offline": True, "family": family, "can": can}
    boot = {"about": about, "traces": [shown], "tour": {one: tour(one) for one in LANGUAGES}}
    return boot if log is None else {**boot, "log": log}


def _assemble(title: str, boot: bytes) -> bytes:
    """The page's HTML with everything in it that it names."""
    text = files.read(files.START).decode("utf-8")
    styles = "\n".join(_style(name) for name in _STYLE.findall(text))
    (start,) = _SCRIPT.findall(text)
    imports = {_name(name): _module(name) for name in files.FILES if name.endswith(".js")}
    names = to_json({"imports": imports}).decode("ascii")
    first = f'import "{_name(start)}";'
    text = _SCRIPT.sub("", _STYLE.sub("", text))
    text = _ICON.sub(lambda found: f'{found[1]}{_picture(found[2])}"', text)
    assert not (out := _OUTSIDE.search(text)), f"{files.START} needs {out}"
    policy = _policy(scripts=(names, first), styles=(styles,))
    head = f'{_CHARSET}<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    text = _TITLE.sub(lambda _: f"<title>{html.escape(title)}</title>", text, count=1)
    assert text.count(_CHARSET) == 1, f"{files.START} doesn't say that it is UTF-8"
    text = text.replace(_CHARSET, head)
    before, end, after = text.partition("</head>")
    assert end, f"{files.START} has no head"
    return b"".join(
        (
            f"{before}<style>{styles}</style>\n".encode(),
            b'<script type="application/json" id="boot">', boot, b"</script>\n",
            f'<script type="importmap">{names}</script>\n'.encode(),
            f'<script type="module">{first}</script>\n{end}{after}'.encode(),
        )
    )  # fmt: skip


def _name(file: str) -> str:
    return f"handformer/{file}"


def _module(file: str) -> str:
    """A module as an address that holds its text."""
    text = by_name(files.read(file).decode("utf-8"), file)
    return _address("text/javascript", text.encode("utf-8"))


def by_name(text: str, file: str) -> str:
    """The text of a module whose imports are by name, and no longer by place."""
    for _, _, name in _IMPORT.findall(text):
        assert name in files.FILES, f"{file} imports {name}, which isn't there"
    text = _IMPORT.sub(lambda found: f'{found[1]}"{_name(found[3])}"', text)
    left = _RELATIVE.search(text)
    assert left is None, f"{file} names a file in a way unknown here: {left}"
    return text


def _style(file: str) -> str:
    text = files.read(file).decode("utf-8")
    assert "</style" not in text, file
    assert not re.search(r"@import|url\((?!['\"]?data:)", text), f"{file} names another file"
    return text


def _picture(file: str) -> str:
    return _address("image/svg+xml", files.read(file))


def _address(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _policy(*, scripts: tuple[str, ...], styles: tuple[str, ...]) -> str:
    """Nothing is fetched; nothing runs or styles but what stands in the file, letter by letter."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src data: {' '.join(map(_digest, scripts))}",
            f"style-src {' '.join(map(_digest, styles))}",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"

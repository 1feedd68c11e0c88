"""The page as one file, as a reader gets it: style and modules stand in the file itself.

It comes in one piece, and works from a disk as it does from a server. Nothing runs but the page's
own script (see `modules`): the policy knows it letter by letter.
"""

import base64
import hashlib
import html
import re
from dataclasses import dataclass

from handformer.inspector import files
from handformer.inspector.modules import script

_STYLE = re.compile(r'[ \t]*<link[^>]*rel="stylesheet"[^>]*href="(?:\./)?([\w-]+\.css)"[^>]*>\n?')
_SCRIPT = re.compile(r'[ \t]*<script[^>]*src="(?:\./)?([\w-]+\.js)"[^>]*></script>\n?')
_ICON = re.compile(r'(<link[^>]*rel="icon"[^>]*href=")(?:\./)?([\w-]+\.svg)"')
_TITLE = re.compile(r"<title>.*?</title>", re.DOTALL)
_OUTSIDE = re.compile(r"""\b(?:src|href|action|srcset)=["']?(?!["']?(?:#|data:))[^\s>]*""")
_CHARSET = '<meta charset="utf-8">\n'


@dataclass(frozen=True)
class Shell:
    """The page as HTML, and the policy that it has to be shown under."""

    html: bytes
    policy: str


def shell(title: str, boot: bytes | None = None) -> Shell:
    """The page's HTML with everything in it that it names.

    `boot` is JSON, without any `<`, with all that it would otherwise ask its server for.
    """
    text = files.read(files.START).decode("utf-8")
    styles = "\n".join(_style(name) for name in _STYLE.findall(text))
    (start,) = _SCRIPT.findall(text)
    code = script(start)
    text = _SCRIPT.sub("", _STYLE.sub("", text))
    text = _ICON.sub(lambda found: f'{found[1]}{_picture(found[2])}"', text)
    assert not (out := _OUTSIDE.search(text)), f"{files.START} needs {out}"
    asks = "'self'" if boot is None else "'none'"
    policy = _policy(script=code, style=styles, asks=asks)
    head = f'{_CHARSET}<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    text = _TITLE.sub(lambda _: f"<title>{html.escape(title)}</title>", text, count=1)
    assert text.count(_CHARSET) == 1, f"{files.START} doesn't say that it is UTF-8"
    text = text.replace(_CHARSET, head)
    before, end, after = text.partition("</head>")
    assert end, f"{files.START} has no head"
    opening = b'<script type="application/json" id="boot">'
    parts = (
        f"{before}<style>{styles}</style>\n".encode(),
        b"" if boot is None else opening + boot + b"</script>\n",
        f'<script type="module">{code}</script>\n{end}{after}'.encode(),
    )
    return Shell(b"".join(parts), policy)


def _style(file: str) -> str:
    text = files.read(file).decode("utf-8")
    assert "</style" not in text, file
    assert not re.search(r"@import|url\((?!['\"]?data:)", text), f"{file} names another file"
    return text


def _picture(file: str) -> str:
    return _address("image/svg+xml", files.read(file))


def _address(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _policy(*, script: str, style: str, asks: str) -> str:
    """Nothing is fetched but from `asks`; nothing runs or styles but what stands in the file."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_digest(script)}",
            f"style-src {_digest(style)}",
            f"connect-src {asks}",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"

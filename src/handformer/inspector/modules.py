"""The page's modules as one script: each as a function that gives what it exports, in the order in
which they need each other.

    import { h } from "./dom.js";       const { h } = $dom;
    export function cell() { ... }      const $cell = (() => { ...; return { cell }; })();

A hundred small files that a browser fetches and starts one by one take half a second; and from a
disk modules can't find each other at all. The page's code keeps to the forms that are known here,
and anything else is an error while the page is put together, not in somebody's browser.
"""

import re
from collections.abc import Callable

from handformer.inspector import files

_IMPORT = re.compile(
    r"""^import\s+(?:(\{[^}]*\}|\*\s+as\s+\w+)\s+from\s+)?(["'])\./([\w-]+)\.js\2;?$""",
    re.MULTILINE,
)
_EXPORT = re.compile(
    r"^export\s+(?=(?:async\s+)?(?:function\*?|class|const)\s+(\w+))", re.MULTILINE
)
_LISTED = re.compile(r"^export\s+\{\s*([\w\s,]+?),?\s*\};$", re.MULTILINE)
_AS = re.compile(r"(\w+)\s+as\s+(\w+)")
_LEFT = re.compile(  # what is in none of these forms
    r"""^\s*(?:import|export)\b.*|\bimport\s*\(.*|(["'`])\.{1,2}/.*|^await\b.*""", re.MULTILINE
)
_Read = Callable[[str], str]


def script(start: str, read: _Read | None = None) -> str:
    """The module of that name, and before it all that it needs, as the text of one script."""
    done: dict[str, str] = {}
    _add(start, read or _read, done, ())
    return '"use strict";\n' + "\n".join(done.values())


def _read(name: str) -> str:
    return files.read(name).decode("utf-8")


def _add(name: str, read: _Read, done: dict[str, str], above: tuple[str, ...]) -> None:
    """Put a module behind those that it imports."""
    if name in done:
        return
    assert name not in above, f"{name} needs itself: {' > '.join(above)}"
    text = read(name)
    for _, _, other in _IMPORT.findall(text):
        _add(f"{other}.js", read, done, (*above, name))
    done[name] = _closed(name, text)


def _closed(name: str, text: str) -> str:
    """A module as a function that gives what it exports."""
    exported = _EXPORT.findall(text)
    for listed in _LISTED.findall(text):
        exported += [one.strip() for one in listed.split(",")]
    body = _LISTED.sub("", _EXPORT.sub("", _IMPORT.sub(_taken, text)))
    left = _LEFT.search(body)
    assert left is None, f"{name} names a file in a way unknown here: {left[0].strip()}"
    assert "</script" not in body, f"{name} would end the script that it stands in"
    assert "<!--" not in body, f"{name} would begin a comment of HTML's"
    given = f"return {{ {', '.join(exported)} }};"
    return f"const {_named(name)} = (() => {{\n{body.strip()}\n{given}\n}})();"


def _taken(found: re.Match[str]) -> str:
    """An import as a look into what a module gave."""
    what, module = found[1], _named(f"{found[3]}.js")
    if what is None:
        return ""
    if what.startswith("*"):
        return f"const {what.split()[-1]} = {module};"
    names = _AS.sub(r"\1: \2", what)
    return f"const {names} = {module};"


def _named(name: str) -> str:
    return "$" + name.removesuffix(".js").replace("-", "$")

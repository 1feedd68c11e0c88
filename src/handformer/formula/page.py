"""A page of its own: words, formulas and small arrays as HTML, without script or network.

Everything that is put in is escaped, and a browser is told to run nothing. Numbers are shown to
four digits; a table of them can be opened in which every digit stands.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.formula.expression import Node, Number, Scalar
from handformer.formula.mathml import mathml
from handformer.formula.rounded import DIGITS
from handformer.formula.text import number

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

STYLE = """
:root { color-scheme: light dark; --paper: #fbfaf7; --ink: #1e2126; --soft: #5b6068;
  --line: #dcd8cf; --panel: #ffffff; --accent: #1f5fa8; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15171a; --ink: #e6e4df; --soft: #a3a6ab; --line: #34383e; --panel: #1c1f23;
    --accent: #85b7f0; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 46rem; padding: 2rem 1.25rem 4rem; background: var(--paper);
  color: var(--ink); line-height: 1.6; overflow-wrap: break-word;
  font-family: "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, "Songti SC",
    "Noto Serif CJK SC", serif; }
body:lang(zh) { line-height: 1.8; }
h1 { font-size: 1.75rem; line-height: 1.35; margin: 0 0 1rem; }
h2 { font-size: 1.15rem; margin: 2.75rem 0 .5rem; padding-top: 1rem;
  border-top: 1px solid var(--line); }
a { color: var(--accent); }
code { font-family: ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; font-size: .88em;
  background: color-mix(in srgb, var(--ink) 7%, transparent); border-radius: .25em;
  padding: .1em .3em; }
.soft, dd, figcaption, summary { color: var(--soft); }
.wide { overflow-x: auto; margin: 1rem 0; padding: .25rem 0;
  background: linear-gradient(to right, var(--paper) 30%, transparent) left / 3rem 100% local,
    linear-gradient(to left, var(--paper) 30%, transparent) right / 3rem 100% local,
    linear-gradient(to right, var(--line), transparent) left / .75rem 100% scroll,
    linear-gradient(to left, var(--line), transparent) right / .75rem 100% scroll;
  background-repeat: no-repeat; }
math { font-size: 1.1rem; }
mtd.name { text-align: right; }
mtd.side { text-align: left; padding-left: .25em; padding-block: .3em; }
.arrays { display: flex; flex-wrap: wrap; gap: 1rem 2rem; margin: 1rem 0; }
figure { margin: 0; max-width: 100%; overflow-x: auto; }
figcaption { font-size: .9rem; }
table.numbers { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem;
  background: var(--panel); border-inline: 2px solid var(--ink); border-radius: 4px; }
table.numbers td { padding: .2rem .6rem; text-align: right; white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 1rem 0; }
dt { font-style: italic; } dd { margin: 0; }
details { margin: .5rem 0; } summary { cursor: pointer; font-size: .9rem; }
"""


def page(title: str, body: Iterable[str], *, language: str = "en") -> str:
    """The whole document; `body` is HTML already, the title is a text."""
    head = (
        "<!doctype html>",
        f"<html lang='{escape(language)}'>",
        "<head>",
        "<meta charset='utf-8'>",
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
    )
    return "\n".join((*head, *body, "</body>", "</html>")) + "\n"


def prose(words: str) -> str:
    """A text, with names in backquotes as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(words))


def equation(left: Node, sides: Iterable[Node | str]) -> str:
    """`left = side = side`, a line each; it scrolls on its own where it is too wide.

    A side is a tree, or MathML already.
    """
    written = dict.fromkeys(side if isinstance(side, str) else mathml(side) for side in sides)
    rows = []
    name = mathml(left)
    for side in written:
        cells = f"<mtd class='name'>{name}</mtd><mtd><mo>=</mo></mtd><mtd class='side'>{side}</mtd>"
        rows.append(f"<mtr>{cells}</mtr>")
        name = ""
    table = f"<mtable displaystyle='true'>{''.join(rows)}</mtable>"
    return f"<div class='wide'><math display='block'>{table}</math></div>"


def assignments(numbers: Mapping[str, Any]) -> str:
    """Bare numbers in a row, each whole: `d_k = 2`."""
    each = (
        f"<math>{mathml(Scalar(name))}<mo>=</mo>{mathml(Number(value))}</math>"
        for name, value in numbers.items()
    )
    return f"<div class='arrays'>{''.join(each)}</div>"


def tables(arrays: Mapping[str, NDArray[Any]], every_digit: str = "Every digit") -> str:
    """Small arrays by name, beside each other: a table each; of three axes, one a matrix.

    Where a number is rounded, tables in which none is can be opened.
    """
    html = _beside(arrays, DIGITS)
    rounded = {name: a for name, a in arrays.items() if any(map(_is_rounded, a.flat))}
    if not rounded:
        return html
    summary = f"<summary>{escape(every_digit)}</summary>"
    return f"{html}<details>{summary}{_beside(rounded, None)}</details>"


def _beside(arrays: Mapping[str, NDArray[Any]], digits: int | None) -> str:
    figures = (figure for name in arrays for figure in _matrices(name, arrays[name], digits))
    return f"<div class='arrays'>{''.join(figures)}</div>"


def _matrices(name: str, array: NDArray[Any], digits: int | None) -> Iterator[str]:
    rows = np.atleast_2d(array)
    for place in np.ndindex(rows.shape[:-2]):
        label = f"{name}[{','.join(map(str, place))}]" if place else name
        caption = f"<figcaption><code>{escape(label)}</code></figcaption>"
        lines = "".join(_row(row, digits) for row in rows[place])
        yield f"<figure>{caption}<table class='numbers'>{lines}</table></figure>"


def _row(row: Sequence[Any] | NDArray[Any], digits: int | None) -> str:
    return f"<tr>{''.join(f'<td>{_number(entry, digits)}</td>' for entry in row)}</tr>"


def _number(entry: Any, digits: int | None) -> str:
    """With a true minus, so that columns look even."""
    return number(entry, digits).replace("-", "−")


def _is_rounded(entry: Any) -> bool:
    return number(entry) != number(entry, DIGITS) and float(number(entry, DIGITS)) != float(entry)

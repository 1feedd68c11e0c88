"""A worked example as a LaTeX document that can be compiled as it is."""

import re
from collections.abc import Iterable, Iterator

from handformer.axes import LEGEND
from handformer.examples.show.typeset import equations, given
from handformer.examples.worked import PLACES, Worked

_HEAD = r"""\documentclass{article}
\usepackage[margin=2cm]{geometry}
\usepackage{amsmath}
\setlength{\parindent}{0pt}
\setlength{\parskip}{1ex}
\begin{document}"""
_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}",
    "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def document(worked: Worked) -> str:
    """The whole example, a section a step."""
    return "\n".join(_lines(worked)) + "\n"


def _lines(worked: Worked) -> Iterator[str]:
    example = worked.example
    yield _HEAD
    yield rf"\section*{{{_prose(example.title)}}}"
    yield _prose(example.words)
    yield from _display(given(worked))
    yield PLACES
    yield ""
    yield r"\begin{tabular}{ll}"
    yield from (rf"${letter}$ & {_prose(LEGEND[letter])} \\" for letter in worked.letters)
    yield r"\end{tabular}"
    yield ""
    for count, step in enumerate(worked.steps, 1):
        yield rf"\subsection*{{{count}. {_prose(f'`{step.step.value}`')}}}"
        yield _prose(step.step.words)
        yield from _display(equations(step))
    yield r"\subsection*{What to take home}"
    yield _prose(example.lesson)
    yield r"\end{document}"


def _prose(words: str) -> str:
    """Words with LaTeX's own signs made plain, and names in backquotes as code."""
    escaped = "".join(_SPECIAL.get(letter, letter) for letter in words)
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", escaped)


def _display(formulas: Iterable[str]) -> Iterator[str]:
    return (rf"\[ {formula} \]" for formula in formulas)

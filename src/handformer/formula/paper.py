"""A LaTeX document that can be compiled as it is, and words that hold LaTeX's own signs."""

import re
from collections.abc import Iterable, Iterator

# Chinese needs its own class, which brings the fonts; XeLaTeX or LuaLaTeX read it best.
_CLASSES = {"en": "article", "zh": "ctexart"}
_HEAD = r"""\documentclass{%s}
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


def paper(body: Iterable[str], *, language: str = "en") -> str:
    """The whole document; `body` is LaTeX, a line each."""
    return "\n".join((_HEAD % _CLASSES[language], *body, r"\end{document}")) + "\n"


def escaped(words: str) -> str:
    """Words with LaTeX's own signs made plain."""
    return "".join({**_SPECIAL, "`": r"\textasciigrave{}"}.get(sign, sign) for sign in words)


def prose(words: str) -> str:
    """The same with names in backquotes as code."""
    made_plain = "".join(_SPECIAL.get(sign, sign) for sign in words)
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", made_plain)


def display(formulas: Iterable[str]) -> Iterator[str]:
    """Equations, each on a line of its own."""
    return (rf"\[ {formula} \]" for formula in formulas)

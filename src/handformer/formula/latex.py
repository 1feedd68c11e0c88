"""A formula in LaTeX's mathematics (what KaTeX and MathJax read too)."""

from collections.abc import Mapping, Sequence

from handformer.formula.display import WORDS, Display
from handformer.formula.expression import Node
from handformer.formula.names import GREEK, Shown

_OPERATORS = {"*": r"\,", ".": r"\cdot", "<=": r"\leq", ">=": r"\geq", "==": "=",
              "!=": r"\neq", "and": r"\wedge", "or": r"\vee", "%": r"\bmod"}  # fmt: skip
_FUNCTIONS = ("exp", "log", "tanh", "sin", "cos", "max")
_SYMBOLS = {"inf": r"\infty", "eps": r"\varepsilon"}


def latex(node: Node, digits: int | None = None, words: Mapping[str, str] = WORDS) -> str:
    """The expression in LaTeX, its numbers to so many significant digits."""
    return _Latex(digits, words).write(node)


class _Latex(Display):
    def number(self, digits: str, exponent: int | None) -> str:
        return digits if exponent is None else rf"{digits} \cdot 10^{{{exponent}}}"

    def name(self, name: Shown, places: Sequence[str] = ()) -> str:
        base = _letter(name.base)
        base = rf"\hat{{{base}}}" if name.hat else base
        low = r";\,".join(part for part in (_letter(name.low), ",".join(places)) if part)
        path = _upright(name.path) if name.path else ""
        d = r"\mathrm{d}" + (r"\," if name.is_word else "") if name.gradient else ""
        return f"{path}{d}{base}" + (f"_{{{low}}}" if low else "")

    def group(self, inside: str) -> str:
        return rf"\left({inside}\right)"

    def negative(self, part: str) -> str:
        return f"-{part}"

    def join(self, operator: str, *parts: str) -> str:
        return f" {_OPERATORS.get(operator, operator)} ".join(parts)

    def fraction(self, above: str, below: str) -> str:
        return rf"\frac{{{above}}}{{{below}}}"

    def floor(self, left: str, right: str) -> str:
        return rf"\left\lfloor {left} / {right} \right\rfloor"

    def power(self, base: str, exponent: str) -> str:
        return f"{{{base}}}^{{{exponent}}}"

    def root(self, part: str) -> str:
        return rf"\sqrt{{{part}}}"

    def cases(self, condition: str, yes: str, no: str) -> str:
        return (
            rf"\begin{{cases}} {yes} & \text{{{self.words['if']} }} {condition} \\ "
            rf"{no} & \text{{{self.words['otherwise']}}} \end{{cases}}"
        )

    def call(self, function: str, arguments: Sequence[str]) -> str:
        sign = f"\\{function}" if function in _FUNCTIONS else rf"\operatorname{{{function}}}"
        return sign + self.group(", ".join(arguments))

    def reduction(self, kind: str, letters: Sequence[str], body: str) -> str:
        sign = {"sum": r"\sum", "max": r"\max"}.get(kind, rf"\operatorname*{{{kind}}}")
        return f"{sign}_{{{','.join(letters)}}} {body}"

    def rest(self, count: str, value: str) -> str:
        return rf"\underbrace{{{value}}}_{{\text{{{count} {self.words['more']}}}}}"


def _upright(word: str) -> str:
    return r"\mathrm{" + word.replace("_", r"\_") + "}"


def _letter(word: str) -> str:
    if word in _SYMBOLS:
        return _SYMBOLS[word]
    if word in GREEK:
        return f"\\{word}"
    return word if len(word) < 2 or word.isdigit() else _upright(word)

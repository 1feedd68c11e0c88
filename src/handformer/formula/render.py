"""The same formula as plain text, LaTeX and MathML: nothing that is shown is typed by hand."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any
from xml.sax.saxutils import escape

from handformer.formula.expression import (
    Call,
    Entry,
    Index,
    Negative,
    Node,
    Number,
    Operation,
    Reduction,
    Scalar,
    parts,
)
from handformer.formula.sheet import Formula

_BINDING = {"or": 1, "and": 2, "<": 3, "<=": 3, ">": 3, ">=": 3, "==": 3, "!=": 3,
            "+": 4, "-": 4, "*": 5, "/": 5, "//": 5, "%": 5, "**": 7}  # fmt: skip
_NEGATIVE = 6
_ATOM = 9

_LATEX = {"*": r" \, ", "<=": r" \le ", ">=": r" \ge ", "==": "=", "!=": r" \ne ", "and": r" \land ",
          "or": r" \lor ", "%": r" \bmod "}  # fmt: skip
_SYMBOLS = {"*": "\N{INVISIBLE TIMES}", "<=": "≤", ">=": "≥", "==": "=", "!=": "≠", "-": "−",
            "and": "∧", "or": "∨", "%": "mod"}  # fmt: skip
_TIMES = {"latex": r" \cdot ", "mathml": "⋅"}
_GREEK = {"gamma": "γ", "beta": "β", "beta_1": "β_1", "beta_2": "β_2", "pi": "π", "inf": "∞",
          "eps": "ε"}  # fmt: skip
_GREEK_LATEX = {"gamma": r"\gamma", "beta": r"\beta", "beta_1": r"\beta_1", "beta_2": r"\beta_2",
                "pi": r"\pi", "inf": r"\infty", "eps": r"\varepsilon"}  # fmt: skip


def number(value: Any, digits: int | None = None) -> str:
    """A number as text: whole (`digits=None`) or to so many significant digits."""
    if isinstance(value, (bool, int, Fraction)) or type(value).__name__.startswith("bool"):
        return str(value)
    value = float(value)
    if digits is None:
        return repr(value)
    text = f"{value:.{digits}g}"
    return "0" if text == "-0" else text


def _binding(node: Node) -> int:
    match node:
        case Operation(operator=operator):
            return _BINDING[operator]
        case Negative():
            return _NEGATIVE
        case Number(value=value) if value < 0:
            return _NEGATIVE
        case Number(value=Fraction() as value) if value.denominator != 1:
            return _BINDING["/"]
    return _ATOM


def _wrapped(node: Node, least: int, write: Callable[[Node], str], pair: tuple[str, str]) -> str:
    text = write(node)
    return f"{pair[0]}{text}{pair[1]}" if _binding(node) < least else text


def _sides(node: Operation) -> tuple[int, int]:
    """How tightly each side must bind to stand without parentheses."""
    strength = _BINDING[node.operator]
    if node.operator == "**":
        return strength + 1, strength
    alike = node.operator in ("+", "and", "or")
    return strength, strength if alike else strength + 1


def plain(node: Node, digits: int | None = None) -> str:
    """The expression in the language itself; parsing it gives the same tree."""

    def write(part: Node) -> str:
        return plain(part, digits)

    match node:
        case Number(value=value):
            return number(value, digits)
        case Index(letter=name) | Scalar(name=name):
            return name
        case Entry(name=name, indices=indices):
            return f"{name}[{','.join(write(place) for place in indices)}]"
        case Negative(part=part):
            return "-" + _wrapped(part, _NEGATIVE, write, ("(", ")"))
        case Operation(operator=operator, left=left, right=right):
            first, second = _sides(node)
            pair = ("(", ")")
            sides = _wrapped(left, first, write, pair), _wrapped(right, second, write, pair)
            return f" {operator} ".join(sides)
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(write(part) for part in arguments)})"
        case Reduction(kind=kind, letters=letters, body=body):
            return f"{kind}({', '.join(letters)}, {write(body)})"
    raise AssertionError(node)


def _name_latex(name: str) -> str:
    *_, last = name.split(".")
    path = r"\mathrm{" + name[: -len(last)].replace("_", r"\_") + "}" if "." in name else ""
    if last in _GREEK_LATEX:
        return path + _GREEK_LATEX[last]
    if last.startswith("d_") and not name.startswith("d_k"):
        return path + r"\mathrm{d}" + _name_latex(last[2:])
    return path + (last if len(last) == 1 else r"\mathrm{" + last.replace("_", r"\_") + "}")


def latex(node: Node, digits: int | None = None) -> str:
    """The expression in LaTeX's mathematics."""

    def write(part: Node) -> str:
        return latex(part, digits)

    pair = (r"\left(", r"\right)")
    match node:
        case Number(value=value):
            text = number(value, digits)
            if "e" in text:
                mantissa, exponent = text.split("e")
                return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
            return text.replace("inf", r"\infty")
        case Index(letter=letter):
            return letter
        case Scalar(name="d_k"):
            return "d_k"
        case Scalar(name=name):
            return _name_latex(name)
        case Entry(name=name, indices=indices):
            return f"{_name_latex(name)}_{{{','.join(write(place) for place in indices)}}}"
        case Negative(part=part):
            return "-" + _wrapped(part, _NEGATIVE, write, pair)
        case Operation(operator="/", left=left, right=right):
            return rf"\frac{{{write(left)}}}{{{write(right)}}}"
        case Operation(operator="//", left=left, right=right):
            return rf"\left\lfloor {write(left)} / {write(right)} \right\rfloor"
        case Operation(operator="**", left=left, right=right):
            return f"{{{_wrapped(left, _ATOM, write, pair)}}}^{{{write(right)}}}"
        case Operation(operator=operator, left=left, right=right):
            first, second = _sides(node)
            sides = _wrapped(left, first, write, pair), _wrapped(right, second, write, pair)
            sign = _LATEX.get(operator, f" {operator} ")
            if operator == "*" and _numeric(right):
                sign = _TIMES["latex"]
            return sign.join(sides)
        case Call(function="sqrt", arguments=(part,)):
            return rf"\sqrt{{{write(part)}}}"
        case Call(function="where", arguments=(condition, yes, no)):
            return (
                rf"\begin{{cases}} {write(yes)} & \text{{if }} {write(condition)} \\ "
                rf"{write(no)} & \text{{otherwise}} \end{{cases}}"
            )
        case Call(function=function, arguments=(part,)):
            name = r"\operatorname{erf}" if function == "erf" else f"\\{function}"
            return rf"{name}\left({write(part)}\right)"
        case Reduction(kind=kind, letters=letters, body=body):
            sign = {"sum": r"\sum", "max": r"\max", "mean": r"\operatorname*{mean}"}[kind]
            return f"{sign}_{{{','.join(letters)}}} {_wrapped(body, 5, write, pair)}"
    raise AssertionError(node)


def _numeric(node: Node) -> bool:
    """Whether a factor begins with a digit, so that a sign must stand before it."""
    match node:
        case Number():
            return True
        case Operation(left=left):
            return _numeric(left)
    return False


def _name_mathml(name: str) -> str:
    *path, last = name.split(".")
    prefix = f"<mtext>{escape('.'.join(path))}.</mtext>" if path else ""
    if last.startswith("d_") and name != "d_k":
        return f"<mrow>{prefix}<mi mathvariant='normal'>d</mi>{_name_mathml(last[2:])}</mrow>"
    base, _, low = _GREEK.get(last, last).partition("_")
    text = f"<mi>{escape(base)}</mi>"
    if low:
        text = f"<msub>{text}<mtext>{escape(low)}</mtext></msub>"
    return f"<mrow>{prefix}{text}</mrow>" if prefix else text


def mathml(node: Node, digits: int | None = None) -> str:
    """The expression in presentation MathML (the inside of a `<math>` element)."""

    def write(part: Node) -> str:
        return mathml(part, digits)

    def sign(text: str) -> str:
        return f"<mo>{escape(text)}</mo>"

    def row(*inside: str) -> str:
        return f"<mrow>{''.join(inside)}</mrow>"

    pair = (f"<mrow>{sign('(')}", f"{sign(')')}</mrow>")
    match node:
        case Number(value=value):
            return f"<mn>{number(value, digits).replace('-', '−').replace('inf', '∞')}</mn>"
        case Index(letter=letter):
            return f"<mi>{letter}</mi>"
        case Scalar(name=name):
            return _name_mathml(name)
        case Entry(name=name, indices=indices):
            places = sign(",").join(write(place) for place in indices)
            return f"<msub>{row(_name_mathml(name))}{row(places)}</msub>"
        case Negative(part=part):
            return row(sign("−"), _wrapped(part, _NEGATIVE, write, pair))
        case Operation(operator="/", left=left, right=right):
            return f"<mfrac>{write(left)}{write(right)}</mfrac>"
        case Operation(operator="//", left=left, right=right):
            return row(sign("⌊"), write(left), sign("/"), write(right), sign("⌋"))
        case Operation(operator="**", left=left, right=right):
            return f"<msup>{row(_wrapped(left, _ATOM, write, pair))}{write(right)}</msup>"
        case Operation(operator=operator, left=left, right=right):
            first, second = _sides(node)
            sides = _wrapped(left, first, write, pair), _wrapped(right, second, write, pair)
            middle = _SYMBOLS.get(operator, operator)
            if operator == "*" and _numeric(right):
                middle = _TIMES["mathml"]
            return row(sides[0], sign(middle), sides[1])
        case Call(function="sqrt", arguments=(part,)):
            return f"<msqrt>{write(part)}</msqrt>"
        case Call(function="where", arguments=(condition, yes, no)):
            lines = ((write(yes), f"<mtext>if </mtext>{write(condition)}"), (write(no), "<mtext>otherwise</mtext>"))
            table = "".join(f"<mtr><mtd>{a}</mtd><mtd>{b}</mtd></mtr>" for a, b in lines)
            return row(sign("{"), f"<mtable columnalign='left'>{table}</mtable>")
        case Call(function=function, arguments=(part,)):
            return row(f"<mi>{function}</mi>", sign("\N{FUNCTION APPLICATION}"), pair[0], write(part), pair[1])
        case Reduction(kind=kind, letters=letters, body=body):
            symbol = sign("∑") if kind == "sum" else f"<mo>{kind}</mo>"
            under = row(sign(",").join(f"<mi>{letter}</mi>" for letter in letters))
            return row(f"<munder>{symbol}{under}</munder>", _wrapped(body, 5, write, pair))
    raise AssertionError(node)


def formula_text(formula: Formula) -> str:
    """A whole formula as plain text."""
    left = f"{formula.name}[{','.join(formula.axes)}]" if formula.axes else formula.name
    return f"{left} = {plain(formula.body)}"


def formula_latex(formula: Formula) -> str:
    """A whole formula in LaTeX."""
    left = Entry(formula.name, tuple(Index(a) for a in formula.axes))
    return f"{latex(left if formula.axes else Scalar(formula.name))} = {latex(formula.body)}"


def formula_mathml(formula: Formula) -> str:
    """A whole formula as a `<math>` element."""
    left = Entry(formula.name, tuple(Index(a) for a in formula.axes))
    name = mathml(left if formula.axes else Scalar(formula.name))
    inside = f"{name}<mo>=</mo>{mathml(formula.body)}"
    return f"<math xmlns='http://www.w3.org/1998/Math/MathML' display='block'>{inside}</math>"


__all__ = ["formula_latex", "formula_mathml", "formula_text", "latex", "mathml", "number", "parts", "plain"]

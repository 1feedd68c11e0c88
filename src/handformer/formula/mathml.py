"""A formula in presentation MathML, which browsers show without a library."""

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from handformer.formula.display import WORDS, Display
from handformer.formula.expression import Node
from handformer.formula.names import GREEK, Shown

_OPERATORS = {".": "⋅", "<=": "≤", ">=": "≥", "==": "=", "!=": "≠",
              "-": "−", "and": "∧", "or": "∨", "%": "mod"}  # fmt: skip
# Spaces that browsers keep: between the words of a product, behind the d of a gradient.
_TIMES = "<mo lspace='0' rspace='0.17em'>\N{INVISIBLE TIMES}</mo>"
_THIN = "<mspace width='0.17em'/>"


def mathml(node: Node, digits: int | None = None, words: Mapping[str, str] = WORDS) -> str:
    """The inside of a `<math>` element, the numbers to so many significant digits."""
    return _MathML(digits, words).write(node)


class _MathML(Display):
    def number(self, digits: str, exponent: int | None) -> str:
        mantissa = f"<mn>{digits.replace('-', '−')}</mn>"
        if exponent is None:
            return mantissa
        power = f"<mn>{str(exponent).replace('-', '−')}</mn>"
        return _row(mantissa, _sign("⋅"), f"<msup><mn>10</mn>{power}</msup>")

    def name(self, name: Shown, places: Sequence[str] = ()) -> str:
        base = _letter(name.base)
        if name.hat:
            base = f"<mover accent='true'>{base}{_sign('^')}</mover>"
        low = [_letter(name.low)] if name.low else []
        low += [_sign(",").join(places)] if places else []
        if low:
            base = f"<msub>{base}{_row(_sign(';').join(low))}</msub>"
        before = f"<mtext>{escape(name.path)}</mtext>" if name.path else ""
        if name.gradient:
            before += "<mi mathvariant='normal'>d</mi>" + (_THIN if name.is_word else "")
        return _row(before, base) if before else base

    def group(self, inside: str) -> str:
        return _row(_sign("("), inside, _sign(")"))

    def negative(self, part: str) -> str:
        return _row("<mo form='prefix'>−</mo>", part)

    def join(self, operator: str, *parts: str) -> str:
        sign = _TIMES if operator == "*" else _sign(_OPERATORS.get(operator, operator))
        return _row(sign.join(parts))

    def fraction(self, above: str, below: str) -> str:
        return f"<mfrac>{_row(above)}{_row(below)}</mfrac>"

    def floor(self, left: str, right: str) -> str:
        return _row(_sign("⌊"), left, _sign("/"), right, _sign("⌋"))

    def power(self, base: str, exponent: str) -> str:
        return f"<msup>{_row(base)}{_row(exponent)}</msup>"

    def root(self, part: str) -> str:
        return f"<msqrt>{part}</msqrt>"

    def cases(self, condition: str, yes: str, no: str) -> str:
        lines = (yes, f"{_word(self.words['if'])}{condition}"), (no, _word(self.words["otherwise"]))
        cells = (f"<mtr>{''.join(map(_cell, line))}</mtr>" for line in lines)
        return _row(_sign("{"), f"<mtable>{''.join(cells)}</mtable>")

    def call(self, function: str, arguments: Sequence[str]) -> str:
        inside = self.group(_sign(",").join(arguments))
        return _row(f"<mi>{function}</mi>", _sign("\N{FUNCTION APPLICATION}"), inside)

    def reduction(self, kind: str, letters: Sequence[str], body: str) -> str:
        sign = _sign("∑") if kind == "sum" else _sign(kind)
        under = _row(_sign(",").join(f"<mi>{letter}</mi>" for letter in letters))
        return _row(f"<munder>{sign}{under}</munder>", body)

    def rest(self, count: str, value: str) -> str:
        brace = f"<munder>{_row(value)}{_sign('⏟')}</munder>"
        more = _word(f"{count} {self.words['more']}")
        return f"<munder>{brace}{more}</munder>"


def _word(text: str) -> str:
    return f"<mtext>{escape(text)}&#xA0;</mtext>"


def _cell(inside: str) -> str:
    return f"<mtd style='text-align:left'>{inside}</mtd>"


def _sign(text: str) -> str:
    return f"<mo>{escape(text)}</mo>"


def _row(*inside: str) -> str:
    return f"<mrow>{''.join(inside)}</mrow>"


def _letter(word: str) -> str:
    if word.isdigit():
        return f"<mn>{word}</mn>"
    return f"<mi>{escape(GREEK.get(word, '∞' if word == 'inf' else word))}</mi>"

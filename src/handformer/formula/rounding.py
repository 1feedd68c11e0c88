"""What rounding explains: how far a computed entry may be from its formula and nothing be wrong.

A running error analysis: beside its value every part of a formula carries a bound of its error.
The stored numbers that it starts from are taken as exact. With u the relative error of a rounding:

    number, setting   u |x| unless it is whole: it was rounded when it came into the array's type
    a + b, a - b      errors add up, and u times the magnitude
    sum of n terms    errors add up, and n u times the magnitude: whatever the order, no term goes
                      through more than n - 1 additions (n, to take in what is of second order); a
                      term that is exactly 0 doesn't count
    a * b             |a| error(b) + |b| error(a) + error(a) error(b), and u times the magnitude
    a / b             (error(a) + |a / b| error(b)) / (|b| - error(b)), and u times the magnitude
    f(a), a ** b      how far the function moves when a moves by its error, and 4 u times the
                      result, which good libraries keep to
    max, where        the greatest error of what there is to choose from; that of what was chosen
    // % < == and     exact: index arithmetic and conditions

The *magnitude* of a part is its value with the terms of all its sums taken without their signs,
sums that are multiplied or divided among them: a * (b - c) has |a| (|b| + |c|). So the bound holds
in whatever order a program adds, and whether it multiplies out or not: the formula prescribes
neither. A function, a power and a maximum start anew from their result.

A float64 evaluation of the formula rounds as well, so u is the sum of both sides' roundings. Every
product, quotient and function may also lose what lies below the smallest normal number.

Source     Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002: section 2.2 (the
           model, with underflow), 3.1 and 3.3 (inner products, running error), 4.2 (sums).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from handformer.formula.bounded import Bounded, Bounding, Errors
from handformer.formula.chain import roundings
from handformer.formula.evaluate import At, Scalars, Values
from handformer.formula.located import Located
from handformer.formula.sheet import Sheet

__all__ = ["Rounded", "bounded", "rounding", "roundings"]

_AnyArray = NDArray[Any]


class Rounded(NamedTuple):
    """A value, and how far rounding may bring another one from it, entry by entry."""

    value: _AnyArray
    error: _AnyArray


def bounded(
    sheet: Sheet,
    name: str,
    values: Values,
    scalars: Scalars,
    *,
    unit: float,
    errors: Errors | None = None,
    at: At | None = None,
    floating: Any = np.float64,
) -> Rounded:
    """The value that the formula of `name` gives, and what rounding explains of a difference.

    Parameters
    ----------
    sheet, name, values, scalars, at
        as for `evaluate`
    unit
        the greatest relative error of one rounding of the other side: 2**-24 in float32
    errors
        what the given values may be off themselves, by name: a part of each entry's size, or an
        array of amounts; None: nothing
    floating
        what is evaluated in: float32 overflows where theirs does

    Raises
    ------
    FormulaError
        as `evaluate`
    """
    bounding = Bounding(sheet, values, scalars, [name], unit=unit, errors=errors, floating=floating)
    return Rounded(*bounding.bounded(name, at))


def rounding(located: Located, dtype: Any) -> float:
    """The greatest difference that rounding explains between an entry of `dtype` and its formula.

    0 where the entry is a whole number or a truth value.
    """
    if not np.issubdtype(dtype, np.floating):
        return 0.0
    here = located.evaluation
    own = np.finfo(dtype)
    with np.errstate(all="ignore"):  # `where` evaluates both sides
        owner = Bounding(
            here.sheet, here.given, here.scalars, (),
            unit=float(own.eps / 2), least=float(own.tiny),
        )  # fmt: skip
        frame = Bounded(owner, located.written_out(located.body, ()), {}, located.sizes)
        return float(np.max(frame.estimate(frame.formula.body, True).error))

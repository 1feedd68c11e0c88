"""The exponential, written so that a loop over it becomes vector instructions.

exp(x) = 2^n exp(r) with n the whole number nearest to x / ln 2 and r = x - n ln 2, so |r| <= 0.35,
where a short polynomial does. ln 2 is taken off in two parts, the first of which n times is exact.
2^n is made by writing n into a number's exponent, in two halves: one alone can't reach the smallest
and the largest results. exp(-inf) is 0, exp(inf) is inf, exp(NaN) is NaN.

Error: 1.2e-7 relative in float32 (2 in its last place), 3e-16 in float64, by comparison.
Source: Cody and Waite 1980, "Software manual for the elementary functions", chapter 6.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

LOG2E = 1.4426950408889634
# For each type: the bounds beyond which the result is 0 or inf, and ln 2 in two parts.
_PARTS: dict[Any, Any] = {
    np.float32: (-110.0, 89.0, 0.693359375, -2.12194440054690583e-4),
    np.float64: (-760.0, 710.0, 0.693147180369123816490, 1.90821492927058770002e-10),
}
_FACTORIAL = np.cumprod([1.0, *range(1, 14)])
_TERMS: dict[Any, int] = {
    np.float32: 7,
    np.float64: 13,
}  # of the series of exp(r): what is left is below rounding
_BITS: dict[Any, Any] = {np.float32: (np.int32, 23, 127), np.float64: (np.int64, 52, 1023)}


@intrinsic
def _nearest(typingctx: Any, x: Any) -> Any:
    """x rounded to a whole number."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (value,) = arguments
        kind = "f32" if signature.args[0] == types.float32 else "f64"
        function = builder.module.declare_intrinsic(
            f"llvm.nearbyint.{kind}", fnty=ir.FunctionType(value.type, [value.type])
        )
        return builder.call(function, [value])

    return x(x), code


@intrinsic
def bits_as_float(typingctx: Any, bits: Any) -> Any:
    """The float whose bits a whole number of the same width has."""
    result = types.float32 if bits == types.int32 else types.float64

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

    return result(bits), code


def _exponential(dtype: Any) -> Any:
    low, high, ln2_first, ln2_rest = (dtype(part) for part in _PARTS[dtype])
    integer, shift, bias = _BITS[dtype]
    shift, bias, one = integer(shift), integer(bias), integer(1)
    log2e = dtype(LOG2E)
    series = tuple(dtype(1 / f) for f in _FACTORIAL[: _TERMS[dtype] + 1][::-1])

    # No reordering here: it would merge the two parts of ln 2.
    @njit(error_model="numpy", fastmath={"contract"}, forceinline=True)
    def exponential(x: Any) -> Any:
        held = low if x < low else (high if x > high else x)  # NaN stays
        n: Any = _nearest(held * log2e)  # type: ignore[call-arg]  # Numba gives the context
        r = (held - n * ln2_first) - n * ln2_rest
        y = series[0]
        for term in series[1:]:
            y = y * r + term
        whole = integer(n)
        half = integer(whole >> one)  # Numba widens sums of small integers
        first = bits_as_float(integer((half + bias) << shift))
        second = bits_as_float(integer((whole - half + bias) << shift))
        return y * first * second

    return exponential


_exp_32, _exp_64 = _exponential(np.float32), _exponential(np.float64)


def exp(x: Any) -> Any:
    """exp(x) inside kernels, in x's own type."""
    raise NotImplementedError("inside compiled code only")


@overload(exp, jit_options={"forceinline": True, "error_model": "numpy"})
def _exp(x):  # type: ignore[no-untyped-def]  # annotations would have to be the same
    if x == types.float32:
        return lambda x: _exp_32(x)  # noqa: PLW0108  # Numba wants the function itself
    return lambda x: _exp_64(x)  # noqa: PLW0108

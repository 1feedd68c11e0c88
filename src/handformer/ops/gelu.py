"""The Gaussian error linear unit: x times the chance that a standard normal draw lies below x.

Forward    y = x cdf(x), where cdf is the normal distribution's, written with the error function.
Backward   a product: cdf + x density, since the density exp(-x^2 / 2) / sqrt(2 pi) is cdf's slope.
Kept       x.
Delicate   1 + erf(u) would cancel in the tail below 0; it is erfc(-u), which keeps its digits.
Source     Hendrycks, Gimpel 2016, section 2.
"""

from math import pi, sqrt

import numpy as np

from handformer.axes import Array
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    cdf[b]     := (1 + erf(x[b] / sqrt(2))) / 2
    density[b] := exp(-(x[b] ** 2) / 2) / sqrt(2 * pi)
    y[b]        = x[b] * cdf[b]
    d_x[b]      = d_y[b] * (cdf[b] + x[b] * density[b])
""")


def forward(x: Array) -> Array:
    """y of the shape of x, entry by entry."""
    return x * _cdf(x)


def backward(d_y: Array, x: Array) -> Array:
    """d_x of the shape of x."""
    density = np.exp(x * x * -0.5) * (1 / sqrt(2 * pi))
    d_x: Array = d_y * (_cdf(x) + x * density)
    return d_x


def _cdf(x: Array) -> Array:
    from scipy.special import erfc  # noqa: PLC0415 (SciPy loads slowly: no start waits for it)

    cdf: Array = erfc(x * -sqrt(0.5)) * 0.5
    return cdf

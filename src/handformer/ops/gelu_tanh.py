"""GELU by its tanh approximation, as in GPT-2; it differs from the exact one by up to 4.7e-4.

Forward    y = x (1 + tanh(inner)) / 2 with inner = sqrt(2/pi) (x + 0.044715 x^3).
Backward   a product; tanh' = 1 - tanh^2, and inner' = sqrt(2/pi) (1 + 3 * 0.044715 x^2).
Kept       x.
Delicate   (1 + tanh(u)) / 2 is sigmoid(2 u), whose slope is 2 u' sigma (1 - sigma). Computed so,
           the tail below 0 keeps its digits; 1 + tanh(u) would cancel them.
Source     Hendrycks, Gimpel 2016, section 2; the constant is theirs.
"""

from math import pi, sqrt

import numpy as np

from handformer.axes import Array
from handformer.formula import Sheet
from handformer.ops.silu import sigmoid

FORMULAS = Sheet.parse("""
    inner[b] := sqrt(2 / pi) * (x[b] + 0.044715 * x[b] ** 3)
    y[b]      = x[b] * (1 + tanh(inner[b])) / 2
    d_x[b]    = d_y[b] * ((1 + tanh(inner[b])) / 2 + x[b] / 2 * (1 - tanh(inner[b]) ** 2)
                * sqrt(2 / pi) * (1 + 3 * 0.044715 * x[b] ** 2))
""")

LINEAR = 2 * sqrt(2 / pi)
CUBIC = LINEAR * 0.044715


def forward(x: Array) -> Array:
    """y of the shape of x, entry by entry."""
    with np.errstate(over="ignore"):  # a cube beyond all numbers is as good as infinity here
        return x * sigmoid(x * (x * x * CUBIC + LINEAR))


def backward(d_y: Array, x: Array) -> Array:
    """d_x of the shape of x."""
    with np.errstate(over="ignore", invalid="ignore"):
        square = x * x
        sigma = sigmoid(x * (square * CUBIC + LINEAR))
        slope = square * (3 * CUBIC) + LINEAR
        bend = np.where((sigma == 0) | (sigma == 1), 0, x * slope * (1 - sigma))  # never inf * 0
    d_x: Array = d_y * sigma * (bend + 1)
    return d_x

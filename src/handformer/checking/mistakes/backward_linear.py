"""Mistakes in the gradients of matrices and biases: section 14b of the catalogue."""

import re

from handformer.checking.mistakes.mistake import Edit, Mistake, Shows
from handformer.checking.mistakes.sums import BIASES, INPUTS, MATRICES, OF_ONE_HEAD, Summed

_MAY_BE_SQUARE = ("w_q", "w_k", "w_v", "w_o", "w[i,j]")
_STEPS = ("1", "0.1", "0.01", "0.001", "0.0001")


def _turned(weight: str) -> str:
    """A matrix with its indices exchanged."""
    name, first, second = re.fullmatch(r"(\w+)\[(.+),(.+)\]", weight).groups()  # type: ignore[union-attr]
    return f"{name}[{second},{first}]"


def _axes_turned(axes: str) -> str:
    return ",".join(reversed(axes.split(",")))


def _of_everything(bias: Summed) -> Edit:
    """The gradient of a bias as one number."""
    name = bias.term.partition("[")[0]
    heads = f"sum(b, {bias.place}, h, c, {name}[b,h,{bias.place},c])"
    total = heads if "//" in bias.term else f"sum(b, t, m, {name}[b,t,m])"
    change = f"{bias.line}[{bias.axes}] = {total}"
    return Edit(bias.line, change, bias.layers, "is one number: it was summed over everything")


_EVERY = (*MATRICES, *OF_ONE_HEAD)

BACKWARD_LINEAR = (
    Mistake(
        "BW-1",
        "{}.",
        "y = x @ w: d_w = x.T @ d_y, and d_x = d_y @ w.T.",
        (
            *(
                Edit(
                    one.line,
                    f"{one.line}[{one.axes}] = {one.line}[{_axes_turned(one.axes)}]",
                    one.layers,
                    "The gradient of the matrix is transposed",
                )
                for one in _EVERY
            ),
            *(
                Edit(
                    line,
                    f"{weight} -> {_turned(weight)}",
                    layers,
                    "The gradient of the input was made with w, not with w transposed",
                )
                for line, weight, layers in INPUTS
                if weight.startswith(_MAY_BE_SQUARE)
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BW-2",
        "The gradient of the matrix {}.",
        "A weight is used by every token of every row: add up all of it.",
        (
            *(one.first("is that of the first row of the batch") for one in MATRICES),
            *(
                one.edit("mean(b, sum(p, @))", "is the mean over the batch, not the sum")
                for one in MATRICES
            ),
            *(one.edit("sum(p, @)", "is one for each row of the batch", "b,") for one in MATRICES),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BW-3",
        "The gradient of the bias {}.",
        "Sum over rows and places, and keep the channels.",
        (
            *(_of_everything(one) for one in BIASES),
            *(
                one.edit("sum(b, @)", "was summed over the rows, not over the places", "p,")
                for one in BIASES
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BW-4",
        "What was added everywhere got {}.",
        "Sum over all axes along which it was spread.",
        (
            *(
                one.edit("mean(b, p, @)", "the mean of its gradients, not their sum")
                for one in (*BIASES, *MATRICES)
            ),
            *(one.edit("@", "its gradients one by one, not their sum", "b,p,") for one in BIASES),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BW-5",
        "The gradient of the input was made with the matrix after its update, by a step of {}.",
        "Work out all gradients first, then change the weights.",
        tuple(
            Edit(line, f"{weight} -> ({weight} - {step} * given.d_{weight})", layers, step)
            for step in _STEPS
            for line, weight, layers in INPUTS
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BW-6",
        "The gradient of the weight is 0: it was never written.",
        "Follow the way back to this weight: something cuts it off.",
        tuple(
            Edit(one.line, f"{one.line}[{one.axes}] = 0", one.layers) for one in (*_EVERY, *BIASES)
        ),
        Shows.GRADIENTS,
    ),
)

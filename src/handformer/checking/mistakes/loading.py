"""Mistakes in reading weights: section 22 of the catalogue."""

from handformer.checking.mistakes.lines import ALONE, FLASH, HEADS, NORMS
from handformer.checking.mistakes.mistake import Edit, Mistake, Shows

_ALL = (*HEADS, *FLASH)
_SHAPES = {
    "w_q": ("d_model", "(n_heads * d_k)"), "w_k": ("d_model", "(n_kv_heads * d_k)"),
    "w_v": ("d_model", "(n_kv_heads * d_k)"), "w_o": ("(n_heads * d_k)", "d_model"),
    "w_up": ("d_model", "d_ff"), "w_gate": ("d_model", "d_ff"), "w_down": ("d_ff", "d_model"),
}  # fmt: skip
# Where each matrix is used: line, its row and column there, layers.
_USES = (
    ("q", "w_q", "i", "h * d_k + c", _ALL), ("k", "w_k", "i", "g * d_k + c", _ALL),
    ("v", "w_v", "i", "g * d_k + c", _ALL), ("out", "w_o", "h * d_k + c", "i", _ALL),
    ("pre", "w_up", "i", "f", ("MLP",)), ("up", "w_up", "i", "f", ("GatedMLP",)),
    ("gate", "w_gate", "i", "f", ("GatedMLP",)), ("out", "w_down", "f", "i", ("MLP", "GatedMLP")),
)  # fmt: skip
_SQUARE = ("w_q", "w_k", "w_v", "w_o")


def _turned(matrix: str, row: str, column: str) -> str:
    """The place of a matrix that lies as its transpose in the same memory."""
    rows, columns = _SHAPES[matrix]
    flat = f"(({column}) * {rows} + {row})"
    return f"{matrix}[{flat} // {columns},{flat} % {columns}]"


def _uses(says: str = "") -> tuple[Edit, ...]:
    return tuple(
        Edit(line, f"{matrix}[{row},{column}] -> {_turned(matrix, row, column)}", layers, says)
        for line, matrix, row, column, layers in _USES
    )


def _square() -> tuple[Edit, ...]:
    return tuple(
        Edit(line, f"{matrix}[{row},{column}] -> {matrix}[{column},{row}]", layers)
        for line, matrix, row, column, layers in _USES
        if matrix in _SQUARE
    )


def _written(letters: str = "i,j") -> tuple[Edit, ...]:
    """A dump of the matrices themselves, transposed."""
    turned = ",".join(reversed(letters.split(",")))
    return tuple(Edit(name, f"{name}[{letters}] = {name}[{turned}]") for name in _SHAPES)


def _permuted(old: str, says: str) -> tuple[Edit | tuple[Edit, ...], ...]:
    """The columns of each head of q and k in another order, in use and in a dump of weights."""
    column = old.replace("c", "(j % d_k)")
    return (
        tuple(
            Edit(name, f"{name}[b,{head},{place},c] = {name}[b,{head},{place},{old}]",
                 ("MultiHeadAttention",), says)
            for name, head, place in (("q", "h", "t"), ("k", "g", "s"))
        ),
        *(
            Edit(name, f"{name}[i,j] = {name}[i,j // d_k * d_k + {column}]",
                 ("MultiHeadAttention",), says)
            for name in ("w_q", "w_k")
        ),
    )  # fmt: skip


# Where each weight of a block is used: line, the weight there, layers.
_OF_A_BLOCK = (
    *(
        (line, one, _ALL)
        for line, head in (("q", "h"), ("k", "g"), ("v", "g"))
        for one in (f"w_{line}[i,{head} * d_k + c]", f"b_{line}[{head} * d_k + c]")
    ),
    ("out", "w_o[h * d_k + c,i]", _ALL), ("out", "b_o[i]", _ALL),
    ("pre", "w_up[i,f]", ("MLP",)), ("pre", "b_up[f]", ("MLP",)),
    ("gate", "w_gate[i,f]", ("GatedMLP",)), ("up", "w_up[i,f]", ("GatedMLP",)),
    ("out", "w_down[f,i]", ("MLP", "GatedMLP")), ("out", "b_down[i]", ("MLP",)),
    ("out", "gamma[i]", NORMS), ("out", "beta[i]", NORMS),
)  # fmt: skip


LOADING = (
    Mistake(
        "LOAD-1",
        "The matrix was read as (outputs, inputs), and lies as (inputs, outputs): it was "
        "transposed once too often, or not at all.",
        "Here a matrix is (inputs, outputs), as in GPT-2: x @ w.",
        (*_uses(), *_written(), Edit("w_q", "w_q[i,c] = w_q[c,i]", ALONE)),
    ),
    Mistake(
        "LOAD-2",
        "A square matrix was transposed, or wasn't: its shape doesn't tell.",
        "Decide by the name of the weight, not by its shape.",
        (*_square(), *(one for one in _written() if one.line in _SQUARE)),
    ),
    Mistake(
        "LOAD-3",
        "The columns of each head of q and k lie in the order of the other rotary layout: {}.",
        "Put them in the order that the rotation here expects; q and k only, k with {n_kv_heads} "
        "heads.",
        (
            *_permuted("((c) % 2 * (d_k // 2) + (c) // 2)", "neighbours, where halves are meant"),
            *_permuted(
                "((c) % (d_k // 2) * 2 + (c) // (d_k // 2))", "halves, where neighbours are meant"
            ),
        ),
    ),
    Mistake(
        "LOAD-4",
        "A setting was written into the code, and the model has another.",
        "Read eps, base, activation, biases and tying from the config.",
        shows=Shows.NOWHERE,
        why="it shows as the setting that is wrong: NORM-3, ROPE-6, FFN-3, QKV-5 or UNEMB-1",
    ),
    Mistake(
        "INIT-1",
        "Every block has the weights of the first: one object was used for all.",
        "Make a block for each layer.",
        (tuple(Edit(line, f"{one} -> first.{one}", layers) for line, one, layers in _OF_A_BLOCK),),
    ),
    Mistake(
        "INIT-2",
        "Blocks that were copied begin with the same weights.",
        "Draw the weights after copying.",
        shows=Shows.NOWHERE,
        why="a case gives the weights: how they were drawn isn't looked at",
    ),
    Mistake(
        "INIT-3",
        "The matrices that write into the residual stream aren't smaller by sqrt(2 * layers), or "
        "others are.",
        "Scale w_o and w_down, and no other.",
        shows=Shows.NOWHERE,
        why="a case gives the weights: how they were drawn isn't looked at",
    ),
)

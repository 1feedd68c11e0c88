"""A dump without a reference: what must hold whatever the weights are, asked of what is there.

    from handformer.checking import unreferenced

    asked = unreferenced.check("theirs.safetensors")
    print(unreferenced.text(asked))

asked       one question and its answer
names       their names, without a case: by their last part, and by what others call them
seen        the values by path, each with what its storing has rounded; neighbours that are the same
judged      a deviation against what rounding explains
everywhere  of every array: finite numbers, shapes of gradients, gradients that aren't there
visible     which keys each query sees, as the zeros of attn tell
rows        of attn, probs and their gradients: what each row sums to
norms       of a norm: mean and mean square of x_hat, and what d_x is orthogonal to
turned      of rotary positions: lengths
expected    what a formula gives of what is there, and what rounding explains
mistaken    the rows of the catalogue that give what is there instead
steps       of sums and maps whose parts are all there: the formula itself
softmaxes   of attn and scores, of probs and logits: one gives the other
show        the answers as text and as JSON
"""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.exchange import Dump, Dumped, read
from handformer.checking.unreferenced import (
    everywhere,
    norms,
    rows,
    softmaxes,
    steps,
    turned,
    visible,
)
from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.seen import Seen
from handformer.checking.unreferenced.show import fine, json, text

__all__ = ["Asked", "check", "fine", "json", "text"]

_QUESTIONS = (
    everywhere.ask, visible.ask, rows.ask, turned.ask, norms.ask, steps.ask, softmaxes.ask,
)  # fmt: skip


def check(
    dump: Dump | str | os.PathLike[str] | Mapping[str, NDArray[Any]],
) -> tuple[Asked, ...]:
    """Every question that can be asked of a dump, with its answer.

    Parameters
    ----------
    dump
        what `exchange.read` gives, a path that it reads, or arrays by name

    Raises
    ------
    InputError
        where a file can't be read
    """
    opened: Mapping[str, Dumped | NDArray[Any]] = (
        read(dump) if isinstance(dump, str | os.PathLike) else dump
    )
    seen = Seen.of(opened)
    with np.errstate(all="ignore"):  # theirs may be any numbers at all
        return tuple(one for ask in _QUESTIONS for one in ask(seen))

"""Run a case, with mistakes, and give the dump."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from tests.checking.theirs import decoder, dumping, encoder, encoder_decoder, loading, tape
from tests.checking.theirs.case import Case
from tests.checking.theirs.program import At, Program, Stop

MODELS = {"gpt2": decoder, "llama": decoder, "bert": encoder, "transformer": encoder_decoder}


def run(
    case: Case,
    wrong: Iterable[str] = (),
    *,
    where: int | None = None,
    dtype: Any = np.float32,
    backward: bool = True,
    weights: bool = False,
    autograd: bool = False,
) -> dict[str, Any]:
    """Every value of a case by path, forward and backward.

    Parameters
    ----------
    wrong
        the mistakes that are made, by their names in `rows.ROWS`, and what is done otherwise
        without harm, by the names in `same.SAME`
    where
        the block in which they are made; None: in every one
    dtype
        in which all is computed and written
    backward
        whether there are gradients
    weights
        whether weights and inputs are written too, as this program read them
    autograd
        whether PyTorch computes the gradients: of what was really done forward. Those that it
        doesn't have (the parts of sums) aren't written, and none of the way back's mistakes is made

    Raises
    ------
    ValueError
        where one of the mistakes can't be made in this model
    """
    program = Program(case, wrong, where, dtype)
    at = At(program)
    loading.load(at)
    if autograd:
        program.on_tape()
    with suppress(Stop), np.errstate(all="ignore"):
        _both_ways(at, backward, autograd)
    given = {path: a for path, a in program.given.items() if path in case.weights | case.inputs}
    values = (given if weights else {}) | program.values
    dump = dumping.write(at, {path: tape.plain(array) for path, array in values.items()})
    if unknown := program.wrong - program.asked:
        raise ValueError(f"{sorted(unknown)} can't be made in {case.family}")
    return dump


def _both_ways(at: At, backward: bool, autograd: bool) -> None:
    kind, program = MODELS[at.case.family], at.program
    kind.forward(at)
    if backward and autograd:
        mine = [path for path in at.case.weights if path not in at.case.also]
        weights = {path: program.given[path] for path in mine}
        program.values |= tape.gradients(program.values, weights)
    elif backward:
        kind.backward(at)
        loading.share_gradients(at)

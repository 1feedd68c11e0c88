"""`check_op`: one op of somebody else's in the place of ours, in one call."""

import os
from collections.abc import Callable
from typing import Any

from handformer.live.contestant import TIMEOUT, Contestant, enter
from handformer.live.contract import Contract, contract
from handformer.live.in_model import reached
from handformer.live.local import held
from handformer.live.mistakes import agreed
from handformer.live.process import BrokenError
from handformer.live.report import InModel, Local, OpReport
from handformer.live.speed import race


def check_op(
    name: str,
    with_: str | os.PathLike[str] | Callable[..., Any] | None = None,
    *,
    command: str | None = None,
    direction: str = "forward",
    seed: int = 0,
    timeout: float = TIMEOUT,
    timed: bool = True,
) -> OpReport:
    """Hold one op, forward or backward, against its formulas; put it into models; time it.

        check_op("softmax", "./my_softmax.so")
        check_op("layer_norm", "mymodule:function", direction="backward")
        check_op("rms_norm", my_function)
        check_op("linear", command="./prog {inputs} {outputs}")

    Parameters
    ----------
    name
        a module of `handformer.ops`, as in softmax or masks.causal
    with_
        a library (with `:symbol`, if it isn't handformer_forward or handformer_backward);
        `module:function` or `file.py:function`; or a function itself, which is called in this
        process
    command
        in its place a program, which is run once a call
    seed
        of the inputs
    timeout
        seconds that one call may take
    timed
        whether to measure the speed

    Raises
    ------
    InputError
        where it can't be asked: no such op, file, function or program
    """
    what = contract(name, direction)
    given = command or (with_ if isinstance(with_, str) else getattr(with_, "__name__", str(with_)))
    try:
        with enter(what, with_, command=command, timeout=timeout) as theirs:
            return _checked(what, theirs, str(given), seed, timed=timed)
    except BrokenError as error:  # as it was loaded
        return OpReport(name, direction, str(given), broken=str(error))


def _checked(
    what: Contract,
    theirs: Contestant,
    given: str,
    seed: int,
    *,
    timed: bool,
) -> OpReport:
    local, models = list[Local](), list[InModel]()
    missing, notes = dict[str, None](), list[str]()
    broken, speed = "", None
    try:
        for found, left in held(what, theirs, seed):
            local += found
            missing |= dict.fromkeys(left)
        models += reached(what, theirs, seed)
    except BrokenError as error:
        broken = str(error)
    if not models and not broken:
        notes.append(f"none of our models has {what.name}: it was held against its formulas alone")
    if timed and not broken:
        if theirs.timed:
            try:
                speed = race(what, theirs, seed)
            except BrokenError as error:
                notes.append(f"its speed isn't known: at a larger size it {error}")
        else:
            notes.append("its speed isn't known: a program's start and its files take longer")
    return OpReport(
        what.name, what.direction, given, agreed(local), tuple(models), speed, broken,
        tuple(missing), tuple(notes),
    )  # fmt: skip

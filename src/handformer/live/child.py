"""The process that runs what others wrote. It may crash, hang and print: we live on.

    python -m handformer.live.child library PATH SYMBOL
    python -m handformer.live.child function TARGET DIRECTION

It reads calls from its standard input and answers on its standard output, which is kept from what
the other code prints.
"""

import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.live import function, library
from handformer.live.asked import Form
from handformer.live.wire import receive, send

AnyArray = NDArray[Any]
Ready = Callable[[], dict[str, AnyArray] | str]  # one run: the values by name, or what went wrong


def main() -> None:
    """Answer calls until nobody asks any more."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    kind, target, what = sys.argv[1:]
    try:
        theirs = (library if kind == "library" else function).find(target, what)
    except LookupError as error:
        send(answers, {"absent": str(error)}, {})
        return
    send(answers, {}, {})
    prepare = _library if kind == "library" else _function
    while True:
        try:
            told, arrays = receive(sys.stdin.buffer)
        except EOFError:
            return
        send(answers, *answer(prepare(theirs, told, arrays), told, arrays))


def answer(
    run: Ready, told: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """The values, whether inputs were written to, and how long a run took of so many."""
    before = {name: array.copy() for name, array in arrays.items()}
    values = run()
    if isinstance(values, str):
        return {"wrong": values}, {}
    written = [n for n, array in arrays.items() if array.tobytes() != before[n].tobytes()]
    if written:
        return {"wrong": f"writes into its input {', '.join(written)}"}, {}
    seconds = None
    if told["repeats"]:
        began = time.perf_counter()
        for _ in range(told["repeats"]):
            run()
        seconds = (time.perf_counter() - began) / told["repeats"]
    return {"seconds": seconds}, {} if told["repeats"] else values


def _library(
    theirs: Callable[..., int], told: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> Ready:
    forms = {name: None if form is None else Form(form[0], tuple(form[1]))
             for name, form in told["forms"].items()}  # fmt: skip
    inputs = [arrays.get(name) for name in told["takes"]]
    call = library.Call(theirs, inputs, list(told["scalars"].values()), list(forms.values()))

    def run() -> dict[str, AnyArray] | str:
        code = call.run()
        names = list(forms)
        if code:
            return f"returned {code}, expected 0"
        if beyond := call.beyond():
            return f"writes beyond the end of {', '.join(names[number] for number in beyond)}"
        found = zip(names, call.outputs, strict=True)
        return {name: array for name, array in found if array is not None}

    return run


def _function(
    theirs: Callable[..., Any], told: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> Ready:
    given = {**dict.fromkeys(told["parameters"]), **told["scalars"], **arrays}
    for name in told["scalars"]:  # a count stays a whole number
        given[name] = int(given[name]) if name in told["whole"] else given[name]
    if "dtype" in given:
        given["dtype"] = np.dtype(np.float32)
    listed, keywords = function.arguments(theirs, told["parameters"], given)

    def run() -> dict[str, AnyArray] | str:
        try:
            result = theirs(*listed, **keywords)
            return function.named(result, told["gives"], told["output"])
        except LookupError as error:
            if type(error) is LookupError:
                return str(error)
            return f"raises {type(error).__name__}: {error}"
        except Exception as error:
            return f"raises {type(error).__name__}: {error}"

    return run


def in_here(
    theirs: Callable[..., Any], told: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """The same for a function of this process, which then has no other to crash in."""
    copies = {name: array.copy() for name, array in arrays.items()}
    return answer(_function(theirs, told, copies), told, copies)


if __name__ == "__main__":
    main()

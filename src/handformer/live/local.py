"""The op alone: every case that the package holds its own ops against, in float32."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from handformer.live.allowed import compare
from handformer.live.answer import nowhere_finite, read
from handformer.live.asked import ask
from handformer.live.contestant import Contestant
from handformer.live.contract import Contract
from handformer.live.mistakes import causes
from handformer.live.report import Local
from handformer.selfcheck.cases import all_cases
from handformer.selfcheck.ops import Case, call, run


def cases(contract: Contract, seed: int) -> list[Case]:
    """The op's cases in float32."""
    rng = np.random.default_rng(seed)
    return [one for one in all_cases(rng, np.float32) if one.op is contract.op]


def held(
    contract: Contract, theirs: Contestant, seed: int
) -> Iterator[tuple[list[Local], tuple[str, ...]]]:
    """What was found in each case, and what they left to us there.

    Raises
    ------
    BrokenError
        where theirs can't go on
    """
    for case in cases(contract, seed):
        values = run(case, np.random.default_rng(seed))
        given = {**dict.fromkeys(contract.parameters), **case.scalars, **values}
        real = call(getattr(contract.op, contract.direction), given)
        asked = ask(contract, given, real)
        answer = read(contract, asked, theirs.call(asked))
        # What they didn't give, or not in a form that can be read, follows from its formula.
        before = {name: array for name, array in values.items() if name not in asked.forms}
        known = {**before, **answer.values}
        found = []
        for name in asked.forms:
            if name in answer.values:
                off = compare(case.sheet, name, known, case.scalars, answer.values[name])
                ours = np.asarray(values[name])
                odd = nowhere_finite(answer.values[name], ours)
                problem = answer.problems.get(name, "") or odd
                found.append(Local(name, case.label, off, problem))
            elif name in answer.problems:
                found.append(Local(name, case.label, None, answer.problems[name]))
        if any(one.difference is not None and one.difference.count for one in found):
            named = causes(contract, case, known)
            found = [
                one if one.fine else replace(one, causes=named.get(one.value, ())) for one in found
            ]
        yield found, answer.missing

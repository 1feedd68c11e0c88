"""`handformer check --op`: one op of somebody else's in the place of ours."""

import json

from handformer.cli import FINE, NO
from handformer.cli.check_forms import patiently


def checked(
    name: str,
    with_: str | None,
    command: str | None,
    *,
    direction: str,
    as_json: bool,
) -> int:
    """Hold it against its formulas, put it into models, time it; the exit code.

    Where nothing is to stand in, the op's contract is told: what it takes and gives.
    """
    from handformer.live import show
    from handformer.live.api import check_op
    from handformer.live.contract import contract

    if with_ is None and command is None:
        told = contract(name, str(direction))
        print(json.dumps(told.record(), indent=2) if as_json else told)
        return FINE
    with patiently("calling theirs"):
        report = check_op(name, with_, command=command, direction=str(direction))
    print(show.json(report) if as_json else show.text(report), end="", flush=True)
    return FINE if report.fine else NO

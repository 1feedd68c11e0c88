"""The same mistake in several blocks, told once."""

import re
from dataclasses import dataclass

from handformer.checking.report import Report, Verdict

_NUMBERED = re.compile(r"(?:^|(?<=\.))(\w+)\.(\d+)(?=\.|$)")
_STACKS = {"blocks": "blocks", "encoder": "encoder blocks", "decoder": "decoder blocks"}
_MOST = 6  # numbers that are told one by one

_Key = tuple[str, object, tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Gathered:
    """Wrong values that have one mistake.

    verdicts
        in the order of the computation
    where
        `in all 12 blocks`, `in blocks 0 and 3`; empty for one alone
    """

    verdicts: tuple[Verdict, ...]
    where: str

    @property
    def first(self) -> Verdict:
        """The one that is told."""
        return self.verdicts[0]


def gathered(report: Report) -> list[Gathered]:
    """The wrong values of a report, those with the same mistake at the same step as one."""
    groups: dict[_Key, list[Verdict]] = {}
    for verdict in report.bad:
        ids = tuple(cause.id for cause in verdict.causes)
        hints = () if ids else (*verdict.hints, verdict.note)
        groups.setdefault((step(verdict.path), verdict.status, ids, hints), []).append(verdict)
    everywhere = {step(v.path): 0 for v in report.bad}
    for verdict in report.verdicts:
        if (name := step(verdict.path)) in everywhere:
            everywhere[name] += 1
    return [
        Gathered(tuple(found), _where(found, everywhere[key[0]])) for key, found in groups.items()
    ]


def step(path: str) -> str:
    """A path without the number of its block."""
    return _NUMBERED.sub(r"\1.*", path, count=1)


def _where(found: list[Verdict], count: int) -> str:
    numbered = [match for v in found if (match := _NUMBERED.search(v.path))]
    if len(numbered) < 2:
        return ""
    what = _STACKS.get(numbered[0][1], numbered[0][1])
    if len(found) == count:
        return f"in both {what}" if count == 2 else f"in all {count} {what}"
    numbers = [match[2] for match in numbered]
    if len(numbers) > _MOST:
        return f"in {len(numbers)} of {count} {what}"
    return f"in {what} {', '.join(numbers[:-1])} and {numbers[-1]}"

"""What a race found, as plain records: for `--json`, and what the table is made of."""

from typing import Any

from handformer.bench.contests import FAST
from handformer.bench.race import Entry, Result

Record = dict[str, Any]


def records(result: Result) -> list[Record]:
    """A record for each contestant; what couldn't be measured is None.

    seconds     the median time of one piece of work: a step, a trace, a text
    ratio       how many times as long as `handformer fast` of the same contest took
    operations, per_second, share
                arithmetic of the matrix products in it, that over the time, and what part this is
                of the speed of this machine's matrix products in the same rounds. For texts: bytes
                of weights that have to be read, and the part of the speed of memory
    """
    first = next((e.seconds for e in result.entries if e.contestant.name.startswith(FAST)), None)
    return [_record(result, entry, first) for entry in result.entries]


def _record(result: Result, entry: Entry, first: float | None) -> Record:
    contest, settings, seconds = result.contest, entry.contestant.settings, entry.seconds
    width = 2 if settings.get("dtype", "float32") == "bfloat16" else 4
    work = contest.operations or contest.reads * width
    limit = result.operations_per_second if contest.operations else result.bytes_per_second
    speed = work / seconds if seconds else None
    return {
        "shape": contest.shape.name,
        "task": contest.task,
        "contestant": entry.contestant.name,
        "version": entry.facts.get("version"),
        "seconds": seconds,
        "times": entry.times,
        "ratio": seconds / first if seconds and first else None,
        "tokens_per_second": contest.tokens / seconds if seconds and contest.tokens else None,
        "operations" if contest.operations else "bytes_read": work,
        "per_second": speed,
        "limit_per_second": limit,
        "share": speed / limit if speed else None,
        "peak_bytes": entry.peak or None,
        "loss": entry.facts.get("loss"),
        "values": entry.facts.get("values"),
        "absent": entry.absent or None,
        "failed": entry.failed or None,
    }

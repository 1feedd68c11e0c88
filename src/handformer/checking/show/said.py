"""What every form of a report says, in the same words."""

import re
from collections.abc import Iterable

from handformer.checking.report import BAD, Cause, Difference, Report, Status, Verdict
from handformer.checking.show.gathered import gathered
from handformer.checking.show.ratio import ratio
from handformer.formula.rounded import DIGITS
from handformer.formula.text import number

OTHER = "something else was written"
_EXPONENT = re.compile(r"e([+-])0*(\d)")
WORDS = {
    Status.RIGHT: "right",
    Status.INHERITED: "inherited",
    Status.WRONG: "wrong",
    Status.LAYOUT: "written in another way",
    Status.UNREADABLE: "can't be compared",
    Status.MISSING: "missing",
}


def visible(name: str) -> str:
    """A name of somebody's file in one line: what can't be shown is written as Python writes it."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in name
    )


def short(value: object, digits: int = DIGITS) -> str:
    """A number to a few digits: 3.1e-6."""
    return _EXPONENT.sub(lambda e: f"e{'-' if e[1] == '-' else ''}{e[2]}", number(value, digits))


def amount(count: int, what: str) -> str:
    """`1 value`, `41 values`, `60 entries`."""
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count:,} {what if count == 1 else many}"


def listed(names: Iterable[str], last: str = "and") -> str:
    """`q`, `q and k`, `q, k and v`."""
    *first, end = names
    return f"{', '.join(first)} {last} {end}" if first else end


def off(difference: Difference) -> str:
    """`off by 3.1e-6; rounding explains 8e-6`."""
    explained = short(difference.allowed, 2)
    return f"off by {short(difference.off, 2)}; rounding explains {explained}"


def compared(verdict: Verdict) -> Difference | None:
    """The comparison that decides: by itself where that could be done, else with the reference.

    Of what is right in either way it is the one that says so.
    """
    found = [one for one in (verdict.local, verdict.against) if one is not None]
    return (
        min(found, key=_part)
        if verdict.status is Status.RIGHT and found
        else next(iter(found), None)
    )


def place(verdict: Verdict, difference: Difference) -> str:
    """`b 0, h 1, t 2, s 0`."""
    letters = verdict.axes or ("",) * len(difference.place)
    pairs = zip(letters, difference.place, strict=False)
    return ", ".join(f"{letter} {at}".strip() for letter, at in pairs)


def answer(report: Report) -> str:
    """The answer in a few sentences; names stand in backquotes."""
    first = report.first
    if first is None:
        return _nothing_wrong(report)
    groups = gathered(report)
    sentences = [_first(report, first), *told(report, first)]
    if groups[0].where:
        sentences.append(f"It is the same {groups[0].where}.")
    known = {cause.id for cause in first.causes}
    again = [group.first for group in groups[1:] if known & {c.id for c in group.first.causes}]
    others = [group.first for group in groups[1:] if group.first not in again]
    if again:
        sentences.append(f"The same mistake shows in {_few(again)}.")
    if others:
        verb = "is" if len(others) == 1 else "are"
        sentences.append(f"Besides, {_few(others)} {verb} wrong in another way.")
    return " ".join(sentences)


def _few(verdicts: list[Verdict]) -> str:
    """The first of some paths, and how many more there are."""
    names = [f"`{visible(one.path)}`" for one in verdicts]
    return listed([*names[:3], f"{len(names) - 3} more"] if len(names) > 4 else names)


def _nothing_wrong(report: Report) -> str:
    if not report.compared:
        what = "no name in it is known" if report.unknown else "nothing in it is known"
        return f"Nothing was compared: {what}."
    count = amount(report.compared, "value")
    agree = f"{count} compared: {'it agrees' if report.compared == 1 else 'all agree'}"
    if report.unknown:
        one = len(report.unknown) == 1
        names = f"{amount(len(report.unknown), 'name')} {'was' if one else 'were'}"
        return f"{agree}. But {names} not compared: nothing here is called so."
    return f"{agree}, within what rounding explains."


def _first(report: Report, first: Verdict) -> str:
    name = f"`{visible(first.path)}`"
    if first.status is Status.UNREADABLE:
        return f"{name} can't be compared."
    if first.status is Status.LAYOUT and any(OTHER in hint for hint in first.hints):
        return f"{name} doesn't hold what its name says."
    if first.status is Status.LAYOUT:
        return f"{name} is right, but written in another way."
    before = [v for v in report.verdicts if not v.backward and v.status is not Status.MISSING]
    whole = before and all(v.status is Status.RIGHT for v in before)
    opening = "The forward pass is right. " if whole else ""
    return f"{opening}{name} is the first step that differs."


def told(report: Report, verdict: Verdict) -> list[str]:
    """What is said of a wrong value, in sentences."""
    size = _size(report, verdict) if verdict.status is Status.WRONG else verdict.note
    cause = caused(verdict.causes, verdict.path) if verdict.causes else unknown(verdict)
    return [one for one in (sentence(size), *cause) if one]


def _size(report: Report, verdict: Verdict) -> str:
    """How it differs, and that what goes into it doesn't."""
    known = {v.path: v.status for v in report.verdicts}
    right = [_near(path, verdict) for path in verdict.reads if known.get(path) is Status.RIGHT]
    name = _near(verdict.path, verdict)
    many = name.endswith("s`") and not name.endswith("ss`")  # scores are, loss is
    factor = ratio(report.theirs.get(verdict.path), report.right.get(verdict.path))
    size = "not"
    if factor is not None:
        size = f"{short(factor)} of what {'they' if many else 'it'} should be"
    off = f"your {name} {'are' if many else 'is'} {size}"
    if right:
        return f"Your own {listed(right)} {'is' if len(right) == 1 else 'are'} right; {off}."
    return f"{off[0].upper()}{off[1:]}." if factor is not None else ""


def _near(path: str, verdict: Verdict) -> str:
    """A path as it is called in the same layer."""
    layer = verdict.path.rpartition(".")[0]
    return f"`{visible(path.removeprefix(f'{layer}.') if layer else path)}`"


def caused(causes: tuple[Cause, ...], path: str) -> list[str]:
    """The mistakes in sentences; those that one value doesn't tell apart as a set."""
    if len(causes) > 1:
        each = " Or: ".join(sentence(cause.wrong) for cause in causes)
        return [f"One of {len(causes)}, which this value doesn't tell apart: {each}"]
    (cause,) = causes
    where = f"It was made at `{cause.at}`, which isn't in the dump." if cause.at != path else ""
    return [one for one in (sentence(cause.wrong), where, sentence(cause.cure)) if one]


def unknown(verdict: Verdict) -> list[str]:
    """What can be said where no known mistake fits."""
    if verdict.status is not Status.WRONG:
        return [sentence(hint) for hint in verdict.hints]
    if not verdict.hints:
        return ["No mistake that is known here gives these numbers."]
    first, *rest = verdict.hints
    return [f"The mistake is unknown, but: {sentence(first, begins=False)}", *map(sentence, rest)]


def sentence(words: str, *, begins: bool = True) -> str:
    """With a full stop, in one line, a capital letter where it begins; nothing stays nothing."""
    words = " ".join(words.split())
    first = words.partition(" ")[0]
    if begins and len(first) > 1 and first.isalpha():
        words = words[0].upper() + words[1:]
    return words if not words or words.endswith((".", "?", "!")) else f"{words}."


def farthest(report: Report) -> Verdict | None:
    """The right value that is nearest to what rounding explains."""
    right = [v for v in report.verdicts if v.status is Status.RIGHT and compared(v) is not None]
    return max(right, key=lambda v: _part(compared(v)), default=None)


def _part(found: Difference | None) -> float:
    """How much of what rounding explains is used up."""
    assert found is not None
    return found.off / found.allowed if found.allowed else found.off


def closing(report: Report) -> str:
    """How many values there are of each kind, the wrong ones first."""
    counts = {status: sum(v.status is status for v in report.verdicts) for status in Status}
    order = (*BAD, Status.INHERITED, Status.RIGHT)
    parts = [f"{counts[status]:,} {WORDS[status]}" for status in order if counts[status]]
    if counts[Status.MISSING]:
        of = f"{counts[Status.MISSING]:,} of {amount(sum(counts.values()), 'value')}"
        parts.append(f"{of} not in the dump")
    return ", ".join(parts) or "nothing to compare"

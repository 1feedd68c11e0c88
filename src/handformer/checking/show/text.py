"""A report for the terminal: the answer, the tree, and each mistake with its numbers."""

import re
from collections import Counter
from collections.abc import Iterator
from io import StringIO

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from handformer.checking.report import BAD, Cause, Report, Status, Verdict
from handformer.checking.show import said
from handformer.checking.show.gathered import Gathered, gathered
from handformer.checking.show.outline import Row, outline

_MARKS = {
    Status.RIGHT: ("✓", "green"),
    Status.INHERITED: ("~", "yellow"),
    Status.MISSING: ("·", "dim"),
}
_WRONG = ("✗", "bold red")
_NAMES = 4  # parts that are named in a line
_INDENT, _DEEP = 4, 13
_SHOWN = 12  # mistakes that are told with all their numbers
_CODE = re.compile(r"`([^`]*)`")
_WORD = re.compile(r"\w+|\W")


def write(report: Report, console: Console) -> None:
    """Print the whole report."""
    for line in lines(report, console):
        if isinstance(line, Tree):
            console.print(line)
        else:
            console.print(line, soft_wrap=True)


def plain(report: Report) -> str:
    """The whole report as text, without any codes."""
    out = StringIO()
    write(report, Console(file=out, highlight=False, force_terminal=False))
    return out.getvalue().rstrip("\n")


def lines(report: Report, console: Console) -> Iterator[Text | Tree]:
    """What is printed, line by line, none wider than the console; the tree is one of them."""
    yield from _wrapped(_prose(said.answer(report)), console)
    yield Text()
    yield _tree(report)
    groups = gathered(report)
    for group in groups[:_SHOWN]:
        yield Text()
        yield from _told(group, console)
    if len(groups) > _SHOWN:
        yield Text()
        yield from _wrapped(
            Text(f"and {said.amount(len(groups) - _SHOWN, 'mistake')} more"), console
        )
    yield Text()
    for sentence in (*_inherited(report), *_unknown(report), *_aside(report), *_margin(report)):
        yield from _wrapped(_prose(sentence), console)
    yield from _wrapped(_closing(report), console)


def _tree(report: Report) -> Tree:
    names = (said.visible(report.dump) or "the dump", said.visible(report.case) or "the case")
    tree = Tree(Text(" against ".join(names), "bold"), guide_style="dim")
    _add(tree, outline(report))
    return tree


def _add(tree: Tree, rows: list[Row] | tuple[Row, ...]) -> None:
    for row in rows:
        _add(tree.add(_label(row)), row.rows)


def _label(row: Row) -> Text:
    mark, style = _MARKS.get(row.status, _WRONG)
    names = [said.visible(name) for name in row.names]
    shown = names if len(names) <= _NAMES else [names[0], "…", names[-1]]
    label = Text(f"{mark} ", style)
    label.append(", ".join(shown).replace(", …, ", " … "), style)
    if row.rows:
        return label
    if row.again:
        again = dict.fromkeys(_inside(row, v) for v in row.verdicts if v.status in BAD)
        label.append(f"  {said.listed(again)} again", style)
        counts = row.counts
        return label.append(_counted(Counter({s: counts[s] for s in counts if s not in BAD})))
    if row.status in BAD:
        return label.append("  ").append(_verdict(row.verdicts[0]))
    if len(row.verdicts) == 1:
        return label.append(f"  {said.WORDS[row.status]}", "dim")
    return label.append(_counted(row.counts))


def _inside(row: Row, verdict: Verdict) -> str:
    name = next(name for name in row.names if f"{name}." in verdict.path)
    return said.visible(verdict.path.partition(f"{name}.")[2])


def _counted(counts: Counter[Status]) -> Text:
    """`: 41 values right`, `: 12 values inherited, 3 missing`."""
    first, *rest = [status for status in Status if counts[status]] or [Status.MISSING]
    words = [f"{said.amount(counts[first], 'value')} {said.WORDS[first]}"]
    words += [f"{counts[status]:,} {said.WORDS[status]}" for status in rest]
    return Text(f"  {', '.join(words)}", "dim")


def _verdict(verdict: Verdict) -> Text:
    """In a line of the tree: that it is wrong, and the mistake."""
    ids = " or ".join(cause.id for cause in verdict.causes)
    what = said.WORDS[verdict.status] if verdict.status is not Status.WRONG else "wrong"
    known = ids or ("unknown mistake" if verdict.status is Status.WRONG else "")
    return Text(f"{what}{': ' if known else ''}{known}", "red")


def _told(group: Gathered, console: Console) -> Iterator[Text]:
    """A mistake with its numbers: what rounding explains, the cause, both formulas."""
    verdict = group.first
    head = Text(said.visible(verdict.path), "bold red")
    if group.where:
        head.append(f"  {group.where}", "red")
    if verdict.called not in ("", verdict.path):
        head.append(f"  (yours: {said.visible(verdict.called)})", "dim")
    yield from _wrapped(head, console)
    yield from _numbers(verdict, console)
    sentences = [verdict.note] if verdict.note else []
    if len(verdict.causes) > 1:
        many = len(verdict.causes)
        sentences.append(f"one of {many} mistakes, which this value doesn't tell apart:")
    elif not verdict.causes:
        sentences += said.unknown(verdict)
    for sentence in sentences:
        yield from _wrapped(_prose(sentence), console, Text())
    for cause in verdict.causes:
        yield from _cause(cause, verdict, console)


def _numbers(verdict: Verdict, console: Console) -> Iterator[Text]:
    """Their number and the right one where they are farthest apart, and how many are so."""
    found = said.compared(verdict)
    if found is None:
        return
    numbers = Text("yours ").append(said.short(found.theirs), "red")
    numbers.append(", right ").append(said.short(found.right), "green")
    if where := said.place(verdict, found):
        numbers.append(f"  at {where}", "dim")
    yield from _wrapped(numbers, console, Text())
    yield from _wrapped(Text(said.off(found)), console, Text())
    entries = f"{found.count:,} of {said.amount(found.of, 'entry')} farther off than that"
    yield from _wrapped(Text(entries), console, Text())


def _cause(cause: Cause, verdict: Verdict, console: Console) -> Iterator[Text]:
    """A mistake: what is wrong, the cure, the formula as it should be and with the mistake."""
    sentences = " ".join(said.caused((cause,), verdict.path))
    yield from _wrapped(_prose(sentences), console, Text(f"{cause.id} ", "bold"))
    if cause.right:
        marked = _marked(cause.right, cause.formula, "bold green")
        yield from _wrapped(marked, console, Text("right"))
    if cause.formula:
        marked = _marked(cause.formula, cause.right, "bold red")
        yield from _wrapped(marked, console, Text("yours"))
    if cause.link:
        yield Text(f"{'':<{_DEEP}}{cause.link}", "blue")


def _marked(formula: str, other: str, style: str) -> Text:
    """A formula in which what the other doesn't have stands out."""
    text = Text(formula)
    if not other:
        return text
    mine, theirs = _WORD.findall(formula), _WORD.findall(other)
    most = min(len(mine), len(theirs))
    start = next((at for at in range(most) if mine[at] != theirs[at]), most)
    ends = range(most - start)
    end = next((at for at in ends if mine[-1 - at] != theirs[-1 - at]), len(ends))
    text.stylize(style, len("".join(mine[:start])), len("".join(mine[: len(mine) - end])))
    return text


def _inherited(report: Report) -> Iterator[str]:
    """How many only inherit, and since where."""
    since = Counter(v.since for v in report.verdicts if v.status is Status.INHERITED)
    shown = since.most_common(3)
    for paths, count in shown:
        names = [f"`{said.visible(path)}`" for path in paths]
        many = [*names[:2], f"{len(names) - 2} more"] if len(names) > 3 else names
        why = f" since {said.listed(many)}" if many else ""
        yield f"{said.amount(count, 'value')} only inherit{'s' if count == 1 else ''}{why}."
    if left := since.total() - sum(count for _, count in shown):
        yield f"{said.amount(left, 'value')} more inherit{'s' if left == 1 else ''} from others."


def _unknown(report: Report) -> Iterator[str]:
    for name, near in report.unknown.items():
        meant = said.listed((f"`{said.visible(one)}`" for one in near), "or") if near else ""
        asked = f"; did you mean {meant}?" if meant else "."
        yield f"Unknown name `{said.visible(name)}`{asked}"


def _aside(report: Report) -> Iterator[str]:
    """Names that are known, and nothing in this case: those with one reason in a sentence."""
    reasons: dict[str, list[str]] = {}
    for name, why in report.aside.items():
        reasons.setdefault(why, []).append(f"`{said.visible(name)}`")
    for why, names in reasons.items():
        more = [f"{len(names) - 3} more"] if len(names) > 4 else names[3:]
        yield f"Left aside: {said.listed([*names[:3], *more])}: {said.sentence(why, begins=False)}"


def _margin(report: Report) -> Iterator[str]:
    """The right value that is farthest off, so that the limit can be judged."""
    verdict = said.farthest(report)
    if verdict is None:
        return
    found = said.compared(verdict)
    assert found is not None
    if found.off:
        name = said.visible(verdict.path)
        yield f"Farthest of the right ones: `{name}`, {said.off(found)}: fine."


def _closing(report: Report) -> Text:
    word, style = ("Fine", "bold green") if report.fine else ("Not fine", "bold red")
    seconds = f" {report.seconds:.1f} s." if report.seconds else ""
    return Text().append(word, style).append(f": {said.closing(report)}.{seconds}")


def _prose(words: str) -> Text:
    """A sentence, its names in backquotes bold."""
    text = Text()
    for at, part in enumerate(_CODE.split(" ".join(words.split()))):
        text.append(said.visible(part), "bold" if at % 2 else "")
    return text


def _wrapped(text: Text, console: Console, label: Text | None = None) -> Iterator[Text]:
    """In lines of the console's width; with a label, behind it and indented."""
    deep = 0 if label is None else _DEEP
    for at, line in enumerate(text.wrap(console, max(20, console.width - deep))):
        line.rstrip()
        first = Text(" " * _INDENT).append_text(label) if label is not None else Text()
        first.pad_right(deep - len(first))
        yield (first if at == 0 else Text(" " * deep)).append_text(line)

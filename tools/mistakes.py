"""docs/mistakes.md: a section for each mistake of the catalogue, and what the check makes of it.

`python tools/mistakes.py` writes the page anew. How many are caught and named is what the tests in
`tests/checking` hold, form by form.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from handformer.checking import cases  # noqa: E402
from handformer.checking.case import Case  # noqa: E402
from handformer.checking.diagnose import trials  # noqa: E402
from handformer.checking.mistakes import CATALOGUE, HARMLESS, Mistake, Shows  # noqa: E402
from handformer.checking.mistakes.edited import line_of, told  # noqa: E402
from tests.checking.named import UNNAMED, forms  # noqa: E402
from tests.checking.theirs import generation, sampling, training  # noqa: E402
from tests.checking.theirs.rows import id_of  # noqa: E402

LONGEST = 300  # characters of a formula
PAGE = ROOT / "docs/mistakes.md"
SHOWN_IN = (
    "gpt2-tiny", "llama-tiny", "bert-tiny", "encoder-decoder-tiny", "gpt2-dropout",
    "alibi-attention", "window-attention", "chunk-attention", "smoothed-loss", "softmax",
    "mlp-relu", "geglu", "single-head", "training", "generation", "sampling",
)  # fmt: skip
HEAD = """# Mistakes

What people get wrong when they write a Transformer by hand. `handformer check` tries each of them
on your own numbers, and names those that reproduce them; see [check.md](check.md). A mistake is an
edit of a formula: below, the right line and the wrong one.

This page is made from the catalogue by `python tools/mistakes.py`.
"""
TABLE = """
## How well they are found

Each form of each mistake is made in an independent implementation, in one or two of the models
that can have it, and the dump is checked: the tests do so. *Caught*: the first value that differs
is the one where it was made. *Named*: the row is named there, or one that gives the same numbers;
of a dump that lies in another order, the order.

| mistake | made | caught | named |
|---|---|---|---|
"""
AFTER = """
## What isn't a mistake

These look wrong in one value, while all that follows is right. The check says so, and goes on.
"""


def rows() -> list[str]:
    """The table: how often each mistake is made, caught and named, as the tests hold it."""
    found: dict[str, list[int]] = {}
    made = [(name, name not in UNNAMED) for name, _ in forms()]
    others = [name for more in (training, generation, sampling) for name in more.ROWS]
    made += [(name.partition("|")[0], True) for name in others]
    for name, named in made:
        counts = found.setdefault(id_of(name), [0, 0, 0])
        for place, counted in enumerate((True, True, named)):
            counts[place] += counted
    lines = [
        f"| [{name}](#{name.lower()}) | {' | '.join(map(str, counts))} |"
        for name, counts in found.items()
    ]
    total, caught, named_all = (sum(counts[n] for counts in found.values()) for n in range(3))
    share = [f"{count} ({100 * count / total:.1f} %)" for count in (caught, named_all)]
    return [*lines, f"| all {len(found)} | {total} | {' | '.join(share)} |"]


def section(mistake: Mistake) -> Iterator[str]:
    """What is said of a mistake."""
    yield f'\n<a id="{mistake.id.lower()}"></a>\n### {mistake.id}\n'
    says, right, wrong = example(mistake)
    sentences = told(f"{mistake.wrong} {mistake.cure}", says, {})
    yield f"\n{plain(sentences)}\n"
    if right:
        yield f"\n```\nright  {short(right)}\nwrong  {short(wrong)}\n```\n"
    if mistake.why:
        yield f"\nNo dump shows it: {mistake.why}.\n"
    elif mistake.shows is not Shows.VALUES:
        yield f"\nIt shows in a dump of {mistake.shows}.\n"


def example(mistake: Mistake) -> tuple[str, str, str]:
    """What is particular about its first edit in some case, the right line, and the wrong one."""
    for name in SHOWN_IN:
        case = case_of(name)
        for step in (one for one in case if one.formula is not None or one.scope in case.placed):
            for trial in trials(case, [step], [mistake]):
                sheet, right = trial.sheets[step.scope, step.name], case.sheet(step)
                changed = [f.name for f in right if f.name in sheet and sheet[f.name] != f]
                line = step.name if step.name in changed else changed[0]
                says = next((edit.says for edit in trial.edits if edit.says), "")
                return says, line_of(right, line), line_of(sheet, line)
    return "...", "", ""


def short(line: str) -> str:
    """A line that isn't longer than it can be read."""
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} ..."


def plain(text: str) -> str:
    """A sentence without braces: sizes have no values here."""
    return re.sub(r"\{([^{}]+)\}", r"`\1`", text)


_CASES: dict[str, Case] = {}


def case_of(name: str) -> Case:
    if name not in _CASES:
        _CASES[name] = Case(cases.build(name))
    return _CASES[name]


def page(table: list[str]) -> str:
    """The whole page."""
    sections = [line for one in CATALOGUE for line in section(one)]
    harmless = [line for one in HARMLESS for line in section(one)]
    return "".join(
        [HEAD, TABLE, "\n".join(table), "\n\n## The mistakes\n", *sections, AFTER, *harmless]
    )


if __name__ == "__main__":
    PAGE.write_text(page(rows()), encoding="utf-8")

"""docs/kills.md: the mistakes of the catalogue, made in our own formulas and code, and by what
each of them is seen.

`python tools/kills.py` writes the page anew, which takes some minutes.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from handformer.checking.mistakes import CATALOGUE, Shows  # noqa: E402
from tests.selfcheck.kills import Kills, Made, kills  # noqa: E402
from tests.selfcheck.survivors import reason  # noqa: E402

PAGE = ROOT / "docs/kills.md"
HEAD = """# Kills

Does our own proof see what it should? Every mistake of the catalogue ([mistakes.md](mistakes.md))
is an edit of formulas. Here each edit was made in our own formulas and in our own code, at every
line of every op, layer and model that it speaks of.

*In formulas*: the edited line stands in the place of ours, and what it gives isn't what our code
computed. *In code*: the op, or whatever else makes the value, returns what the edited line gives,
and `handformer selfcheck` says that this value is wrong; in training, generation and sampling the
tests say so. Both ways the difference has to exceed the limit of `selfcheck`, 1e-12 of the largest
entry.

This page is made by `python tools/kills.py`, and a test makes it again.

| mistake | made | seen in formulas | seen in code | where it was made |
|---|---|---|---|---|
"""
SURVIVORS = """
## Where a mistake changes nothing

{} of {} weren't seen, since there is nothing to see:

| mistake | at | why |
|---|---|---|
"""
MAKERS = """
## Which code returned the mistaken value

An op by its name. *record*: no op alone makes the value (a layer adds gradients up), and it was put
into the record of the pass. *memory*: a mask that a block was given has to be the very array of the
model. *training*, *generation*, *sampling*: a function there.

"""
NOWHERE = """
## Mistakes that aren't edits of our formulas

"""


def page(found: Kills) -> str:
    """The whole page."""
    rows = [row(one, [made for made in found.met if made.id == one], found) for one in ids()]
    whole = row("all", [*found.met], found)
    left = found.survivors()
    same = sorted({(one.id, one.place, reason(one)) for one in left})
    lines = [f"| {name} | `{place}` | {why} |" for name, place, why in same]
    return "".join(
        [
            HEAD,
            "\n".join([*filter(None, rows), whole]),
            "\n",
            MAKERS,
            "\n".join(f"- {name}: {count}" for name, count in makers(found)),
            "\n",
            SURVIVORS.format(len(left), len(found.met)),
            "\n".join(lines),
            "\n",
            NOWHERE,
            "\n".join(elsewhere(found)),
            "\n",
        ]
    )


def ids() -> list[str]:
    """The catalogue's names, each once."""
    return [*dict.fromkeys(mistake.id for mistake in CATALOGUE)]


def row(name: str, made: list[Made], found: Kills) -> str:
    """How often a mistake was made, and how often it was seen."""
    if not made:
        return ""
    counts = [
        len(made),
        *(sum(one in seen for one in made) for seen in (found.formula, found.code)),
    ]
    return f"| {name} | {' | '.join(map(str, counts))} | {where(made)} |"


def where(made: Iterable[Made]) -> str:
    """In how many lines of which kinds."""
    kinds = Counter(one.kind for one in made)
    return ", ".join(f"{kind} {count}" for kind, count in kinds.items())


def makers(found: Kills) -> list[tuple[str, int]]:
    """What returned mistaken values, and how many."""
    return sorted(Counter(found.code.values()).items(), key=lambda pair: (-pair[1], pair[0]))


def elsewhere(found: Kills) -> Iterator[str]:
    """The mistakes that were made nowhere, each with the reason."""
    made = {one.id for one in found.met}
    for mistake in CATALOGUE:
        if mistake.id not in made:
            made.add(mistake.id)
            why = mistake.why or "what it edits is given, or written: no formula of ours states it"
            shown = "" if mistake.shows is Shows.NOWHERE else f" (it shows in {mistake.shows})"
            yield f"- {mistake.id}: {why}{shown}."


if __name__ == "__main__":
    PAGE.write_text(page(kills()), encoding="utf-8")

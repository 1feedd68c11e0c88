"""The README's fenced blocks: tests and CI run what a reader reads, and no second copy goes stale.

`python tools/readme.py 1` prints the first command of the first shell block.
"""

import sys
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).resolve().parents[1] / "README.md"


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line of the file on which the text starts."""

    language: str
    text: str
    line: int


def blocks(markdown: str) -> list[Block]:
    """Every fenced block of a page, in order. Fences stand at the start of a line."""
    found: list[Block] = []
    inside: tuple[str, int] | None = None
    lines = markdown.splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.startswith("```"):
            continue
        if inside is None:
            inside = line[3:].strip(), number
        else:
            language, start = inside
            found.append(Block(language, "\n".join(lines[start : number - 1]), start + 1))
            inside = None
    if inside is not None:
        raise ValueError(f"the block that opens on line {inside[1]} is never closed: add ```")
    return found


def commands(markdown: str) -> list[str]:
    """The lines of the first shell block: what a newcomer types."""
    shell = next((block for block in blocks(markdown) if block.language == "sh"), None)
    if shell is None:
        raise ValueError("no ```sh block on the page: the commands to try belong in one")
    return [line for line in shell.text.splitlines() if line.strip()]


if __name__ == "__main__":
    print(commands(README.read_text(encoding="utf-8"))[int(sys.argv[1]) - 1])

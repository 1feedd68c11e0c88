"""Paragraphs of a fixed width, also in Chinese, whose signs are two columns wide.

Chinese may break between any two signs, except before what closes and behind what opens.
"""

import re
from collections.abc import Iterator
from unicodedata import east_asian_width

_CLOSES, _OPENS = "，。、；：？！）」』”’", "（「『“‘"
_WIDE = r"[\u2e80-\u9fff\uf900-\ufaff\uff01-\uff60]"
# One wide sign, or a run of letters, with what may not stand apart from it.
_UNIT = re.compile(rf"[{_OPENS}]*(?:(?![{_OPENS}]){_WIDE}|(?:(?!{_WIDE})\S)+)[{_CLOSES}]*")


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def wrap(text: str, width: int) -> list[str]:
    """The text in lines that are at most so wide, as long as no single word is wider."""
    lines: list[str] = []
    line = ""
    for space, unit in _units(text):
        if line and columns(line + space + unit) > width:
            lines.append(line)
            line = unit
        else:
            line += (space if line else "") + unit
    return [*lines, line] if line else lines


def _units(text: str) -> Iterator[tuple[str, str]]:
    """What can't be broken, with the space before it."""
    end = 0
    for found in _UNIT.finditer(text):
        yield " " if found.start() > end else "", found[0]
        end = found.end()

r"""Tokens as tables and messages show them: on one line, with everything visible.

A space is `␣`; a newline, another invisible character, a backslash and a mark that would combine
with what stands before it are escapes as in Python (`\n`, `\u0301`, `\\`); a byte that is no whole
character is `\xe2`. Different tokens always look different.
"""

import unicodedata

SPACE = "␣"


def display(spelling: bytes) -> str:
    """One token's bytes in visible form."""
    # surrogateescape turns a byte that is no part of a whole character into U+DC80 .. U+DCFF.
    text = spelling.decode("utf-8", errors="surrogateescape")
    return "".join(_visible(character, first=place == 0) for place, character in enumerate(text))


def _visible(character: str, *, first: bool) -> str:
    point = ord(character)
    if character == " ":
        return SPACE
    if 0xDC80 <= point <= 0xDCFF:
        return f"\\x{point - 0xDC00:02x}"
    if 0x80 <= point <= 0xFF and not character.isprintable():
        return f"\\u{point:04x}"  # Python would write \x80, which is the form of a lone byte here
    combines = first and unicodedata.category(character).startswith("M")
    if character in {"\\", SPACE} or combines or not character.isprintable():
        return character.encode("unicode_escape").decode()
    return character

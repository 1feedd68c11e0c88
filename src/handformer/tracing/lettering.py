"""Texts in pictures: in fonts that are here, and no character that none of them has."""

LONGEST = 14  # characters

# The first has what matplotlib itself brings; the others have Chinese, where they are installed.
FONTS = (
    "DejaVu Sans", "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "PingFang SC",
    "Hiragino Sans GB", "Microsoft YaHei", "WenQuanYi Zen Hei", "Noto Serif CJK SC", "SimHei",
)  # fmt: skip


def families() -> list[str]:
    """Those of FONTS that are installed."""
    from matplotlib import font_manager  # noqa: PLC0415

    known = {font.name for font in font_manager.fontManager.ttflist}
    return [name for name in FONTS if name in known]


def fit(text: str, longest: int = LONGEST) -> str:
    """A text that isn't too long; what can't be drawn is an escape, as in Python."""
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(
        c if c.isprintable() and _drawable(c) else c.encode("unicode_escape").decode()
        for c in short
    )


def _drawable(character: str) -> bool:
    """Whether one of the fonts that are set has it."""
    if character.isascii():
        return True
    from matplotlib import font_manager, rcParams  # noqa: PLC0415

    found = (font_manager.findfont(family) for family in rcParams["font.family"])
    return any(font_manager.get_font(file).get_char_index(ord(character)) for file in found)

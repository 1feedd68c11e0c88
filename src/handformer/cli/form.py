"""The forms in which a command can print what it has to say."""

from enum import StrEnum


class Format(StrEnum):
    """For a terminal, a page, a paper, a browser or a program."""

    TEXT = "text"
    MARKDOWN = "markdown"
    LATEX = "latex"
    HTML = "html"
    JSON = "json"

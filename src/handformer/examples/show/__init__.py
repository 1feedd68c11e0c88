"""A worked example in five forms, by the names that `--format` takes."""

from collections.abc import Callable

from handformer.examples.show.document import document
from handformer.examples.show.html import html
from handformer.examples.show.markdown import markdown
from handformer.examples.show.record import record
from handformer.examples.show.text import text
from handformer.examples.worked import Worked

__all__ = ["FORMATS"]

FORMATS: dict[str, Callable[[Worked], str]] = {
    "text": text,
    "markdown": markdown,
    "latex": document,
    "html": html,
    "json": record,
}

"""An explanation in five forms, by the names that `--format` takes."""

from collections.abc import Callable

from handformer.tracing.explanation import Explanation
from handformer.tracing.show.document import document
from handformer.tracing.show.html import html
from handformer.tracing.show.markdown import markdown
from handformer.tracing.show.record import record
from handformer.tracing.show.text import text

__all__ = ["FORMATS", "document", "html", "markdown", "record", "text"]

FORMATS: dict[str, Callable[[Explanation], str]] = {
    "text": text,
    "markdown": markdown,
    "latex": document,
    "html": html,
    "json": record,
}

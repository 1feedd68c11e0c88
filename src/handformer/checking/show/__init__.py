"""A report in the forms that it can be read in: a terminal, a program, a CI server."""

from handformer.checking.show.junit import junit
from handformer.checking.show.record import record

__all__ = ["junit", "record"]

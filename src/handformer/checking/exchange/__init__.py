"""Other people's dumps: read from files, and found under our paths.

dump = exchange.read("theirs.safetensors")      a mapping from their names to their numbers
matched = exchange.match(dump, trace)           the same by our path, in our order of axes
"""

from handformer.checking.exchange.dump import Dump, Dumped
from handformer.checking.exchange.matching import Matched, match
from handformer.checking.exchange.reading import read
from handformer.checking.exchange.table import Table, read_table

__all__ = ["Dump", "Dumped", "Matched", "Table", "match", "read", "read_table"]

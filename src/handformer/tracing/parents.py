"""The entries that stand in an expression, under the paths where their values are made."""

from collections.abc import Iterator

from handformer.formula.expand import unroll, write_out
from handformer.formula.expression import Call, Entry, Index, Node, Reduction, Scalar, parts, walk
from handformer.formula.located import Located, place_of
from handformer.formula.terms import Term
from handformer.tracing.trace import Trace

Place = tuple[int, ...]
Named = tuple[str, Place]
_POSITIONS, _ENTRIES = "tsru", "nm"


class Parents:
    """Parents of parts of one formula that stands at its place."""

    def __init__(self, trace: Trace, scope: str, located: Located, most: int) -> None:
        """`most`: how many terms of a sum are looked at where an abbreviation is one."""
        self._trace, self._located, self._most = trace, located, most
        self._prefix = f"{scope}." if scope else ""
        self._short: dict[Node, tuple[Named, ...]] = {}

    def of(self, node: Node, *, asked: bool = False) -> Iterator[Named]:
        """The entries in an expression that is written out, each once.

        `asked`: and those that the whole formula asks to choose and to look up.
        """
        found = dict.fromkeys(self._entries(node))
        if asked:
            for condition in _asked(self._located.body):
                written = write_out(self._located, condition, self._most)
                found |= dict.fromkeys(self._entries(written))
        yield from found

    def token(self, term: Term) -> str | None:
        """The spelling of the token that a term belongs to, if its sum runs over tokens."""
        running = {x: at[0] for x, at in term.letters.items() if x[0] in _POSITIONS + _ENTRIES}
        for pattern in walk(term.pattern) if running else ():
            if not isinstance(pattern, Entry) or self._located.abbreviations.stands(pattern):
                continue
            entry = self._trace.entry(self._prefix + pattern.name)
            for axis, index in enumerate(pattern.indices):
                if isinstance(index, Index) and index.letter in running:
                    row = self._row(pattern, entry.axes, term)
                    found = self._spelled(entry.path, entry.axes[axis], row, running[index.letter])
                    if found is not None:
                        return found
        return None

    def _row(self, entry: Entry, axes: tuple[str, ...], term: Term) -> int:
        """In which row of the batch an entry of a term stands."""
        if "b" in axes:
            index = entry.indices[axes.index("b")]
            if isinstance(index, Index):
                return term.letters[index.letter][0]
            return int(place_of(entry)[0])
        return 0

    def _spelled(self, path: str, letter: str, row: int, at: int) -> str | None:
        words = self._trace.words(path, letter, row)
        return words[at] if words is not None and at < len(words) else None

    def _entries(self, node: Node) -> Iterator[Named]:
        here = self._located
        for part in walk(node):
            if not isinstance(part, Entry | Scalar):
                continue
            place = place_of(part) if isinstance(part, Entry) else ()
            if here.abbreviations.stands(part):
                yield from self._of_short(part, place)
            elif isinstance(part, Entry) or part.name not in here.scalars:
                path = self._prefix + part.name
                if path in self._trace:
                    yield self._trace.entry(path).path, place

    def _of_short(self, node: Entry | Scalar, place: Place) -> tuple[Named, ...]:
        """The entries that an abbreviation comes from."""
        if node not in self._short:
            one = self._located.evaluation
            located = Located(one.sheet, node.name, place, one.given, one.scalars)
            self._short[node] = tuple(self._entries(unroll(located, self._most).symbols))
        return self._short[node]


def _asked(node: Node) -> Iterator[Node]:
    """Conditions and places in which no letter runs: what decides, and where to look."""
    if isinstance(node, Reduction):
        return
    if isinstance(node, Call) and node.function == "where":
        yield node.arguments[0]
    if isinstance(node, Entry):
        yield from node.indices
    for part in parts(node):
        yield from _asked(part)

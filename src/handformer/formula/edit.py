"""Edits of a formula's tree under which its meaning stays: other names, a term that is absent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from handformer.axes import LEGEND
from handformer.formula.expression import (
    Entry,
    Index,
    Negative,
    Node,
    Operation,
    Reduction,
    Scalar,
    each,
    rewrite,
    walk,
)
from handformer.formula.names import gradient, is_width


@dataclass(frozen=True)
class Renaming:
    """Other letters for axes (one may become several, or none) and other names for values."""

    letters: Mapping[str, tuple[str, ...]]
    names: Mapping[str, str]

    @classmethod
    def of(cls, names: Mapping[str, str]) -> "Renaming":
        """From old to new; the gradient of a value goes with it, unless it is named itself.

        A letter that becomes letters, or none, is an axis. What becomes anything else is a value,
        even one that is called like a letter.
        """
        letters = {
            old: tuple(new.split())
            for old, new in names.items()
            if old in LEGEND and LEGEND.keys() >= {*new.split()}
        }
        values = {old: new for old, new in names.items() if old not in letters}
        gradients = {gradient(old): gradient(new) for old, new in values.items()}
        return cls(letters, gradients | values)

    def array(self, name: str) -> str:
        """The new name of a value."""
        return self.names.get(name, name)

    def axes(self, axes: Iterable[str]) -> tuple[str, ...]:
        """The new letters of some axes."""
        return tuple(new for old in axes for new in self.letters.get(old, (old,)))

    def body(self, node: Node) -> Node:
        """The tree under the new names."""
        match node:
            case Entry(name=name, indices=indices):
                places: list[Node] = []
                for place in indices:
                    if isinstance(place, Index):
                        places += [Index(letter) for letter in self.axes([place.letter])]
                    else:
                        places.append(self.body(place))
                return Entry(self.array(name), tuple(places))
            case Index(letter=letter):
                new = self.axes([letter])
                if len(new) != 1:
                    raise ValueError(f"{letter} is calculated with: it can only become one letter")
                return Index(new[0])
            case Scalar(name=name):
                new_name = self.array(name)  # the gradient d_k may be renamed, the width d_k isn't
                return node if is_width(name) and not is_width(new_name) else Scalar(new_name)
            case Reduction(kind=kind, letters=letters, body=body):
                over = self.axes(letters)
                return Reduction(kind, over, self.body(body)) if over else self.body(body)
        return each(node, self.body)


def _is_width(node: Node) -> bool:
    return isinstance(node, Scalar) and is_width(node.name)


def drop(body: Node, gone: set[str]) -> Node:
    """The tree without the terms that hold one of the names."""

    def missing(node: Node) -> bool:
        return any(
            isinstance(n, Entry | Scalar) and n.name in gone and not _is_width(n)
            for n in walk(node)
        )

    def change(node: Node) -> Node:
        match node:
            case Operation(operator="+" | "-", left=left, right=right) if missing(right):
                return left
            case Operation(operator="+", left=left, right=right) if missing(left):
                return right
            case Operation(operator="-", left=left, right=right) if missing(left):
                return Negative(right)
        return node

    dropped = rewrite(body, change)
    if missing(dropped):
        raise ValueError(f"only a term of a sum can be absent, not so {', '.join(sorted(gone))}")
    return dropped

"""Edits of training: of one line, or of the lines of every weight."""

from handformer.checking.mistakes.mistake import Edit

_LAYERS = ("AdamW", "SGD")


def one(line: str, change: str, says: str = "") -> Edit:
    """An edit of the line of a number, such as `lr`, or of a counter of every weight."""
    return Edit(line, change, _LAYERS, says)


def every(name: str, change: str, says: str = "") -> tuple[Edit, ...]:
    """Edits of a value of every weight, at once: `m` stands for `m.head.w` and all others.

    `{1}` in the change is the path of the weight, and `_` its places: a line has those of a matrix
    or those of a vector. A change that begins with `=` is the whole line's right side.
    """
    whole = f"{name}.{{1}}[_] {change}" if change.startswith("=") else change
    return tuple(
        one(f"{name}.*", whole.replace("_]", f"{places}]"), says) for places in ("i,j", "j")
    )


def matrix(name: str, change: str, says: str = "") -> Edit:
    """An edit of a value of every matrix."""
    return every(name, change, says)[0]


def vector(name: str, change: str, says: str = "") -> Edit:
    """An edit of a value of every vector."""
    return every(name, change, says)[1]

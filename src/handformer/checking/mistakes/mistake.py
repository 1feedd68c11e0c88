"""A known mistake: an edit of a formula, in words and as text.

An edit changes one line of a layer's sheet, and is written like that line:

    Edit("scores", "sqrt(d_k) -> sqrt(d_model)")        a part of the line is another one
    Edit("q", "q[b,h,t,c] = max(q[b,h,t,c], 0)")        the whole line is another one

In a line of its own, the value's own name stands for its right value: what the right formula gives.
Names are those of the layer's sheet; a name that begins with `block.` or `model.` is looked up from
the block or the model that the layer stands in: `block.x`, `model.embedding.table`. The letter `e`
is the example of the batch as a number, where `b` can't be calculated with.

All numbers of the config are there in every line (`d_model`, `n_heads`, `eps`, ...), and so are
`n_queries`, `n_keys`, `n_batch` and `n_tokens` (places of all rows), whatever the layer is.
"""

from dataclasses import dataclass
from enum import StrEnum


class Shows(StrEnum):
    """In what kind of dump a mistake can show."""

    VALUES = "values"
    GRADIENTS = "gradients"
    STEPS = "training steps"
    SCHEDULE = "schedule"
    GENERATION = "cached generation"
    SAMPLING = "sampling"
    WEIGHTS = "weights"
    NOWHERE = "no dump"


@dataclass(frozen=True)
class Edit:
    """One change of one line.

    line
        the name that the line states, in its layer's sheet: a value, or an abbreviation
    change
        `part -> other part`, or the whole line anew
    layers
        the classes of layers whose sheets are meant; none: wherever the line's name stands
    says
        what is particular about this edit, put into the mistake's sentence at `{}`
    """

    line: str
    change: str
    layers: tuple[str, ...] = ()
    says: str = ""


@dataclass(frozen=True)
class Mistake:
    """A row of the catalogue.

    id
        its name, as in SCALE-1
    wrong, cure
        a sentence each, without the name of a value: what was done, and what to do. Names of
        sizes in braces are followed by their values, as in {d_model}
    edits
        the edits that make it: each is tried by itself. Several at once: a tuple of edits
    shows
        in what kind of dump it shows
    why
        why it can't show in a dump, where it can't
    """

    id: str
    wrong: str
    cure: str
    edits: tuple[Edit | tuple[Edit, ...], ...] = ()
    shows: Shows = Shows.VALUES
    why: str = ""

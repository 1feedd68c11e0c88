"""Worked examples: each step with its formula, the numbers put in, and the result done by hand.

`EXAMPLES` holds them by name, in the order in which to read them, `LANGUAGES` the languages
in which they are told.
"""

from difflib import get_close_matches

from handformer.errors import InputError
from handformer.examples.by_hand import (
    activations,
    adamw,
    attention,
    heads,
    masks,
    norms,
    rotation,
    softmax_large,
    tokens,
    top_p,
)
from handformer.examples.chinese import CHINESE
from handformer.examples.example import Example, Step
from handformer.examples.language import ENGLISH, Language
from handformer.examples.worked import Worked, verify, work

__all__ = [
    "EXAMPLES",
    "LANGUAGES",
    "Example",
    "Language",
    "Step",
    "Worked",
    "find",
    "verify",
    "work",
]
_CURE = "handformer example --list names them all"

EXAMPLES: dict[str, Example] = {
    example.name: example
    for example in (
        attention.IDENTITY,
        attention.IDENTITY_BACKWARD,
        softmax_large.SOFTMAX_LARGE,
        masks.CAUSAL_MASK,
        masks.HIDDEN_ROW,
        heads.TWO_HEADS,
        heads.GROUPED_HEADS,
        rotation.ROTATION,
        norms.LAYER_NORM,
        norms.RMS_NORM,
        activations.GELU,
        activations.SWIGLU,
        tokens.EMBEDDING,
        tokens.CROSS_ENTROPY,
        adamw.ADAMW,
        top_p.TOP_P,
    )
}

# By the code of the language.
LANGUAGES: dict[str, Language] = {each.code: each for each in (ENGLISH, CHINESE)}


def find(name: str) -> Example:
    """The example of that name.

    Raises
    ------
    InputError
        where there is none, with the near names
    """
    if name in EXAMPLES:
        return EXAMPLES[name]
    near = get_close_matches(name, EXAMPLES, n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise InputError(f"no example is named {name!r}: {meant}{_CURE}")

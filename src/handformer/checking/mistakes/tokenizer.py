"""Mistakes in cutting text into tokens: section 21 of the catalogue. A dump doesn't show them."""

from handformer.checking.mistakes.mistake import Mistake, Shows

_WHY = "a case gives tokens: `handformer tokenize` shows what becomes of a text"


def _nowhere(name: str, wrong: str, cure: str) -> Mistake:
    return Mistake(name, wrong, cure, shows=Shows.NOWHERE, why=_WHY)


TOKENIZER = (
    _nowhere(
        "TOK-1",
        "Merges were applied in the order of the text, or once.",
        "Apply the merge of the lowest rank first, until none is left.",
    ),
    _nowhere(
        "TOK-2",
        "A merge that is listed twice has its later rank.",
        "The first one counts.",
    ),
    _nowhere("TOK-3", "The token for the beginning stands there twice.", "Add it once."),
    _nowhere("TOK-4", "The token for the beginning is missing.", "Add it."),
    _nowhere(
        "TOK-5",
        "A special token was cut up as text, or a space before a word was lost.",
        "Look special tokens up by their id, and keep spaces as the tokenizer has them.",
    ),
    _nowhere(
        "TOK-6",
        "The text wasn't split into words first: merges cross their borders.",
        "Split by the tokenizer's pattern, then merge inside each piece.",
    ),
)

"""Mistakes in hiding keys: section 6 of the catalogue."""

from handformer.checking.mistakes.lines import HEADS, filled, softmax
from handformer.checking.mistakes.mistake import Edit, Mistake, Shows

_CAUSAL = ("s <= t", "s <= t + n_keys - n_queries")
_VALID = ("valid", "source_valid")
_SEEN = "mask[b,h,t,@]"


def _attn(score: str, says: str = "") -> Edit:
    """Attention as the softmax of scores that were changed in another way."""
    return Edit("attn", f"attn[b,h,t,s] = {softmax(score)}", HEADS, says)


def _under(mask: str, says: str = "") -> Edit:
    """Attention under another mask; a row that sees nothing is 0."""
    score = filled("-1e9", mask)
    seen = mask.replace("@", "s")
    return Edit("attn", f"attn[b,h,t,s] = where({seen}, {softmax(score)}, 0)", HEADS, says)


def _nothing(mask: str, says: str = "") -> Edit:
    """Attention under a mask that fills with -inf: a row that sees nothing is 0 / 0."""
    any_key = f"max(u, where({mask.replace('@', 'u')}, 1, 0)) > 0"
    row = softmax(filled("-1e9", mask))
    return Edit("attn", f"attn[b,h,t,s] = where({any_key}, {row}, inf - inf)", HEADS, says)


def _mask(old: str, new: str, says: str = "") -> tuple[Edit, ...]:
    """A part of the mask itself, in the model's own line and in that of each block."""
    return tuple(Edit(line, f"{old} -> {new}", says=says) for line in ("mask", "*.mask"))


def _triangle(new: str, says: str = "") -> tuple[Edit, ...]:
    """Another comparison in the causal mask; `@` stands for the query's own place."""
    return tuple(
        edit
        for old in _CAUSAL
        for edit in _mask(old, new.replace("@", f"({old.removeprefix('s <= ')})"), says)
    )


def _padded(new: str, says: str = "") -> tuple[Edit, ...]:
    """Another condition where padding is hidden; `@` stands for what says which keys are real."""
    return tuple(
        edit for name in _VALID for edit in _mask(f"{name}[b,s]", new.replace("@", name), says)
    )


def _rows(valid: str) -> Edit:
    """Padding hides its own queries, and no keys."""
    score = filled("-1e9", f"model.{valid}[b,t]")
    return _attn(score)


_BOTH = "s <= t and valid[b,s]"

MASKS = (
    Mistake(
        "MASK-1",
        "No mask was applied: queries see keys that should be hidden from them.",
        "Put -inf in the place of the scores that the mask hides, before the softmax.",
        (_attn("scores[b,h,t,@]"), *_triangle("s < n_keys")),
    ),
    Mistake(
        "MASK-2",
        "The causal triangle is shifted: {}.",
        "Query i sees key j where j <= i.",
        (
            *_triangle("s < @", "no token sees itself"),
            *_triangle("s <= @ + 1", "each token sees the next one"),
            _under(f"({_SEEN} and @ != t)", "no token sees itself"),
            _attn(filled("-1e9", f"({_SEEN} and @ != t)"), "no token sees itself"),
            _nothing(f"({_SEEN} and @ != t)", "no token sees itself"),
            _under(f"({_SEEN} or @ == t + 1)", "each token sees the next one"),
            _under(f"({_SEEN} or @ == t + 1 and model.valid[b,@])", "each token sees the next one"),
        ),
    ),
    Mistake(
        "MASK-3",
        "The causal triangle is the wrong one: the past is hidden, and the future is seen.",
        "Keep the lower triangle: query i sees key j where j <= i.",
        (*_triangle("s >= @"), _under("@ >= t"), _under("(@ >= t and model.valid[b,@])")),
    ),
    Mistake(
        "MASK-4",
        "The mask was read the other way: keys that should be seen are hidden, and the others "
        "seen.",
        "Find out whether `true` means keep or hide: here it means keep.",
        (
            _under(f"{_SEEN} == 0"),
            _attn(filled("-1e9", f"{_SEEN} == 0")),
            _nothing(f"{_SEEN} == 0"),
        ),
    ),
    Mistake(
        "MASK-5",
        "The mask was applied after the softmax, and the rows weren't normalised again: they sum "
        "to less than 1.",
        "Hide scores before the softmax.",
        (
            Edit(
                "attn",
                f"attn[b,h,t,s] = where(mask[b,h,t,s], {softmax('scores[b,h,t,@]')}, 0)",
                HEADS,
            ),
        ),
    ),
    Mistake(
        "MASK-6",
        "Hidden scores became 0, not -inf: a hidden key still weighs exp(0).",
        "Put -inf in their place; don't multiply scores by the mask.",
        (_attn(filled("0")), _attn(filled("-0.000000001"))),
    ),
    Mistake(
        "MASK-7",
        "Hidden scores became +inf.",
        "Put -inf in their place: the sign is wrong.",
        (_attn(filled("inf")),),
    ),
    Mistake(
        "MASK-8",
        "The padding mask hides queries, not keys: it was spread along the wrong axis.",
        "Hide the keys that are padding from all queries: valid[:, None, :].",
        (
            *(edit for name in _VALID for edit in _mask(f"{name}[b,s]", f"{name}[b,t]")),
            *map(_rows, _VALID),
        ),
    ),
    Mistake(
        "MASK-9",
        "A query that sees no key got {}.",
        "Give such a row zeros: guard the division by a sum of 0.",
        (
            _nothing(_SEEN, "NaN: 0 / 0"),
            _attn(filled("-1e9"), "the same weight for every key, 1 / {n_keys}"),
        ),
    ),
    Mistake(
        "MASK-10",
        "The number that hides scores is beyond what half precision can hold: it became -inf, and "
        "a row of nothing else NaN.",
        "Use the smallest number of the type that is used, or -inf with a guard.",
        (_nothing(_SEEN),),
    ),
    Mistake(
        "MASK-11",
        "Hidden scores became {}, which isn't far enough below the others.",
        "Put -inf in their place.",
        (
            _attn(filled("-100"), "-100"),
            _attn(filled("-1000"), "-1000"),
            _attn(filled("-10000"), "-10000"),
        ),
    ),
    Mistake(
        "MASK-13",
        "The sliding window is {}.",
        "A window of {width} holds the token itself and the {width - 1} before it.",
        (
            Edit(
                "mask",
                "s > own[t] - width -> s >= own[t] - width",
                ("WindowMask",),
                "one key too wide",
            ),
            Edit(
                "mask",
                "s > own[t] - width -> s > own[t] - width + 1",
                ("WindowMask",),
                "one key too narrow",
            ),
        ),
    ),
    Mistake(
        "MASK-14",
        "Attention to the source was masked by the target's {}.",
        "Hide the source's padding: its length decides, not the target's.",
        (
            Edit(
                "*.cross.mask",
                "source_valid[b,s] -> where(s < n_queries, valid[b,s + 0], 1) == 1",
                says="padding",
            ),
            Edit("*.cross.mask", "source_valid[b,s] -> s <= t", says="causal mask"),
            Edit(
                "*.cross.mask",
                "source_valid[b,s] -> source_valid[b,s] and s <= t",
                says="causal mask too",
            ),
        ),
    ),
    Mistake(
        "MASK-15",
        "Of the causal mask and the padding mask {}.",
        "A key is seen where both masks let it through.",
        (
            *_mask(_BOTH, "valid[b,s]", "only the padding mask was used"),
            *_mask(_BOTH, "s <= t", "only the causal mask was used"),
            *_mask(_BOTH, "s <= t or valid[b,s]", "either was enough"),
            _under("model.valid[b,@]", "only the padding mask was used"),
            _under("@ <= t", "only the causal mask was used"),
            _under("(@ <= t or model.valid[b,@])", "either was enough"),
        ),
    ),
    Mistake(
        "MASK-16",
        "Texts that share a row see each other.",
        "Each text sees its own tokens only: a block on the diagonal for each.",
        shows=Shows.NOWHERE,
        why="no case packs several texts into a row",
    ),
)

"""Mistakes in generation: in the store of keys and values (section 19), and in sampling."""

from handformer.checking.mistakes.mistake import Edit, Mistake, Shows
from handformer.checking.mistakes.sampling import SAMPLING

# A kept key turned once more, by the place at which it stands.
_PLACE = "(n_seen - n_past + s) / base ** (2 * (c % (d_k // 2)) / d_k)"


def _again(key: str) -> str:
    """The formula of a key (`{}` stands for its channel), turned."""
    here, other = key.format("c"), key.format("(c + d_k // 2) % d_k")
    return f"{here} * cos({_PLACE}) + where(c < d_k // 2, -1, 1) * {other} * sin({_PLACE})"


_KEPT = "k_past[b,g,s + n_dropped,{}]"
_READ = "k_all[b,h // group,s,{}]"
_ATTENTION, _DECODER = ("MultiHeadAttention",), ("Decoder",)


def _leftover(q: str, k: str) -> Edit:
    """The context of a prompt's queries that see all that was kept before, too."""
    before = f"exp(sum(i, {q}[b,h,t,i] * k_past[b,h // group,u,i]) / sqrt(d_k))"
    own = f"where(s <= t, exp(sum(i, {q}[b,h,t,i] * {k}[b,h // group,s,i]) / sqrt(d_k)), 0)"
    values = f"sum(u, {before} * v_past[b,h // group,u,c]) + sum(s, {own} * v[b,h // group,s,c])"
    weights = f"sum(u, {before}) + sum(s, {own})"
    new = f"where(n_past == 0, ({values}) / ({weights}), context[b,h,t,c])"
    return Edit("context", f"context[b,h,t,c] = {new}", _ATTENTION)


def _position(said: str, place: str) -> Edit:
    return Edit("positions", f"n_seen + t -> {place}", _DECODER, said)


_TOP_LEFT = (Edit("mask", "t + n_past -> t", _DECODER),)

STORE = (
    Mistake(
        "KV-1",
        "The position of the new tokens is wrong: {}.",
        "Count on: the first new token stands at the number of tokens that were read before.",
        (
            _position("it begins at 0 again", "t"),
            _position("it is one too many", "n_seen + t + 1"),
            _position("it is one too few", "n_seen + t - 1"),
            _position("the prompt's length was added twice", "n_seen + n_prompt + t"),
        ),
        Shows.GENERATION,
    ),
    Mistake(
        "KV-2",
        "With the cache on and off the model says different things.",
        "Compare the two, position by position: `handformer check MODEL --kv-cache`.",
        shows=Shows.NOWHERE,
        why="it isn't a formula but that two ways agree: --kv-cache asks the model itself",
    ),
    Mistake(
        "KV-3",
        "What was kept of the text before is still there when a new one begins.",
        "Clear the keys, the values and the count of positions before each prompt.",
        (
            _position("", "n_seen + where(n_past == 0, n_dropped, 0) + t"),
            _leftover("q_rot", "k_rot"),
            _leftover("q", "k"),
        ),
        Shows.GENERATION,
    ),
    Mistake(
        "KV-4",
        "Keys that were kept turned are turned again when they are read.",
        "Turn a key once: keep it turned and read it as it is, or keep it unturned.",
        (
            Edit("k_all", f"{_KEPT.format('c')} -> {_again(_KEPT)}", _ATTENTION),
            Edit(
                "k_all",
                f"{_KEPT.format('c')} -> where(s + n_dropped < n_past + n_dropped - n_before, "
                f"{_KEPT.format('c')}, {_again(_KEPT)})",
                _ATTENTION,
            ),
            Edit(
                "scores",
                f"{_READ.format('c')} -> where(s < n_past, {_again(_READ)}, {_READ.format('c')})",
                _ATTENTION,
            ),
        ),
        Shows.GENERATION,
    ),
    Mistake(
        "KV-5",
        "Keys and values were repeated for every query head before they were kept{}.",
        "Keep one of each group, and repeat when you read.",
        (
            *(
                Edit(
                    f"{name}_all",
                    f"{new}[b,g,{place},c] -> {new}[b,g // group,{place},c]",
                    _ATTENTION,
                    ", in a store that has room for {n_kv_heads}",
                )
                for name, new in (("k", "k_rot"), ("k", "k"), ("v", "v"))
                for place in ("s", "s - n_past")
            ),
            *(
                Edit(line, f"{line}[b,h,s,c] = {line}[b,h // group,s,c]", _ATTENTION)
                for line in ("k_all", "v_all")
            ),
        ),
        Shows.GENERATION,
    ),
    Mistake(
        "KV-6",
        "The cosines and sines were kept by the number of tokens alone: those of an earlier place "
        "were taken.",
        "Take the places into account too, or keep a table for all places and look into it.",
        (
            (
                Edit("cos", "positions[b,t] -> (n_prompt + t)", _ATTENTION),
                Edit("sin", "positions[b,t] -> (n_prompt + t)", _ATTENTION),
            ),
        ),
        Shows.GENERATION,
    ),
    Mistake(
        "KV-7",
        "When the store was full, {}.",
        "Count positions in the text, not in the store, and let the oldest key go.",
        (
            _position("the slot's number was taken for the position", "(n_seen + t) % width"),
            *(
                Edit(
                    f"{name}_all",
                    "s + n_dropped -> s + 0",
                    _ATTENTION,
                    "the newest key was dropped, not the oldest",
                )
                for name in ("k", "v")
            ),
        ),
        Shows.GENERATION,
    ),
    Mistake(
        "KV-8",
        "A single new token sees the first key only: the causal triangle begins at the upper left.",
        "A single token needs no causal mask; otherwise end the triangle at the lower right.",
        _TOP_LEFT,
        Shows.GENERATION,
    ),
    Mistake(
        "MASK-12",
        "With more keys than queries the causal triangle stands at the upper left: query i sees "
        "the keys up to i of all.",
        "The last query stands beside the last key: it may see j <= i + keys - queries.",
        (*_TOP_LEFT, Edit("mask", "mask[t,s] = s <= t"), Edit("own", "own[t] := t")),
        Shows.GENERATION,
    ),
    Mistake(
        "KV-9",
        "The new keys and values were written along another axis than the positions': at the "
        "first places, over the old ones.",
        "Write them behind the old ones, along the axis of positions.",
        tuple(
            Edit(
                f"{name}_all",
                f"{name}_all[b,g,s,c] = where(s < n_queries, {new}[b,g,s % n_queries,c], "
                f"where(s < n_past, {name}_past[b,g,s + n_dropped,c], 0))",
                _ATTENTION,
            )
            for name, new in (("k", "k_rot"), ("k", "k"), ("v", "v"))
        ),
        Shows.GENERATION,
    ),
)

GENERATION = (*STORE, *SAMPLING)

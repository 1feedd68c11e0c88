"""Mistakes in splitting and merging heads: section 4 of the catalogue."""

from handformer.checking.mistakes.lines import FLASH, HEADS, each, filled, softmax
from handformer.checking.mistakes.mistake import Edit, Mistake

_ALL = (*HEADS, *FLASH)
_SIDES = (("q", "h", "t", "n_heads", "n_queries"), ("k", "g", "s", "n_kv_heads", "n_keys"),
          ("v", "g", "s", "n_kv_heads", "n_keys"))  # fmt: skip


def scrambled(name: str, head: str, place: str, heads: str, places: str) -> str:
    """A value read as (b, heads, places, d_k) that lies as (b, places, heads * d_k)."""
    flat = f"(({head} * {places} + {place}) * d_k + c)"
    row, column = f"{flat} // ({heads} * d_k)", f"{flat} % ({heads} * d_k)"
    return f"{name}[b,{head},{place},c] = {name}[b,{column} // d_k,{row},{column} % d_k]"


def _fastest(name: str, head: str, place: str, heads: str) -> str:
    """The same, read as (b, places, d_k, heads)."""
    column = f"(c * {heads} + {head})"
    return f"{name}[b,{head},{place},c] = {name}[b,{column} // d_k,{place},{column} % d_k]"


_FLAT = "(t * n_heads * d_k + h * d_k + c)"
MERGED = (
    f"context[b,h,t,c] -> context[b,{_FLAT} // (n_queries * d_k),"
    f"{_FLAT} // d_k % n_queries,{_FLAT} % d_k]"
)
_OUT = "sum(h, c, context[b,h,t,c] * w_o[h * d_k + c,i])"
_TILED = "h // group -> h % n_kv_heads"
_ACROSS = "(h * n_keys + s)"  # a place of the keys that were repeated along the wrong axis


def _across(line: str, name: str) -> tuple[str, str]:
    length = "(n_keys * group)"
    there = f"{name}[b,{_ACROSS} // {length},{_ACROSS} % {length} // group,c]"
    return line, f"{name}[b,h // group,s,c] -> {there}"


def _of_others(row: str) -> str:
    """Attention under the mask of another example."""
    score = filled("-1e9", f"mask[{row},h,t,@]", "scores[e,h,t,@]")
    return f"attn[e,h,t,s] = where(mask[{row},h,t,s], {softmax(score)}, 0)"


HEADS_SPLIT = (
    Mistake(
        "HEAD-1",
        "Heads were split by reading (b, t, h * c) as (b, h, t, c): each head got pieces of other "
        "tokens.",
        "Read it as (b, t, h, c), then exchange the axes t and h.",
        (each(_ALL, *((side[0], scrambled(*side)) for side in _SIDES)),),
    ),
    Mistake(
        "HEAD-2",
        "Heads were merged by reading (b, h, t, c) as (b, t, h * c): each token got pieces of "
        "other tokens.",
        "Exchange the axes h and t first, then merge h and c.",
        (Edit("out", MERGED, _ALL),),
    ),
    Mistake(
        "HEAD-3",
        "Heads saw the mask of another row of the batch: with heads and rows in one axis, the mask "
        "was repeated in the other order.",
        "Repeat the mask in the order in which heads and rows lie in that axis.",
        (
            Edit("attn", _of_others("(h * n_batch + e) // n_heads"), HEADS),
            Edit("attn", _of_others("(e * n_heads + h) % n_batch"), HEADS),
        ),
    ),
    Mistake(
        "HEAD-4",
        "{}.",
        "Put the heads' contexts side by side, and multiply by the whole of w_o.",
        (
            Edit(
                "out",
                "context[b,h,t,c] -> mean(g, context[b,g,t,c])",
                _ALL,
                "The heads' contexts were averaged",
            ),
            Edit(
                "out",
                "context[b,h,t,c] -> max(g, context[b,g,t,c])",
                _ALL,
                "Of the heads' contexts the largest number was taken",
            ),
            Edit(
                "out",
                f"{_OUT} -> {_OUT} / n_heads",
                _ALL,
                "What the heads give was averaged, not added up",
            ),
        ),
    ),
    Mistake(
        "HEAD-5",
        "Keys and values of the {n_kv_heads} groups were tiled over the {n_heads} query heads: "
        "0, 1, 0, 1 where 0, 0, 1, 1 is meant.",
        "Repeat each group's head for its {group} query heads, neighbours together: head h uses "
        "group h // {group}.",
        tuple(
            Edit(line, _TILED, _ALL)
            for line in ("scores", "context", "d_attn_kept", "d_attn", "d_q", "d_q_rot")
        ),
    ),
    Mistake(
        "HEAD-6",
        "Keys and values were repeated along the axis of tokens, not of heads.",
        "Repeat along the axis of heads.",
        tuple(
            Edit(*_across(line, name), _ALL)
            for line, name in (("scores", "k"), ("scores", "k_rot"), ("context", "v"))
        ),
    ),
    Mistake(
        "HEAD-7",
        "Heads were split with the head as the fastest index: (t, c, h) where (t, h, c) is meant.",
        "Columns of one head lie next to each other: split as (t, h, c).",
        (each(_ALL, *((side[0], _fastest(*side[:4])) for side in _SIDES)),),
    ),
)

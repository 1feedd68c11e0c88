"""Mistakes in rotary positions: section 2c of the catalogue."""

from handformer.checking.mistakes.lines import rounded
from handformer.checking.mistakes.mistake import Edit, Mistake

_HEADS = ("MultiHeadAttention",)
_SIDES = (("q", "b,h,t", "b,t", "h"), ("k", "b,g,s", "b,s", "g"))
_BACK = (("d_q_rot", "b,h,t", "b,t", "h"), ("d_k_rot", "b,g,s", "b,s", "g"))
# A channel's partner, the sign of its part, and the pair it belongs to: two halves, or neighbours.
_HALVES = ("(c + d_k // 2) % d_k", "c < d_k // 2", "c % (d_k // 2)")
_TURNS = ("c + 1 - 2 * (c % 2)", "c % 2 == 0", "c // 2")


def _turned(
    x: str, of: str, at: str, pairing: tuple[str, str, str], pair: str, minus: int = -1
) -> str:
    """x, turned: its channels paired in one way, and the angles of `pair`."""
    partner, first, _ = pairing
    sign = f"where({first}, {minus}, {-minus})"
    return f"{x}[{of},c] * cos[{at},{pair}] + {sign} * {x}[{of},{partner}] * sin[{at},{pair}]"


def _both(pairing: tuple[str, str, str], pair: str, says: str = "") -> tuple[Edit, ...]:
    """q and k turned like this, and their gradients back."""
    forward = [
        Edit(f"{x}_rot", f"{x}_rot[{of},c] = {_turned(x, of, at, pairing, pair)}", _HEADS, says)
        for x, of, at, _ in _SIDES
    ]
    back = [
        Edit(
            x.removesuffix("_rot"),
            f"{x.removesuffix('_rot')}[{of},c] = {_turned(x, of, at, pairing, pair, 1)}",
            _HEADS, says,
        )
        for x, of, at, _ in _BACK
    ]  # fmt: skip
    return (*forward, *back)


def _written(change: str, says: str) -> tuple[Edit, ...]:
    """q and k read as pairs in one way and written in another."""
    return tuple(
        Edit(f"{x}_rot", f"{x}_rot[{of},c] = " + change.replace("X", f"{x}[{of}").replace("A", at),
             _HEADS, says)
        for x, of, at, _ in _SIDES
    )  # fmt: skip


def _tables(change: str, says: str = "") -> tuple[Edit, ...]:
    """The same edit of cos and sin."""
    return tuple(Edit(line, change, _HEADS, says) for line in ("cos", "sin"))


def _angles(text: str, says: str) -> tuple[Edit, ...]:
    """Other angles in cos and sin."""
    return tuple(Edit(f, f"{f}[b,t,p] = {f}({text})", _HEADS, says) for f in ("cos", "sin"))


def _by_head(pairing: tuple[str, str, str]) -> tuple[Edit, ...]:
    """q and k turned by the head's number."""
    edits = []
    for x, of, _, head in _SIDES:
        partner, first, pair = pairing
        angle = f"{head} / base ** (2 * ({pair}) / d_k)"
        sign = f"where({first}, -1, 1)"
        text = f"{x}[{of},c] * cos({angle}) + {sign} * {x}[{of},{partner}] * sin({angle})"
        edits.append(Edit(f"{x}_rot", f"{x}_rot[{of},c] = {text}", _HEADS))
    return tuple(edits)


def _signs(lines: tuple[str, str], before: str, after: str) -> tuple[tuple[Edit, ...], ...]:
    """Another sign at the partner's part, however channels are paired."""
    return tuple(
        tuple(
            Edit(line, f"where({first}, {before}) -> where({first}, {after})", _HEADS)
            for line in lines
        )
        for _, first, _ in (_HALVES, _TURNS)
    )


def _of_values(pairing: tuple[str, str, str]) -> tuple[Edit, ...]:
    """v turned: written so, or only where it is used."""
    used = "v[b,h // group,s,c]"
    text = _turned("v", "b,h // group,s", "b,s", pairing, pairing[2])
    return (
        Edit("v", f"v[b,g,s,c] = {_turned('v', 'b,g,s', 'b,s', pairing, pairing[2])}", _HEADS),
        Edit("context", f"{used} -> ({text})", _HEADS),
    )


_EXPONENT, _ANGLE = "2 * p / d_k", "positions[b,t] / base ** (2 * p / d_k)"
_PAIRS_IN_HALVES = (
    "where(c < d_k // 2, X,2 * (c % (d_k // 2))] * cos[A,c % (d_k // 2)] - "
    "X,2 * (c % (d_k // 2)) + 1] * sin[A,c % (d_k // 2)], "
    "X,2 * (c % (d_k // 2))] * sin[A,c % (d_k // 2)] + "
    "X,2 * (c % (d_k // 2)) + 1] * cos[A,c % (d_k // 2)])"
)
_HALVES_BY_TURNS = (
    "where(c % 2 == 0, X,c // 2] * cos[A,c // 2] - X,c // 2 + d_k // 2] * sin[A,c // 2], "
    "X,c // 2] * sin[A,c // 2] + X,c // 2 + d_k // 2] * cos[A,c // 2])"
)

ROTARY = (
    Mistake(
        "ROPE-1",
        "Channels were paired the other way: {}.",
        "Pair channels as the weights expect: i with i + d_k / 2 (halves), or 2i with 2i + 1.",
        (
            _both(_TURNS, _TURNS[2], "neighbours, 2i with 2i + 1"),
            _both(_HALVES, _HALVES[2], "the two halves of a head, i with i + d_k / 2"),
        ),
    ),
    Mistake(
        "ROPE-2",
        "Channels are paired in one way and get the angles of the other: this is no rotation, it "
        "changes lengths.",
        "Pairs of halves need each angle at i and at i + d_k / 2; pairs of neighbours at 2i and "
        "2i + 1.",
        (_both(_HALVES, _TURNS[2]), _both(_TURNS, _HALVES[2])),
    ),
    Mistake(
        "ROPE-3",
        "Pairs are read in one way and written in another: {}.",
        "Write both channels of a pair back where they were read.",
        (
            _written(_PAIRS_IN_HALVES, "neighbours are read, halves are written"),
            _written(_HALVES_BY_TURNS, "halves are read, neighbours are written"),
        ),
    ),
    Mistake(
        "ROPE-4",
        "The angle grows with the head's number, not with the token's position.",
        "Let positions run along the axis of tokens: mind whether it is (b, t, h, c) or "
        "(b, h, t, c).",
        (_by_head(_HALVES), _by_head(_TURNS)),
    ),
    Mistake(
        "ROPE-5",
        "The exponent of the frequencies is wrong: {}.",
        "Pair p turns by position / base ** (2 * p / d_k), with {d_k}.",
        (
            _tables(
                f"{_EXPONENT} -> 2 * p / d_model",
                "it is divided by {d_model}, not by the width of a head",
            ),
            _tables(f"{_EXPONENT} -> 2 * p / (d_k / 2)", "it is divided by half the width"),
            _tables(f"{_EXPONENT} -> p / d_k", "the 2 before the pair's number is missing"),
        ),
    ),
    Mistake(
        "ROPE-6",
        "The base of the frequencies is {}.",
        "Read the base from the config: here it is {base}.",
        tuple(_tables(f"base -> {base}", base) for base in ("10000", "500000", "1000000")),
    ),
    Mistake(
        "ROPE-7",
        "It turns in the other direction.",
        "The first channel of a pair gets x1 * cos - x2 * sin, the second x2 * cos + x1 * sin.",
        (
            *_signs(("q_rot", "k_rot"), "-1, 1", "1, -1"),
            Edit("sin", "sin[b,t,p] = -sin[b,t,p]", _HEADS),
        ),
    ),
    Mistake(
        "ROPE-8",
        "{} were rounded: far positions turn by a wrong angle.",
        "Work out positions and angles in float32, and round cosines and sines at the end.",
        tuple(
            _angles(text, f"{what} in {name}")
            for bits, name in ((7, "bfloat16"), (10, "float16"))
            for what, text in (
                ("Angles", rounded(_ANGLE, bits)),
                ("Positions", f"({rounded('positions[b,t]', bits)}) / base ** (2 * p / d_k)"),
            )
        ),
    ),
    Mistake(
        "ROPE-9",
        "The values were turned too.",
        "Turn q and k only.",
        (*_of_values(_HALVES), *_of_values(_TURNS)),
    ),
    Mistake(
        "ROPE-10",
        "The {} were turned, and then the ones that weren't turned were used.",
        "Use what the rotation returns.",
        (
            Edit("scores", "k_rot[b,h // group,s,c] -> k[b,h // group,s,c]", _HEADS, "keys"),
            Edit("scores", "q_rot[b,h,t,c] -> q[b,h,t,c]", _HEADS, "queries"),
        ),
    ),
)

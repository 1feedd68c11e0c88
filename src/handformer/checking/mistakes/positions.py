"""Mistakes in saying where a token stands: sections 2a, 2b and 2d of the catalogue."""

from handformer.checking.mistakes.mistake import Edit, Mistake, Shows

_WAVES, _TABLE, _HEADS = ("SinusoidalPositions",), ("Embedding",), ("MultiHeadAttention",)
_EXPONENT = "2 * (i // 2)"
_SINES = "(d_model + 1) // 2"  # how many channels are sines
_ROWS = ("0", "n_batch - 1")  # whose padding is taken for everybody's


def _angle(change: str, says: str = "") -> Edit:
    return Edit("angle", change, _WAVES, says)


def _waves_of(place: str, axes: str = "b,t,i") -> Edit:
    """Sines and cosines of another place than the token's."""
    angle = f"{place} / base ** ({_EXPONENT} / d_model)"
    return Edit("out", f"out[{axes}] = where(i % 2 == 0, sin({angle}), cos({angle}))", _WAVES)


def _alibi(line: str, change: str) -> Edit:
    return Edit(line, change, _HEADS)


_BEFORE = "sum(s, where(s < t and valid[b,s], 1, 0))"  # the real tokens before a place

POSITIONS = (
    Mistake(
        "POS-1",
        "The exponent uses the channel's number where the pair's is meant: it grows twice as fast.",
        "Use 2 * (i // 2) / d_model for channel i, or step over channels by 2 and don't double.",
        (_angle(f"{_EXPONENT} -> 2 * i"),),
    ),
    Mistake(
        "POS-2",
        "The cosine of a pair has another frequency than its sine: {}.",
        "Both channels of a pair share the exponent 2 * (i // 2) / d_model.",
        (
            _angle(f"{_EXPONENT} -> {_EXPONENT} + i % 2", "its exponent is (2i + 1) / d_model"),
            _angle(
                f"{_EXPONENT} -> {_EXPONENT} + 2 * (i % 2)", "its exponent is (2i + 2) / d_model"
            ),
        ),
    ),
    Mistake(
        "POS-3",
        "The base of the wavelengths is wrong: {}.",
        "Take {base} as the base.",
        (
            _angle("base -> 1000", "1000"),
            _angle("base -> 100", "100"),
            _angle("base -> 100000", "100000"),
            _angle("base -> 10000", "10000"),
            _angle(
                f"angle[b,t,i] := positions[b,t] * ({_EXPONENT} / d_model) ** (1 / base)",
                "base and exponent are exchanged",
            ),
        ),
    ),
    Mistake(
        "POS-4",
        "The position is multiplied by the power of the base: later channels turn faster.",
        "Divide the position by base ** (2 * (i // 2) / d_model).",
        (_angle(f"angle[b,t,i] := positions[b,t] * base ** ({_EXPONENT} / d_model)"),),
    ),
    Mistake(
        "POS-5",
        "All sines come first, and all cosines after them.",
        "Sine and cosine take turns: sine on even channels, cosine on odd ones.",
        (
            Edit(
                "out",
                f"out[b,t,i] = where(i < {_SINES}, "
                f"out[b,t,2 * i], out[b,t,2 * (i - {_SINES}) + 1])",
                _WAVES,
            ),
        ),
    ),
    Mistake(
        "POS-6",
        "The position was counted along the batch: all tokens of a row got the row's number.",
        "Count positions along the tokens: slice the table to `[:T]`, not by the batch.",
        (_waves_of("e", "e,t,i"), Edit("out", "out[e,t,i] = scale * table[e + 0,i]", _TABLE)),
    ),
    Mistake(
        "POS-7",
        "Every token got the position {n_queries}: the table was read at the number of tokens, "
        "not up to it.",
        "Slice the table to `[:T]`; the colon is missing.",
        (
            _waves_of("n_queries"),
            Edit("out", "out[b,t,i] = scale * table[n_queries,i]", _TABLE),
        ),
    ),
    Mistake(
        "POS-8",
        "Sine and cosine are exchanged.",
        "Sine on even channels, cosine on odd ones.",
        (Edit("out", "i % 2 == 0 -> i % 2 == 1", _WAVES),),
    ),
    Mistake(
        "POS-9",
        "The position was left out.",
        "Add the position's encoding to the token's embedding: a sum, not a concatenation.",
        tuple(
            Edit(line, change)
            for line, change in (
                ("x", "x[b,t,i] = embedding.out[b,t,i]"),
                ("x", "x[b,t,i] = target_embedding.out[b,t,i]"),
                ("source_x", "source_x[b,s,i] = source_embedding.out[b,s,i]"),
                ("norm.x", "norm.x[b,t,i] = embedding.out[b,t,i] + type_embedding.out[b,t,i]"),
            )
        ),
    ),
    Mistake(
        "POS-10",
        "Positions don't take padding into account: {}.",
        "Count the real tokens before each one in its own row: cumsum(valid) - 1.",
        (
            Edit(
                "positions",
                f"where(valid[b,t], {_BEFORE}, 0) -> t",
                says="every row counts from its first place",
            ),
            Edit("positions", f"{_BEFORE} -> t", says="every row counts from its first place"),
            Edit(
                "source_positions.positions",
                "source_positions.positions[b,s] = s + 0",
                says="every row counts from its first place",
            ),
            *(
                Edit(
                    "positions",
                    f"positions[b,t] = where(valid[{row},t], "
                    f"sum(s, where(s < t and valid[{row},s], 1, 0)), 0)",
                    says="all rows have those of one of them",
                )
                for row in _ROWS
            ),
            *(
                Edit(
                    "source_positions.positions",
                    f"source_positions.positions[b,s] = where(source_valid[{row},s], "
                    f"sum(r, where(r < s and source_valid[{row},r], 1, 0)), 0)",
                    says="all rows have those of one of them",
                )
                for row in _ROWS
            ),
        ),
    ),
    Mistake(
        "POS-11",
        "The table of positions was read two rows farther on: in some families its first rows "
        "stand for padding, here they don't.",
        "Read row `position`; add an offset only where the model's table has one.",
        (Edit("out", "tokens[b,t] -> tokens[b,t] + 2", _TABLE),),
    ),
    Mistake(
        "POS-12",
        "Positions go beyond the table.",
        "Keep the last tokens only, as many as the table has rows.",
        shows=Shows.NOWHERE,
        why="no case is longer than its table: an index beyond it stops the program, or wraps",
    ),
    Mistake(
        "POS-13",
        "A new token stands at position 0.",
        "It stands where the text before it ends.",
        shows=Shows.NOWHERE,
        why="it is KV-1, under which cached generation is checked",
    ),
    Mistake(
        "ALIBI-1",
        "The slopes are one geometric series, though {n_heads} isn't a power of two.",
        "Take the series of the next lower power of two, then every second slope of the series of "
        "twice as many.",
        (_alibi("slope", "slope[h] = 2 ** (-8 * (h + 1) / n_heads)"),),
    ),
    Mistake(
        "ALIBI-2",
        "The slopes begin at 1: heads are counted from 0 in the exponent.",
        "The first head's slope is 2 ** (-8 / n): count heads from 1.",
        (
            _alibi("slope", "h + 1 -> h"),
            _alibi("slope", "slope[h] = 2 ** (-8 * h / n_heads)"),
        ),
    ),
    Mistake(
        "ALIBI-3",
        "The bias rewards distance: its sign is wrong.",
        "Subtract slope * distance from the score.",
        (_alibi("bias", "bias[h,t,s] = -bias[h,t,s]"),),
    ),
)

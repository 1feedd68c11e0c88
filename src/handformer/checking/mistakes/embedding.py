"""Mistakes in looking up tokens: section 1 of the catalogue."""

from handformer.checking.mistakes.lines import rounded
from handformer.checking.mistakes.mistake import Edit, Mistake

_TABLE = ("Embedding",)


def _looked_up(change: str, says: str = "") -> Edit:
    return Edit("out", change, _TABLE, says)


EMBEDDING = (
    Mistake(
        "EMB-1",
        "The factor {sqrt(d_model)} of the embedding was {}.",
        "Multiply what was looked up by it exactly as often as the model says: once or never.",
        (
            _looked_up("scale -> 1", "left out"),
            _looked_up("scale -> scale * scale", "applied twice"),
            _looked_up("scale -> sqrt(d_model)", "applied, and this model has none"),
        ),
    ),
    Mistake(
        "EMB-2",
        "What was looked up is divided by {sqrt(d_model)}.",
        "Multiply by it.",
        (_looked_up("scale -> 1 / scale"),),
    ),
    Mistake(
        "EMB-3",
        "The position's part was multiplied by {sqrt(d_model)} too.",
        "Scale the token's part first, then add the position's.",
        tuple(
            Edit(line, f"{part} -> {part} * sqrt(d_model)")
            for line, part in (
                ("x", "target_positions.out[b,t,i]"),
                ("source_x", "source_positions.out[b,s,i]"),
                ("x", "position_embedding.out[b,t,i]"),
            )
        ),
    ),
    Mistake(
        "EMB-4",
        "The factor {sqrt(d_model)} was rounded to {} before it was used.",
        "Keep the factor in float32, unless the weights were trained with a rounded one.",
        (
            _looked_up(f"scale -> ({rounded('scale', 7)})", "bfloat16"),
            _looked_up(f"scale -> ({rounded('scale', 10)})", "float16"),
        ),
    ),
    Mistake(
        "EMB-5",
        "The table was read at {}.",
        "Read row `id` of the table, and count rows from 0.",
        (
            _looked_up("tokens[b,t] -> tokens[b,t] + 1", "the next row"),
            *(
                _looked_up(f"tokens[b,t] -> (tokens[b,t] - 1) % {size}", "the row before")
                for size in ("vocab_size", "source_vocab_size")
            ),
            _looked_up(
                "table[tokens[b,t],i] -> table[i,tokens[b,t]]", "a column in the place of a row"
            ),
        ),
    ),
)

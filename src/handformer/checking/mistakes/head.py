"""Mistakes from the last norm to the logits: section 12 of the catalogue."""

from handformer.checking.mistakes.mistake import Edit, Mistake, Shows

_HEADS = ("Head", "TiedHead", "MaskedTokenHead")


def _logits(change: str, says: str = "") -> Edit:
    return Edit("out", f"out[b,t,n] = {change}", _HEADS, says)


HEAD = (
    Mistake(
        "FIN-1",
        "The last norm was left out.",
        "Normalise what the last block gives, then multiply by the table.",
        (Edit("out", "x[b,t,i] -> model.norm.x[b,t,i]", ("Head", "TiedHead")),),
    ),
    Mistake(
        "UNEMB-1",
        "The head has another matrix: it wasn't tied to the embedding, or not loaded.",
        "Use the embedding's table, or read the head's weights.",
    ),
    Mistake(
        "UNEMB-2",
        "The bias was added twice.",
        "Add it once.",
        (Edit("out", "bias[n] -> 2 * bias[n]", ("MaskedTokenHead",)),),
    ),
    Mistake(
        "UNEMB-3",
        "Tying kept the head's initial weights, not the embedding's.",
        "Let the head take the embedding's table.",
        shows=Shows.NOWHERE,
        why="a case gives the weights: how they were drawn isn't looked at",
    ),
    Mistake(
        "UNEMB-4",
        "The logits were held below {} by a tanh that this model doesn't have.",
        "Leave it out, or put it where the model has it.",
        tuple(_logits(f"{cap} * tanh(out[b,t,n] / {cap})", cap) for cap in ("30", "50", "15")),
    ),
    Mistake(
        "UNEMB-5",
        "{}.",
        "Logits are x @ table.T, and nothing else.",
        (
            _logits("out[b,t,n] / sqrt(d_model)", "The logits were divided by {sqrt(d_model)}"),
            _logits("out[b,t,n] * sqrt(d_model)", "The logits were multiplied by {sqrt(d_model)}"),
            Edit(
                "out",
                "table[n,i] -> table[i,n]",
                ("TiedHead", "MaskedTokenHead"),
                "The table wasn't transposed",
            ),
        ),
    ),
)

"""bert: an encoder with norms after its layers, and a head that guesses masked tokens."""

from tests.checking.theirs import blocks, embedding, head, loss, masks, norms, positions
from tests.checking.theirs.program import At, Stop


def forward(at: At) -> None:
    valid = at["valid"]
    mask = masks.padding(at, valid, valid.shape[1])
    places = positions.counted(at, valid)
    embedded = embedding.tokens(at.under("embedding"), at["tokens"])
    table = at.under("position_embedding")
    positions.learned(table, places)
    types = embedding.plain(at.under("type_embedding"), at["types"])
    x = positions.added(at, "norm.x", embedded, table)
    if x is None:
        raise Stop
    x = at.put("norm.x", x + types)
    x = norms.forward(at.under("norm"), x)
    x = blocks.dropout.forward(at.under("dropout"), x)
    for number in range(at.case.config["n_layers"]):
        x = blocks.post_norm(at.under(f"blocks.{number}", number), x, mask)
    logits = head.forward(at.under("head"), x)
    loss.forward(at.under("loss"), logits)


def backward(at: At) -> None:
    d_logits = loss.backward(at.under("loss"))
    d, d_table = head.backward(at.under("head"), d_logits)
    for number in reversed(range(at.case.config["n_layers"])):
        d = blocks.post_norm_back(at.under(f"blocks.{number}", number), d)
    d = norms.backward(at.under("norm"), blocks.dropout.back(at.under("dropout"), d))
    embedding.plain_back(at.under("type_embedding"), at["types"], d)
    embedding.positions_back(at.under("position_embedding"), at["positions"], d)
    embedding.tokens_back(at.under("embedding"), at["tokens"], d, d_table)

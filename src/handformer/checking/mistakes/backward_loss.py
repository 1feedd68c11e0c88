"""Mistakes between the loss and the logits, backward: section 14a of the catalogue."""

from handformer.checking.mistakes.mistake import Edit, Mistake, Shows

_COUNT = "where(count > 0, count, 1)"
_SOFTMAX = "probs[b,t,n] - goal[b,t,n]"


def _logits(change: str, says: str = "") -> Edit:
    return Edit("d_logits", change, ("CrossEntropy",), says)


BACKWARD_LOSS = (
    Mistake(
        "BL-1",
        "The gradient of the logits is divided by {}.",
        "Divide by {count}, the number of targets that count, as the loss is.",
        tuple(
            _logits(f"{_COUNT} -> {number}", says)
            for number, says in (
                ("1", "nothing"),
                ("n_batch", "the number of rows, {n_batch}"),
                ("n_queries", "the number of places in a row, {n_queries}"),
                ("(n_batch * n_queries)", "all places, {n_batch * n_queries}"),
                (
                    "(n_batch * n_queries * vocab_size)",
                    "the number of all logits, {n_batch * n_queries * vocab_size}",
                ),
                ("(count * vocab_size)", "the vocabulary too, {vocab_size}"),
            )
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BL-2",
        "The softmax was differentiated once more: probs - goal went through its derivative again.",
        "probs - goal is already the gradient of the logits.",
        (
            _logits(
                "d_logits[b,t,n] = probs[b,t,n] * "
                "(d_logits[b,t,n] - sum(m, d_logits[b,t,m] * probs[b,t,m]))"
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BL-3",
        "Ignored targets have a gradient.",
        "Their rows are 0.",
        (
            _logits(f"d_logits[b,t,n] = d_loss * ({_SOFTMAX}) / {_COUNT}"),
            _logits(
                "d_logits[b,t,n] = where(targets[b,t] == -100, "
                f"d_loss * (probs[b,t,n] - where(n == 0, 1, 0)) / {_COUNT}, d_logits[b,t,n])"
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BL-4",
        "The gradient of log-softmax {}.",
        "It is g - probs * sum(g): for a loss, probs - goal.",
        (
            _logits(f"{_SOFTMAX} -> -goal[b,t,n]", "lacks the probabilities"),
            _logits(
                f"{_SOFTMAX} -> -goal[b,t,n] - probs[b,t,n]",
                "has the probabilities with the wrong sign",
            ),
            _logits(f"{_SOFTMAX} -> goal[b,t,n] - probs[b,t,n]", "has the wrong sign"),
        ),
        Shows.GRADIENTS,
    ),
)

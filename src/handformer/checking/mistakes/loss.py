"""Mistakes in the loss and its targets: section 13 of the catalogue."""

from handformer.checking.mistakes.mistake import Edit, Mistake, Shows

_LOSS = ("CrossEntropy",)
_IGNORED, _TOP = "targets[b,t] == -100", "logits[b,t,n] - top[b,t]"
_COUNT = "sum(b, t, where({}, 0, 1))"


def _targets(new: str, count: str, says: str = "") -> tuple[Edit, ...]:
    """Other targets, in every line that mentions them, and where there is one the dump of them."""
    parts = tuple(
        Edit(line, f"targets[b,t] -> {new}", _LOSS, says) for line in ("losses", "goal", "d_logits")
    )
    return (*parts, Edit("count", f"count = {count}", _LOSS, says))


def _written(new: str) -> Edit:
    return Edit("targets", f"targets[b,t] = {new}", _LOSS)


_LATER = "where(t < n_queries - 1, targets[b,t + 1], -100)"
_LATER_COUNT = _COUNT.format("t == 0 or " + _IGNORED)
_OWN = "where(model.valid[b,t], model.tokens[b,t], -100)"
_OWN_COUNT = "sum(b, t, where(model.valid[b,t], 1, 0))"
_PADDED = "where(targets[b,t] == -100, 0, targets[b,t])"
_SCRAMBLED = "(t * vocab_size + {})"
_THERE = "logits[b,{0} % n_queries,{0} // n_queries]"
_SURPRISE = f"(log(total[b,t]) - ({_TOP}))"
_UNSEEN = "103.97208"  # a probability below exp(-this) is 0 in float32
_ONES = "where(targets[b,t] == n, 1 - smoothing, 0)"

LOSS = (
    Mistake(
        "LOSS-1",
        "Targets were shifted twice: each place has to foretell the token after the next.",
        "Shift once: either where the data is made or in the loss.",
        (_targets(_LATER, _LATER_COUNT), _written(_LATER)),
    ),
    Mistake(
        "LOSS-2",
        "Targets weren't shifted: each place has to foretell the token that it reads.",
        "The target of place t is token t + 1.",
        (_targets(_OWN, _OWN_COUNT), _written(_OWN)),
    ),
    Mistake(
        "LOSS-3",
        "The loss takes the softmax of probabilities: it was taken twice.",
        "Give the loss logits: it takes the softmax itself.",
        (
            Edit(
                "losses",
                f"log(total[b,t]) - ({_TOP}) -> log(sum(m, exp(probs[b,t,m]))) - probs[b,t,n]",
                _LOSS,
            ),
            Edit(
                "d_logits",
                "probs[b,t,n] - goal[b,t,n] -> "
                "exp(probs[b,t,n]) / sum(m, exp(probs[b,t,m])) - goal[b,t,n]",
                _LOSS,
            ),
        ),
    ),
    Mistake(
        "LOSS-4",
        "Padding counts as a target.",
        "Leave ignored targets out of the sum and of the count.",
        (_targets(_PADDED, "sum(b, t, where(targets[b,t] == -100, 1, 1))"), _written(_PADDED)),
    ),
    Mistake(
        "LOSS-5",
        "Ignored targets are left out of the sum, and counted in the divisor.",
        "Divide by the number of targets that count.",
        (
            Edit("count", "count = sum(b, t, where(targets[b,t] == -100, 1, 1))", _LOSS),
            Edit("loss", "loss = mean(b, t, losses[b,t])", _LOSS),
        ),
    ),
    Mistake(
        "LOSS-6",
        "The mean runs over the vocabulary too: it is divided by {vocab_size} more.",
        "Add up over the vocabulary, and average over targets.",
        (
            Edit("loss", "loss = loss / vocab_size", _LOSS),
            Edit("losses", "losses[b,t] = losses[b,t] / vocab_size", _LOSS),
        ),
    ),
    Mistake(
        "LOSS-7",
        "Logits of shape (b, n, t) were read as (b, t, n): they weren't transposed.",
        "Exchange the axes first, then merge rows and places.",
        (
            tuple(
                Edit(
                    line,
                    f"logits[b,t,{letter}] -> {_THERE.format(_SCRAMBLED.format(letter))}",
                    _LOSS,
                )
                for line, letter in (
                    ("top", "m"),
                    ("total", "m"),
                    ("probs", "n"),
                    ("losses", "n"),
                )
            ),
        ),
    ),
    Mistake(
        "LOSS-8",
        "The logarithm was taken of a probability that had become 0.",
        "Work with log(total) - (logit - top): exp and log don't meet.",
        (
            Edit(
                "losses",
                "losses[b,t] = where(targets[b,t] == -100, 0, sum(n, where(goal[b,t,n] > 0, "
                f"goal[b,t,n] * where({_SURPRISE} > {_UNSEEN}, inf, {_SURPRISE}), 0)))",
                _LOSS,
            ),
        ),
    ),
    Mistake(
        "LOSS-9",
        "Label smoothing spreads its mass wrongly: {}.",
        "Each of the {vocab_size} entries gets {smoothing / vocab_size}, the target more.",
        (
            Edit(
                "goal",
                "goal[b,t,n] := where(targets[b,t] == n, 1 - smoothing, "
                "smoothing / (vocab_size - 1))",
                _LOSS,
                "over the others, {vocab_size - 1}, without the target",
            ),
            Edit(
                "goal",
                "goal[b,t,n] := where(n == 0, 0, where(targets[b,t] == n, 1 - smoothing, "
                "smoothing / (vocab_size - 2)))",
                _LOSS,
                "over {vocab_size - 2}, without the target and entry 0",
            ),
            Edit(
                "goal",
                f"goal[b,t,n] := where(n == 0, 0, {_ONES} + smoothing / vocab_size)",
                _LOSS,
                "entry 0 gets none",
            ),
            Edit(
                "goal", f"goal[b,t,n] := {_ONES} + smoothing", _LOSS, "each entry gets {smoothing}"
            ),
            Edit("goal", "goal[b,t,n] := where(targets[b,t] == n, 1, 0)", _LOSS, "there is none"),
        ),
    ),
    Mistake(
        "LOSS-10",
        "Only the first row of the batch is in the loss.",
        "Take all rows.",
        (
            (
                Edit("count", "count = sum(t, where(targets[0,t] == -100, 0, 1))", _LOSS),
                Edit("loss", "sum(b, t, losses[b,t]) -> sum(t, losses[0,t])", _LOSS),
            ),
        ),
    ),
    Mistake(
        "LOSS-11",
        "Windows of the text leave out a token, or the last target lies beyond the end.",
        "A window of T tokens has T targets, one place farther on; the next one begins T later.",
        shows=Shows.NOWHERE,
        why="a case gives tokens and targets: how texts were cut isn't looked at",
    ),
)

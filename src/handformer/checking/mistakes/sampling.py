"""Mistakes from logits to a token: section 20 of the catalogue."""

from handformer.checking.mistakes.mistake import Edit, Mistake, Shows

_SAMPLING = ("Sampling",)
_WARM = "(logits[b,n] - top[b])"
_WARM_LEFT = "where(kept[b,n], temperature[b,n], -inf)"
_FIRST_ONE = "logits[b,m] > logits[b,n]"  # what stands before an entry, without the equals


def _sample(line: str, change: str, says: str = "") -> Edit:
    return Edit(line, change, _SAMPLING, says)


SAMPLING = (
    Mistake(
        "SAMP-1",
        "Top-p leaves out the entry that crosses the mass: only sums up to p were kept.",
        "Keep an entry while what stands before it is below p.",
        (_sample("kept", "before[b,n] < mass -> before[b,n] + probs[b,n] <= mass"),),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-2",
        "Top-p keeps one entry more where the sum is p exactly.",
        "Stop as soon as the sum is at least p: what stands before an entry has to be below it.",
        (_sample("kept", "before[b,n] < mass -> before[b,n] <= mass"),),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-3",
        "At p = 1 top-p keeps the first entry only: no sum exceeds 1, and the search finds none.",
        "At p = 1 keep all.",
        (
            _sample(
                "kept",
                "before[b,n] < mass or mass >= 1 -> before[b,n] < mass and mass < 1 "
                "or rank[b,n] < 1",
            ),
        ),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-4",
        "Top-k keeps k + 1 entries.",
        "Keep those of which fewer than k stand before.",
        (_sample("*", "rank[b,n] < k -> rank[b,n] <= k"),),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-5",
        "The k-th value was read from the wrong end of the sorted list: {}.",
        "Take the k-th largest.",
        (
            _sample("*", "rank[b,n] < k -> rank[b,n] < 1", "only the largest is left"),
            _sample(
                "*",
                "rank[b,n] < k -> rank[b,n] < vocab_size - k + 1",
                "the k-th smallest was taken",
            ),
        ),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-6",
        "What was taken away got a logit near 0 (1e-10) in place of a very low one (-1e10).",
        "Put -inf in its place.",
        (
            _sample("left", "-inf -> 1e-10"),
            _sample("cut", "-inf -> 1e-10"),
            _sample("left", f"{_WARM_LEFT} -> where(kept[b,n], logits[b,n] / value, 1e-10)"),
        ),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-7",
        "All equals of the k-th value were kept, more than k entries.",
        "Keep exactly k, of equals the lower ids; or state the other rule.",
        (_sample("kept", f"rank[b,n] < k -> sum(m, where({_FIRST_ONE}, 1, 0)) < k"),),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-8",
        "At temperature 0 logits are divided by 0.",
        "At temperature 0 take the largest logit.",
        (_sample("left", "left[b,n] := logits[b,n] / value"),),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-9",
        "The temperature was {}.",
        "Divide the logits by it, once.",
        (
            _sample("temperature", f"{_WARM} / value -> {_WARM} / value / value", "applied twice"),
            _sample("temperature", f"{_WARM} / value -> {_WARM} * value", "multiplied with"),
        ),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-10",
        "{}.",
        "Divide the logits by the temperature first, then take the softmax, then top-p.",
        (
            _sample(
                "probs",
                "probs[b,n] = exp(logits[b,n] - top[b]) / total[b]",
                "Top-p judged the probabilities without the temperature",
            ),
            _sample(
                "before",
                "probs[b,m] -> exp(logits[b,m] - top[b]) / total[b]",
                "Top-p judged the probabilities without the temperature",
            ),
            _sample(
                "left",
                "temperature[b,n] -> logits[b,n]",
                "Probabilities, not logits, were divided by the temperature: summed to one again "
                "they are the same",
            ),
        ),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-11",
        "Top-p judged what top-k left by probabilities that no longer sum to one.",
        "Normalise again after top-k, or say that the whole distribution is meant.",
        (
            _sample(
                "probs",
                "probs[b,n] = where(rank[b,n] < k, exp(logits[b,n] - top[b]) / total[b], 0)",
            ),
            _sample("before", "probs[b,m] -> exp(logits[b,m] - top[b]) / total[b]"),
        ),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-12",
        "The repetition penalty divides negative logits too, which makes repeats more likely.",
        "Multiply a negative logit by the penalty.",
        (_sample("penalised", "logits[b,n] * penalty -> logits[b,n] / penalty"),),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-13",
        "The logits are those of the last place, which is padding where a row is shorter.",
        "Read the last real token of each row, or pad on the left.",
        (_sample("logits", "last[b] -> n_queries - 1"),),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-14",
        "Entries that only pad the vocabulary can be drawn.",
        "Cut the logits to the entries that there are.",
        (
            _sample("left", "n < n_entries -> n < vocab_size"),
            _sample("left", "n < n_entries -> n <= n_entries"),
        ),
        Shows.SAMPLING,
    ),
    Mistake(
        "SAMP-15",
        "Tokens are drawn from logits as if they were probabilities.",
        "Take the softmax first.",
        (
            _sample("probs", "probs[b,n] = logits[b,n] / sum(m, logits[b,m])"),
            _sample("probs", "probs[b,n] = logits[b,n]"),
        ),
        Shows.SAMPLING,
    ),
)

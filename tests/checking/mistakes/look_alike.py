"""Mistakes that one value doesn't tell apart, and what does."""

LOOK_ALIKE: dict[frozenset[str], str] = {
    frozenset(ids.split()): what
    for ids, what in {
        "QKV-1 QKV-2": "whether q and k are wrong too",
        "QKV-7 RES-4": "whether q is wrong too",
        "NORM-12 RES-4": "whether the norm's output is in the dump",
        "NORM-12 FIN-1": "whether the last norm's output is in the dump",
        "NORM-10 RES-4": "the norm's own values",
        "QKV-6 LOAD-1 LOAD-2 DUMP-3": "matrices that aren't square; a dump of the weights",
        "OUT-2 LOAD-1 LOAD-2": "matrices that aren't square; a dump of the weights",
        "BW-1 DUMP-3": "matrices that aren't square",
        "MASK-1 MASK-15": "rows with padding",
        "MASK-2 MASK-9 MASK-10": "the mask itself",
        "MASK-4 MASK-9 MASK-10": "the mask itself",
        "MASK-9 MASK-10 MASK-11 DUMP-8": "the scores, if they hold what hides them",
        "MASK-8 MASK-9 MASK-10 MASK-11": "the mask itself",
        "MASK-1 MASK-8 MASK-15": "rows with padding",
        "MASK-15 MASK-12 KV-8": "a cache",
        "MASK-3 MASK-4": "rows with padding, and the diagonal",
        "FFN-3 FFN-8": "the same advice for both",
        "FFN-3 FFN-7 FFN-8": "a dump of what stands between",
        "LOSS-2 LOSS-4 LOSS-5": "the losses of the places",
        "LOSS-4 BL-3": "the losses of the places",
        "BL-1 DUMP-6": "the loss",
        "BL-1 BL-3 DUMP-6 LOSS-4": "the loss",
        "BN-1 BN-4": "a norm that has a mean",
        "BN-9 BW-4": "the same advice for both",
        "BN-10 BW-6": "the same advice for both",
        "BW-3 BW-4 BW-6": "a gradient whose channels don't sum to 0",
        "BE-1 BE-4": "a row in which a token comes again",
        "BA-9 SCALE-1": "heads of another width",
        "BA-9 HEAD-5": "the scores",
        "SCALE-2 BA-4": "the scores",
        "SCALE-4 BA-4": "the scores",
        "DROP-1 BA-5": "the way forward",
        "DROP-2 DROP-3": "the weights of attention",
        "BA-1 BA-2 BA-3 DUMP-4": "what follows in the dump",
        "CTX-2 RES-3": "the other branch",
        "BR-1 BR-2": "which of both is missing",
        "BF-2 BF-3": "another activation",
        "EMB-1 EMB-2 UNEMB-5": "the other side",
        "NORM-8 NORM-4": "another width",
        "RES-6 INIT-1": "the weights of the first block",
        "QKV-5 SAME-KEY-BIAS": "the queries",
    }.items()
}


def allowed(wanted: str, found: set[str]) -> bool:
    """Whether a set of names may be given for a mistake: itself, and what looks like it."""
    if wanted not in found:
        return False
    return all(
        other == wanted or any({wanted, other} <= alike for alike in LOOK_ALIKE) for other in found
    )

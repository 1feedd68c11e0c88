"""Their names as our paths, where no case tells what there is: by the last part, and by aliases.

The part before the last one is theirs: what stands under one belongs together.
"""

import re
from collections.abc import Container, Iterable

from handformer import aliases

# What is asked about, by our names.
KNOWN = frozenset({
    "x", "q", "k", "v", "q_rot", "k_rot", "scores", "attn", "attn_kept", "keep", "mask", "context",
    "out", "mid", "mean", "rstd", "rrms", "x_hat", "gamma", "beta", "pre", "post", "gate", "up",
    "act", "w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o", "w_up", "w_down", "w_gate",
    "b_up", "b_down", "w", "logits", "probs", "losses", "loss", "count", "targets", "tokens",
    "bias", "slope", "cos", "sin", "table", "log_total", "memory", "valid", "positions",
})  # fmt: skip
_OTHERS = {
    "attn_weights": "attn", "attention_weights": "attn", "attn_probs": "attn", "att": "attn",
    "attention_probs": "attn", "pattern": "attn", "attention_pattern": "attn",
    "attn_scores": "scores", "attention_scores": "scores", "preatt": "scores",
    "normalized": "x_hat", "xhat": "x_hat", "normed": "x_hat", "rot_q": "q_rot", "rot_k": "k_rot",
    "probabilities": "probs", "resid_mid": "mid", "resid_post": "out", "resid_pre": "x",
}  # fmt: skip
_HEADS_LAST = re.compile(r".*hook_(?:q|k|v|z|rot_q|rot_k)(?:_grad)?")
_NUMBERED = re.compile(r"(.+?)_?(\d+)")


class Likely(Container[str]):
    """The paths that a dump with these names may have: all, but for what its names rule out."""

    def __init__(self, names: Iterable[str]) -> None:
        """A norm after the sum, and a gate, show in other names of the same block."""
        every = [*names]
        self._post_norm = any("hook_normalized_resid_post" in name for name in every)
        self._gated = any("hook_pre_linear" in name for name in every)

    def __contains__(self, path: object) -> bool:
        """Whether the path may be there."""
        last = str(path).rpartition(".")[2].removeprefix("d_")
        return not (self._post_norm and last == "mid") and not (self._gated and last == "pre")


def find(name: str, likely: Container[str]) -> str:
    """Our path; their own name where nothing is known of it."""
    plain = name.replace("/", ".").strip(".")
    before, dot, last = plain.rpartition(".")
    ours = _last(last)
    if ours is not None and not last.startswith("hook_"):
        return f"{before}{dot}{ours}"
    if last == "grad":
        inner = find(before, likely)
        place, dot, value = inner.rpartition(".")
        return f"{place}{dot}d_{value}"
    found = aliases.find(plain, likely)
    if found is not None:
        return found
    numbered = _NUMBERED.fullmatch(last)
    if numbered is not None and (inside := _last(numbered[1])) is not None:
        return f"{before}{dot}{numbered[2]}.{inside}"
    return plain


def known(path: str) -> bool:
    """Whether a path ends with a name that is asked about, or with that of its gradient."""
    return path.rpartition(".")[2].removeprefix("d_") in KNOWN


def heads_come_last(name: str) -> bool:
    """Whether the head axis stands behind the positions, as TransformerLens has it."""
    return _HEADS_LAST.fullmatch(name) is not None


def _last(name: str) -> str | None:
    """The last part of a path in our words; None: it is none of those that are asked about."""
    gradient = ""
    for start, end in (("d_", ""), ("grad_", ""), ("", "_grad"), ("d", "")):
        inner = name.removeprefix(start).removesuffix(end)
        shorter = name.startswith(start) and name.endswith(end) and inner != name
        if shorter and name not in KNOWN and (inner in KNOWN or inner in _OTHERS):
            gradient, name = "d_", inner
            break
    if name not in KNOWN and name not in _OTHERS:
        # A gradient of something that only we have, as d_x_hat's mate d_attn_kept.
        return name if re.fullmatch(r"d_[a-z_]+", name) else None
    return gradient + _OTHERS.get(name, name)

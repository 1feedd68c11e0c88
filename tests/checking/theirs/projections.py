"""x to q, k and v: three matrices, or one that holds them all, and the split into heads."""

from typing import Any

import numpy as np

from tests.checking.theirs.program import At

ORDERS = ("kqv", "kvq", "qvk", "vkq", "vqk")


def run(at: At, x: Any, source: Any, unnormed: Any) -> tuple[Any, Any, Any]:
    """q (b, h, t, c) from x (b, t, i), and k and v (b, g, s, c) from the source.

    unnormed is the block's own input, before its norm.
    """
    w, b = _weights(at)
    if unnormed is not None and at.wrong("QKV-7"):
        source = unnormed
    heads, groups = at.case.heads, at.case.groups
    if at.wrong("QKV-4"):
        return tuple(
            at.put(name, _one_for_all(at, of, w[name], b[name], count))
            for name, of, count in (("q", x, heads), ("k", source, groups), ("v", source, groups))
        )  # type: ignore[return-value]
    flat = {name: _times(at, of, w[name], b[name]) for name, of in _each(x, source)}
    if not at["across"] and at.wrong("QKV:one product"):
        fused = at.product(x, np.concatenate([w[name] for name in "qkv"], axis=-1))
        cuts = np.cumsum([w[name].shape[1] for name in "qk"])
        parts = dict(zip("qkv", np.split(fused, cuts, axis=-1), strict=True))
        flat = {n: y if b[n] is None else y + b[n] for n, y in parts.items()}
    _other_source(at, x, flat, w, b)
    if at.wrong("QKV-8"):
        flat = {name: np.maximum(part, 0) for name, part in flat.items()}
    q = split(at, flat["q"], heads)
    if at.wrong("SCALE-4:twice, q written scaled", "SCALED:in q, and so written"):
        at.note("q", q)
        q = q / at.case.width**0.5
    return at.put("q", q), at.put("k", split(at, flat["k"], groups)), _values(at, flat, groups)


def _each(x: Any, source: Any) -> tuple[tuple[str, Any], ...]:
    return ("q", x), ("k", source), ("v", source)


def _values(at: At, flat: dict[str, Any], groups: int) -> Any:
    return at.put("v", split(at, flat["v"], groups))


def _times(at: At, x: Any, w: Any, b: Any) -> Any:
    y = at.product(x, w)
    return y if b is None else y + b


def _other_source(at: At, x: Any, flat: dict[str, Any], w: Any, b: Any) -> None:
    """k or v made of something else."""
    if at.wrong("QKV-1:v of k"):
        flat["v"] = _times(at, flat["k"], w["v"], b["v"])
    if at.wrong("QKV-1:v is k"):
        flat["v"] = flat["k"]
    if at.wrong("QKV-1:v by the matrix of k"):
        flat["v"] = flat["v"] * 0 + _times(at, _source(at, x), w["k"], b["k"])
    if at["across"] and at.wrong("QKV-1:k and v of the queries' input"):
        flat["k"], flat["v"] = (_times(at, x, w[name], b[name]) for name in "kv")


def _source(at: At, x: Any) -> Any:
    return at["memory"] if at["across"] else x


def _weights(at: At) -> tuple[dict[str, Any], dict[str, Any]]:
    """The matrices and biases as they are read."""
    w = {name: at[f"w_{name}"] for name in "qkv"}
    b = {name: at[f"b_{name}"] if at.has(f"b_{name}") else None for name in "qkv"}
    if b["q"] is not None and at.wrong("QKV-5:q, k, v"):
        b = dict.fromkeys("qkv")
    if b["q"] is not None and at.wrong("KEYS:without bias"):
        b["k"] = None
    if at.wrong("QKV-6"):
        w = {name: part.T if part.shape[0] == part.shape[1] else part for name, part in w.items()}
    if form := at.form("QKV-2", ORDERS):
        w, b = ({name: part[of] for name, of in zip("qkv", form, strict=True)} for part in (w, b))
    if at.wrong("QKV-3:thirds read by heads"):
        return _regrouped(at, w, b, read=True)
    if at.wrong("QKV-3:heads read as thirds"):
        return _regrouped(at, w, b, read=False)
    return w, b


def _regrouped(at: At, w: Any, b: Any, *, read: bool) -> Any:
    """One matrix [q k v] in thirds, and one with q, k, v of each group side by side, mixed up."""
    groups, width, count = at.case.groups, at.case.width, at.case.heads // at.case.groups
    sizes = {"q": count * width, "k": width, "v": width}

    def mixed(parts: dict[str, Any]) -> dict[str, Any]:
        lengths = [parts[name].shape[-1] for name in "qkv"]
        cuts = [sizes["q"], sizes["q"] + width]
        if read:
            fused = np.concatenate([parts[name] for name in "qkv"], axis=-1)
            by_group = np.split(fused, groups, axis=-1)
            found = [np.split(part, cuts, axis=-1) for part in by_group]
            return {n: np.concatenate([f[i] for f in found], -1) for i, n in enumerate("qkv")}
        pieces = [
            parts[name][..., g * sizes[name] : (g + 1) * sizes[name]]
            for g in range(groups)
            for name in "qkv"
        ]
        fused = np.concatenate(pieces, axis=-1)
        found = np.split(fused, np.cumsum(lengths)[:2], axis=-1)
        return dict(zip("qkv", found, strict=True))

    return mixed(w), b if b["q"] is None else mixed(b)


def _one_for_all(at: At, x: Any, w: Any, b: Any, heads: int) -> Any:
    """x is split first, and one small matrix serves every head."""
    width = at.case.width
    parts = x[..., : heads * width].reshape(*x.shape[:2], heads, width).swapaxes(1, 2)
    y = parts @ w[:width, :width]
    return y if b is None else y + b[:width]


def split(at: At, flat: Any, heads: int) -> Any:
    """(b, t, heads * c) to (b, heads, t, c)."""
    rows, size, width = flat.shape
    if at.wrong("HEAD-1"):
        return flat.reshape(rows, heads, size, width // heads)
    if at.wrong("HEAD-7"):
        return flat.reshape(rows, size, width // heads, heads).transpose(0, 3, 1, 2)
    return flat.reshape(rows, size, heads, width // heads).swapaxes(1, 2)

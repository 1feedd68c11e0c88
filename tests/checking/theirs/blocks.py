"""A block: attention and MLP, each with its norm and its way around."""

from typing import Any

from tests.checking.theirs import attention, attention_back, dropout, mlp, norms
from tests.checking.theirs.program import At


def pre_norm(at: At, x: Any, mask: Any) -> Any:
    """x + f(norm(x)), twice."""
    if at.wrong("RES-4:post-norm"):
        return _post_norm_instead(at, x, mask)
    normed = norms.forward(at.under("norm_1"), x)
    attended = attention.forward(at.under("attention"), normed, mask, unnormed=x)
    attended = dropout.forward(at.under("dropout_1"), attended)
    if at.wrong("RES-1"):
        mid = normed + attended
    elif at.wrong("RES-2"):
        mid = attended + attended
    elif at.wrong("RES-3:attention"):
        mid = attended
    elif at.wrong("CTX-2"):
        mid = x
    else:
        mid = x + attended
    mid = at.put("mid", mid)
    other = at.under("norm_1") if at.wrong("RES-6") else None
    second = x if at.wrong("RES-5") else mid
    normed = norms.forward(at.under("norm_2"), second, other)
    made = dropout.forward(at.under("dropout_2"), mlp.forward(at.under("mlp"), normed))
    if at.wrong("RES-1"):
        return at.put("out", normed + made)
    if at.wrong("RES-2"):
        return at.put("out", made + made)
    return at.put("out", made if at.wrong("RES-3:mlp") else mid + made)


def _post_norm_instead(at: At, x: Any, mask: Any) -> Any:
    attended = attention.forward(at.under("attention"), x, mask)
    mid = at.put("mid", norms.forward(at.under("norm_1"), x + attended))
    made = mlp.forward(at.under("mlp"), mid)
    out = at.put("out", norms.forward(at.under("norm_2"), mid + made))
    for name in ("norm_1", "norm_2"):
        at.under(name).leave_out("mean", "rstd", "rrms", "x_hat", "out")
    return out


def pre_norm_back(at: At, d_out: Any) -> Any:
    d_normed = mlp.backward(at.under("mlp"), dropout.back(at.under("dropout_2"), d_out))
    if at.wrong("BN-11"):
        d_mid = norms.backward(at.under("norm_2"), d_normed + d_out)
    else:
        d_branch = norms.backward(at.under("norm_2"), d_normed)
        d_mid = _around(at, d_out, d_branch)
    d_mid = at.put("d_mid", d_mid)
    d_attended = dropout.back(at.under("dropout_1"), d_mid)
    d_normed, _ = attention_back.backward(at.under("attention"), d_attended)
    if at.wrong("BN-11"):
        return at.put("d_x", norms.backward(at.under("norm_1"), d_normed + d_mid))
    return at.put("d_x", _around(at, d_mid, norms.backward(at.under("norm_1"), d_normed)))


def _around(at: At, d_skip: Any, d_branch: Any) -> Any:
    """The gradient of a value that was used twice."""
    if at.wrong("BR-1"):
        return d_branch
    if at.wrong("BR-2:of skip and branch the skip"):
        return d_skip
    return d_skip + d_branch


def post_norm(at: At, x: Any, mask: Any) -> Any:
    """norm(x + f(x)), twice."""
    if at.wrong("RES-4:pre-norm"):
        return _pre_norm_instead(at, x, mask)
    x = _with_attention(at, x, mask)
    return _with_mlp(at, x, "2")


def _pre_norm_instead(at: At, x: Any, mask: Any) -> Any:
    normed = norms.forward(at.under("norm_1"), x)
    mid = x + attention.forward(at.under("attention"), normed, mask)
    normed = norms.forward(at.under("norm_2"), mid)
    out = mid + mlp.forward(at.under("mlp"), normed)
    for name in ("norm_1", "norm_2"):
        at.under(name).leave_out("mean", "rstd", "x_hat", "out")
    return out


def _sum(at: At, norm: str, x: Any, made: Any, normed: Any = None) -> Any:
    """What goes into a norm of a post-norm block."""
    total = x + made
    if at.wrong("RES-2"):
        total = made + made
    elif at.wrong("RES-3:attention" if norm == "norm_1" else "RES-3:mlp"):
        total = made
    return at.under(norm).put("x", total)


def _with_attention(at: At, x: Any, mask: Any) -> Any:
    attended = attention.forward(at.under("attention"), x, mask)
    attended = dropout.forward(at.under("dropout_1"), attended)
    return norms.forward(at.under("norm_1"), _sum(at, "norm_1", x, attended))


def _with_mlp(at: At, x: Any, number: str) -> Any:
    made = dropout.forward(at.under(f"dropout_{number}"), mlp.forward(at.under("mlp"), x))
    other = at.under("norm_1") if at.wrong("RES-6") else None
    return norms.forward(at.under(f"norm_{number}"), _sum(at, f"norm_{number}", x, made), other)


def post_norm_back(at: At, d_out: Any) -> Any:
    d = norms.backward(at.under("norm_2"), d_out)
    d_made = mlp.backward(at.under("mlp"), dropout.back(at.under("dropout_2"), d))
    d = at.under("norm_1").put("d_out", _around(at, d, d_made))
    return _attention_back(at, d)


def _attention_back(at: At, d: Any) -> Any:
    d = norms.backward(at.under("norm_1"), d)
    d_attended = dropout.back(at.under("dropout_1"), d)
    d_x, _ = attention_back.backward(at.under("attention"), d_attended)
    return at.put("d_x", _around(at, d, d_x))


def cross(at: At, x: Any, mask: Any, memory: Any, memory_mask: Any) -> Any:
    """A decoder's block of 2017: it looks at itself, then at the source."""
    x = _with_attention(at, x, mask)
    looked = attention.forward(at.under("cross"), x, memory_mask, memory=memory)
    looked = dropout.forward(at.under("dropout_2"), looked)
    x = norms.forward(at.under("norm_2"), _sum(at, "norm_2", x, looked))
    return _with_mlp(at, x, "3")


def cross_back(at: At, d_out: Any, d_memory_later: Any) -> tuple[Any, Any]:
    """d_x, and d_memory with what later blocks want of it."""
    d = norms.backward(at.under("norm_3"), d_out)
    d_made = mlp.backward(at.under("mlp"), dropout.back(at.under("dropout_3"), d))
    d = at.under("norm_2").put("d_out", _around(at, d, d_made))
    d = norms.backward(at.under("norm_2"), d)
    d_looked = dropout.back(at.under("dropout_2"), d)
    d_x, d_memory = attention_back.backward(at.under("cross"), d_looked)
    d = at.under("norm_1").put("d_out", _around(at, d, d_x))
    d_x = _attention_back(at, d)
    if at.wrong("BR-2:of all blocks' memory the last"):
        return d_x, at.put("d_memory", d_memory)
    return d_x, at.put("d_memory", d_memory + d_memory_later)

"""What others call the same values: names of TransformerLens, for ours.

    find("blocks.3.attn.hook_pattern", cache)       blocks.3.attention.attn
    find("blocks.3.attn.hook_pattern_grad", trace)  blocks.3.attention.d_attn
    find("blocks.0.ln1.w", model)                   blocks.0.norm_1.gamma

Only the same numbers have an alias (`ln1.hook_scale` is a divisor, our `rstd` a factor), but axes
may stand in another order: their heads come after the positions, ours before. Their scores are
masked, ours aren't yet. Their unembedding is an array of its own, also where it is the embedding's:
so the gradient of `embed.W_E` is ours of the look-up alone.

Source: TransformerLens, hook names of HookedTransformer, HookedEncoder and of the bridge of 3.x.
"""

import re
from collections.abc import Container

_BLOCK = re.compile(r"blocks\.(\d+)\.(.+)")
_SHORT = re.compile(r"([a-z_]+?)(\d+)(ln[12])?")
_GRADIENT = "_grad"

_OUTSIDE = {
    "hook_embed": "embedding.out", "embed.hook_out": "embedding.out",
    "embed.hook_embed": "embedding.out", "embed.hook_pos_embed": "position_embedding.out",
    "embed.hook_token_type_embed": "type_embedding.out",
    "embed.ln.hook_normalized": "norm.x_hat", "embed.embed.W_E": "embedding.table",
    "embed.pos_embed.W_pos": "position_embedding.table",
    "embed.token_type_embed.W_token_type": "type_embedding.table", "embed.ln.w": "norm.gamma",
    "embed.ln.b": "norm.beta", "mlm_head.W": "head.w", "mlm_head.b": "head.b",
    "mlm_head.ln.w": "head.norm.gamma", "mlm_head.ln.b": "head.norm.beta",
    "mlm_head.ln.hook_normalized": "head.norm.x_hat", "unembed.b_U": "head.bias",
    "hook_full_embed": "norm.out", "hook_pos_embed": "position_embedding.out",
    "pos_embed.hook_out": "position_embedding.out", "ln_final.hook_normalized": "norm.x_hat",
    "ln_final.hook_out": "norm.out", "unembed.hook_in": "head.x",
    "unembed.hook_out": "head.out", "embed.W_E": "embedding.table",
    "pos_embed.W_pos": "position_embedding.table", "ln_final.w": "norm.gamma",
    "ln_final.b": "norm.beta",
}  # fmt: skip
# The head of a masked model has a layer `w` before its unembedding; a tied one has no array at all.
_UNEMBEDDING = ["head.w_out", "head.table", "head.w"]
_LOOK_UP, _LOOKED_UP = {"embed.W_E", "embed.embed.W_E"}, "embedding.d_table_lookup"
_INSIDE = {
    "hook_resid_pre": "x", "hook_in": "x", "ln1.hook_normalized": "norm_1.x_hat",
    "ln1.hook_out": "norm_1.out", "ln2.hook_normalized": "norm_2.x_hat",
    "attn.hook_q": "attention.q", "attn.hook_k": "attention.k", "attn.hook_v": "attention.v",
    "attn.q.hook_out": "attention.q", "attn.k.hook_out": "attention.k",
    "attn.v.hook_out": "attention.v", "attn.hook_rot_q": "attention.q_rot",
    "attn.hook_rot_k": "attention.k_rot", "attn.hook_attn_scores": "attention.scores",
    "attn.hook_pattern": "attention.attn", "attn.hook_z": "attention.context",
    "attn.o.hook_in": "attention.context", "attn.hook_out": "attention.out",
    "hook_attn_out": "attention.out", "hook_resid_mid": "mid", "ln2.hook_in": "mid",
    "mlp.hook_pre_linear": "mlp.up", "mlp.hook_post": "mlp.post", "mlp.hook_out": "mlp.out",
    "hook_mlp_out": "mlp.out", "hook_resid_post": "out", "hook_out": "out",
    "ln1.w": "norm_1.gamma", "ln1.b": "norm_1.beta", "ln2.w": "norm_2.gamma",
    "ln2.b": "norm_2.beta", "attn.W_Q": "attention.w_q", "attn.W_K": "attention.w_k",
    "attn._W_K": "attention.w_k", "attn.W_V": "attention.w_v", "attn._W_V": "attention.w_v",
    "attn.W_O": "attention.w_o", "attn.b_Q": "attention.b_q", "attn.b_K": "attention.b_k",
    "attn.b_V": "attention.b_v", "attn.b_O": "attention.b_o", "mlp.W_in": "mlp.w_up",
    "mlp.b_in": "mlp.b_up", "mlp.W_gate": "mlp.w_gate", "mlp.W_out": "mlp.w_down",
    "mlp.b_out": "mlp.b_down",
}  # fmt: skip
# A block that normalises after adding has no `mid`: its sums are the norms' inputs.
_POST_NORM = {
    "hook_resid_mid": "norm_1.x", "hook_resid_post": "norm_2.x",
    "hook_normalized_resid_post": "out",
}  # fmt: skip
_SHORTHAND = {"attn": "pattern", "attn_logits": "attn_scores"}
_IN_ATTENTION = {"q", "k", "v", "z", "rot_q", "rot_k", "attn_scores", "pattern"}
_IN_MLP = {"pre": "pre", "post": "post", "pre_linear": "pre_linear", "mlp_pre": "pre",
           "mlp_post": "post"}  # fmt: skip


def find(name: str, known: Container[str]) -> str | None:
    """Our path for another one's name, if `known` has it."""
    is_gradient = name.endswith(_GRADIENT)
    if name.removesuffix(_GRADIENT) in _LOOK_UP and is_gradient and _LOOKED_UP in known:
        return _LOOKED_UP
    for path in _candidates(_long(name.removesuffix(_GRADIENT)), known):
        before, dot, last = path.rpartition(".")
        ours = f"{before}{dot}d_{last}" if is_gradient else path
        if ours in known:
            return ours
    return None


def _candidates(name: str, known: Container[str]) -> list[str]:
    found = _BLOCK.fullmatch(name)
    if name == "unembed.W_U":
        return _UNEMBEDDING
    if found is None:
        return [_OUTSIDE[name]] if name in _OUTSIDE else []
    block, rest = f"blocks.{found[1]}.", found[2]
    if rest == "mlp.hook_pre":  # a gated MLP calls the side with the activation so
        return [f"{block}mlp.pre", f"{block}mlp.gate"]
    table = _INSIDE if f"{block}mid" in known or f"{block}d_mid" in known else _INSIDE | _POST_NORM
    return [block + table[rest]] if rest in table else []


def _long(name: str) -> str:
    """`pattern3` and `scale4ln1` written out, as their `get_act_name` does."""
    found = _SHORT.fullmatch(name)
    if found is None:
        return name
    kind, layer, norm = found.groups()
    kind = _SHORTHAND.get(kind, kind)
    place = f"{norm}." if norm else "attn." if kind in _IN_ATTENTION else ""
    if kind in _IN_MLP:
        place, kind = "mlp.", _IN_MLP[kind]
    return f"blocks.{layer}.{place}hook_{kind}"

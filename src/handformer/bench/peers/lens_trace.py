# mypy: ignore-errors
"""TransformerLens with every value and every gradient cached: forward, loss and backward."""

from importlib.metadata import version

import torch
from transformer_lens import HookedTransformer, HookedTransformerConfig


def begin(settings):
    """A trace of random tokens, which tells how many arrays it found, and their size."""
    torch.set_num_threads(settings["threads"])
    sizes = settings["config"]
    model = HookedTransformer(
        HookedTransformerConfig(
            n_layers=sizes["n_layers"], d_model=sizes["d_model"], n_ctx=sizes["context"],
            d_head=sizes["d_k"], n_heads=sizes["n_heads"], d_mlp=sizes["d_ff"],
            d_vocab=sizes["vocab_size"], eps=sizes["eps"], act_fn="gelu_new",
            normalization_type="LN", device="cpu", seed=0,
        )
    )  # fmt: skip
    tokens = torch.randint(sizes["vocab_size"], (settings["batch"], sizes["context"]))

    def trace():
        model.zero_grad()
        values, forward, backward = model.get_caching_hooks(incl_bwd=True)
        with model.hooks(fwd_hooks=forward, bwd_hooks=backward):
            loss = model(tokens, return_type="loss")
            loss.backward()
        found = dict(values)
        found |= {f"{name}.grad": weight.grad for name, weight in model.named_parameters()}
        size = sum(a.nbytes for a in found.values() if a is not None)
        return {"values": len(found), "bytes": size, "loss": loss.item()}

    return trace, {"version": version("transformer-lens")}

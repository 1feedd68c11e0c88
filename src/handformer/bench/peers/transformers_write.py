# mypy: ignore-errors
"""transformers' Llama writing on from a prompt with its own cache."""

import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM


def begin(settings):
    """The likeliest tokens after a random prompt."""
    torch.set_num_threads(settings["threads"])
    torch.manual_seed(0)
    sizes, count = settings["config"], settings["tokens"]
    config = LlamaConfig(
        vocab_size=sizes["vocab_size"], hidden_size=sizes["d_model"],
        num_hidden_layers=sizes["n_layers"], num_attention_heads=sizes["n_heads"],
        num_key_value_heads=sizes["n_kv_heads"], head_dim=sizes["d_k"],
        intermediate_size=sizes["d_ff"], max_position_embeddings=sizes["context"],
        rms_norm_eps=sizes["eps"], tie_word_embeddings=sizes["tied"],
        bos_token_id=None, eos_token_id=None, pad_token_id=None,
    )  # fmt: skip
    model = LlamaForCausalLM(config).to(getattr(torch, settings["dtype"])).eval()
    prompt = torch.randint(sizes["vocab_size"], (1, settings["prompt"]))
    seen = torch.ones_like(prompt)

    def write():
        out = model.generate(
            prompt, attention_mask=seen, do_sample=False, max_new_tokens=count,
        )  # fmt: skip
        assert out.shape[1] == prompt.shape[1] + count
        return {}

    return write, {"version": transformers.__version__}

"""What Hugging Face calls our weights: one table a family.

GPT-2's matrices are (in, out) there as here, and its q, k and v stand side by side in one; those of
Llama and BERT are (out, in). The 2017 model has no counterpart that fits: it keeps our own names.

Source: the state dicts of transformers' GPT2LMHeadModel, LlamaForCausalLM and BertForMaskedLM.
"""

from dataclasses import dataclass

from handformer.models.config import ModelConfig


@dataclass(frozen=True)
class Row:
    """One of their arrays: ours side by side, and transposed where theirs is (out, in)."""

    theirs: str
    ours: tuple[str, ...]
    transposed: bool = False


def fits(config: ModelConfig) -> bool:
    """Whether transformers has a model of exactly this shape."""
    plain = config.kv_heads == config.n_heads and (
        config.n_heads * config.head_width == config.d_model
    )
    return config.family == "llama" or (config.family in ("gpt2", "bert") and plain)


def rows(config: ModelConfig) -> list[Row]:
    """The table of a config that `fits`."""
    make = {"gpt2": _gpt2, "llama": _llama, "bert": _bert}[config.family]
    return make(config)


def _pairs(prefix: str, ours: str, names: dict[str, str], *, transposed: bool = False) -> list[Row]:
    return [Row(prefix + theirs, (f"{ours}{mine}",), transposed) for theirs, mine in names.items()]


def _gpt2(config: ModelConfig) -> list[Row]:
    table = [
        Row("transformer.wte.weight", ("embedding.table",)),
        Row("transformer.wpe.weight", ("position_embedding.table",)),
    ]
    for layer in range(config.n_layers):
        theirs, ours = f"transformer.h.{layer}.", f"blocks.{layer}."
        table += [
            Row(
                theirs + f"attn.c_attn.{kind}",
                tuple(f"{ours}attention.{letter}_{x}" for x in "qkv"),
            )
            for kind, letter in (("weight", "w"), ("bias", "b"))
        ]
        table += _pairs(theirs, ours, {
            "ln_1.weight": "norm_1.gamma", "ln_1.bias": "norm_1.beta",
            "attn.c_proj.weight": "attention.w_o", "attn.c_proj.bias": "attention.b_o",
            "ln_2.weight": "norm_2.gamma", "ln_2.bias": "norm_2.beta",
            "mlp.c_fc.weight": "mlp.w_up", "mlp.c_fc.bias": "mlp.b_up",
            "mlp.c_proj.weight": "mlp.w_down", "mlp.c_proj.bias": "mlp.b_down",
        })  # fmt: skip
    table += _pairs("transformer.", "", {"ln_f.weight": "norm.gamma", "ln_f.bias": "norm.beta"})
    return table + ([] if config.tied_head else [Row("lm_head.weight", ("head.w",), True)])


def _llama(config: ModelConfig) -> list[Row]:
    table = [Row("model.embed_tokens.weight", ("embedding.table",))]
    for layer in range(config.n_layers):
        theirs, ours = f"model.layers.{layer}.", f"blocks.{layer}."
        table += _pairs(theirs, ours, {
            "input_layernorm.weight": "norm_1.gamma",
            "post_attention_layernorm.weight": "norm_2.gamma",
        })  # fmt: skip
        table += _pairs(theirs, ours, {
            **{f"self_attn.{x}_proj.weight": f"attention.w_{x}" for x in "qkvo"},
            **{f"mlp.{x}_proj.weight": f"mlp.w_{x}" for x in ("gate", "up", "down")},
        }, transposed=True)  # fmt: skip
    table.append(Row("model.norm.weight", ("norm.gamma",)))
    return table + ([] if config.tied_head else [Row("lm_head.weight", ("head.w",), True)])


def _bert(config: ModelConfig) -> list[Row]:
    table = _pairs("bert.embeddings.", "", {
        "word_embeddings.weight": "embedding.table",
        "position_embeddings.weight": "position_embedding.table",
        "token_type_embeddings.weight": "type_embedding.table",
        "LayerNorm.weight": "norm.gamma", "LayerNorm.bias": "norm.beta",
    })  # fmt: skip
    parts = {
        "attention.self.query": ("attention.w_q", "attention.b_q"),
        "attention.self.key": ("attention.w_k", "attention.b_k"),
        "attention.self.value": ("attention.w_v", "attention.b_v"),
        "attention.output.dense": ("attention.w_o", "attention.b_o"),
        "intermediate.dense": ("mlp.w_up", "mlp.b_up"),
        "output.dense": ("mlp.w_down", "mlp.b_down"),
    }
    norms = {"attention.output.LayerNorm": "norm_1", "output.LayerNorm": "norm_2"}
    for layer in range(config.n_layers):
        theirs, ours = f"bert.encoder.layer.{layer}.", f"blocks.{layer}."
        for name, (w, b) in parts.items():
            table.append(Row(f"{theirs}{name}.weight", (ours + w,), True))
            table.append(Row(f"{theirs}{name}.bias", (ours + b,)))
        for name, norm in norms.items():
            table += _pairs(
                theirs, ours, {f"{name}.weight": f"{norm}.gamma", f"{name}.bias": f"{norm}.beta"}
            )
    table.append(Row("cls.predictions.transform.dense.weight", ("head.w",), True))
    table += _pairs("cls.predictions.", "head.", {
        "transform.dense.bias": "b", "transform.LayerNorm.weight": "norm.gamma",
        "transform.LayerNorm.bias": "norm.beta", "bias": "bias",
    })  # fmt: skip
    if not config.tied_head:
        table.append(Row("cls.predictions.decoder.weight", ("head.w_out",), True))
        # The bias has two names there, which only a tied head makes one; this is the one it uses.
        table.append(Row("cls.predictions.decoder.bias", ("head.bias",)))
    return table

"""The models that PyTorch and transformers ship, made small, and what they call our parameters."""

import re
from math import cos, sin, sqrt

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tests.peers.cases import Config
from tests.peers.golden import Arrays

# Their module, our path, its kind. # is the number of the layer, ? is w or b, * is q, k and v.
# dense: (out, in); conv: GPT-2's (in, out); norm: gamma and beta; plain: a single array.
NAMES = {
    "gpt2": """
        transformer.wte                       embedding.table                plain
        transformer.wpe                       position_embedding.table                plain
        transformer.h.#.ln_1                  blocks.#.norm_1                norm
        transformer.h.#.attn.c_attn           blocks.#.attention.?_*         conv
        transformer.h.#.attn.c_proj           blocks.#.attention.?_o         conv
        transformer.h.#.ln_2                  blocks.#.norm_2                norm
        transformer.h.#.mlp.c_fc              blocks.#.mlp.?_up              conv
        transformer.h.#.mlp.c_proj            blocks.#.mlp.?_down            conv
        transformer.ln_f                      norm                           norm
        lm_head                               head.?                         dense
    """,
    "llama": """
        model.embed_tokens                    embedding.table                plain
        model.layers.#.input_layernorm        blocks.#.norm_1                norm
        model.layers.#.self_attn.q_proj       blocks.#.attention.?_q         dense
        model.layers.#.self_attn.k_proj       blocks.#.attention.?_k         dense
        model.layers.#.self_attn.v_proj       blocks.#.attention.?_v         dense
        model.layers.#.self_attn.o_proj       blocks.#.attention.?_o         dense
        model.layers.#.post_attention_layernorm  blocks.#.norm_2             norm
        model.layers.#.mlp.gate_proj          blocks.#.mlp.?_gate            dense
        model.layers.#.mlp.up_proj            blocks.#.mlp.?_up              dense
        model.layers.#.mlp.down_proj          blocks.#.mlp.?_down            dense
        model.norm                            norm                           norm
        lm_head                               head.?                         dense
    """,
    "bert": """
        bert.embeddings.word_embeddings       embedding.table                plain
        bert.embeddings.position_embeddings   position_embedding.table                plain
        bert.embeddings.token_type_embeddings type_embedding.table                    plain
        bert.embeddings.LayerNorm             norm                           norm
        bert.encoder.layer.#.attention.self.query        blocks.#.attention.?_q  dense
        bert.encoder.layer.#.attention.self.key          blocks.#.attention.?_k  dense
        bert.encoder.layer.#.attention.self.value        blocks.#.attention.?_v  dense
        bert.encoder.layer.#.attention.output.dense      blocks.#.attention.?_o  dense
        bert.encoder.layer.#.attention.output.LayerNorm  blocks.#.norm_1         norm
        bert.encoder.layer.#.intermediate.dense          blocks.#.mlp.?_up       dense
        bert.encoder.layer.#.output.dense                blocks.#.mlp.?_down     dense
        bert.encoder.layer.#.output.LayerNorm            blocks.#.norm_2         norm
        cls.predictions.transform.dense       head.?                         dense
        cls.predictions.transform.LayerNorm   head.norm                      norm
        cls.predictions                       head.bias                      plain
        cls.predictions.decoder               head.?_out                     dense
    """,
    "transformer": """
        source                                source_embedding.table         plain
        target                                target_embedding.table         plain
        encoder.layers.#.self_attn.in_proj    encoder.#.attention.?_*        dense
        encoder.layers.#.self_attn.out_proj   encoder.#.attention.?_o        dense
        encoder.layers.#.norm1                encoder.#.norm_1               norm
        encoder.layers.#.linear1              encoder.#.mlp.?_up             dense
        encoder.layers.#.linear2              encoder.#.mlp.?_down           dense
        encoder.layers.#.norm2                encoder.#.norm_2               norm
        decoder.layers.#.self_attn.in_proj    decoder.#.attention.?_*        dense
        decoder.layers.#.self_attn.out_proj   decoder.#.attention.?_o        dense
        decoder.layers.#.norm1                decoder.#.norm_1               norm
        decoder.layers.#.multihead_attn.in_proj   decoder.#.cross.?_*        dense
        decoder.layers.#.multihead_attn.out_proj  decoder.#.cross.?_o        dense
        decoder.layers.#.norm2                decoder.#.norm_2               norm
        decoder.layers.#.linear1              decoder.#.mlp.?_up             dense
        decoder.layers.#.linear2              decoder.#.mlp.?_down           dense
        decoder.layers.#.norm3                decoder.#.norm_3               norm
        head                                  head.?                         dense
    """,
}


def to_our_paths(family: str, theirs: Arrays) -> Arrays:
    """Their arrays, weights or gradients, under our paths and in our layout."""
    table = {
        module: (path, kind)
        for module, path, kind in map(str.split, NAMES[family].split("\n")[1:-1])
    }
    ours = {}
    for name, array in theirs.items():
        module, part = re.fullmatch(r"(.*)[._](weight|bias)", name).groups()
        layer = next(filter(str.isdigit, module.split(".")), "")
        path, kind = table[module.replace(f".{layer}.", ".#.")]
        path = path.replace("#", layer).replace("?", part[0])
        if kind == "norm":
            path += ".gamma" if part == "weight" else ".beta"
        ours_now = array.T if kind == "dense" else array  # the transpose of a bias is the bias
        if "*" in path:
            thirds = zip("qkv", np.split(ours_now, 3, axis=-1), strict=True)
            ours |= {path.replace("*", letter): third for letter, third in thirds}
        else:
            ours[path] = ours_now
    if "head.b_out" in ours:  # BERT's last bias, where the head has a weight of its own
        ours["head.bias"] = ours.pop("head.b_out")
    return ours


class StayDouble(TorchFunctionMode):
    """Turns every request for float32 into one for float64.

    transformers computes rotations, RMSNorm and some softmaxes in float32, whatever comes in.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is Tensor.float:
            func = Tensor.double
        args = [torch.float64 if value is torch.float32 else value for value in args]
        kwargs = {
            name: torch.float64 if value is torch.float32 else value
            for name, value in (kwargs or {}).items()
        }
        return func(*args, **kwargs)


def from_transformers(cfg: Config) -> nn.Module:
    """The class of the library that has the shape of ``cfg``; run it under ``StayDouble``."""
    import transformers

    common = {"vocab_size": cfg.vocab_size, "tie_word_embeddings": cfg.tied}
    if cfg.family == "gpt2":
        config = transformers.GPT2Config(
            n_embd=cfg.d_model,
            n_head=cfg.n_heads,
            n_layer=cfg.n_layers,
            n_inner=cfg.d_ff,
            n_positions=cfg.context,
            layer_norm_epsilon=cfg.eps,
            attn_pdrop=0.0,
            embd_pdrop=0.0,
            resid_pdrop=0.0,
            bos_token_id=None,
            eos_token_id=None,
            **common,
        )
        model_class = transformers.GPT2LMHeadModel
    else:
        common |= {
            "hidden_size": cfg.d_model,
            "num_hidden_layers": cfg.n_layers,
            "num_attention_heads": cfg.n_heads,
            "intermediate_size": cfg.d_ff,
            "max_position_embeddings": cfg.context,
        }
    if cfg.family == "llama":
        config = transformers.LlamaConfig(
            num_key_value_heads=cfg.n_kv_heads,
            head_dim=cfg.d_k,
            rms_norm_eps=cfg.eps,
            rope_parameters={"rope_type": "default", "rope_theta": cfg.rope_base},
            **common,
        )
        model_class = transformers.LlamaForCausalLM
    if cfg.family == "bert":
        config = transformers.BertConfig(
            layer_norm_eps=cfg.eps,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=None,  # else the gradient of that token's row is left out
            **common,
        )
        model_class = transformers.BertForMaskedLM
    with StayDouble():  # the frequencies of a rotation are made with the model
        return model_class(config).double()


class TorchTransformer(nn.Transformer):
    """``torch.nn.Transformer`` with the parts of the paper that it leaves out."""

    def __init__(self, cfg: Config) -> None:
        layers = {"num_encoder_layers": cfg.n_layers, "num_decoder_layers": cfg.n_layers}
        sizes = {"d_model": cfg.d_model, "nhead": cfg.n_heads, "dim_feedforward": cfg.d_ff}
        super().__init__(**sizes, **layers, dropout=0.0, batch_first=True, dtype=torch.double)
        self.encoder.norm = self.decoder.norm = None  # the paper has none after the last block
        self.source = nn.Embedding(cfg.vocab_size, cfg.d_model, dtype=torch.double)
        self.target = nn.Embedding(cfg.vocab_size, cfg.d_model, dtype=torch.double)
        self.head = nn.Linear(cfg.d_model, cfg.vocab_size, bias=False, dtype=torch.double)

    def logits(
        self,
        source_tokens,
        target_tokens,
        source_valid,
        target_valid,
        source_positions,
        target_positions,
    ) -> Tensor:
        time = target_tokens.shape[1]
        x = self.forward(
            self.embed(self.source, source_tokens, source_positions),
            self.embed(self.target, target_tokens, target_positions),
            tgt_mask=torch.ones(time, time, dtype=torch.bool).triu(1),  # theirs says what is hidden
            src_key_padding_mask=~source_valid,
            tgt_key_padding_mask=~target_valid,
            memory_key_padding_mask=~source_valid,
        )
        return self.head(x)

    def embed(self, table: nn.Embedding, tokens: Tensor, positions: Tensor) -> Tensor:
        places = range(tokens.shape[1])
        waves = [[position(t, c, self.d_model) for c in range(self.d_model)] for t in places]
        waves = torch.tensor(waves, dtype=torch.double)[positions]
        return table(tokens) * sqrt(self.d_model) + waves


def position(t: int, c: int, d_model: int) -> float:
    """PE(pos, 2i) and PE(pos, 2i+1) of section 3.5, letter by letter."""
    angle = t / 10000 ** (2 * (c // 2) / d_model)
    return cos(angle) if c % 2 else sin(angle)

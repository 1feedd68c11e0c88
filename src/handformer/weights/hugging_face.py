"""A model as a folder in Hugging Face's layout: config.json, model.safetensors, tokenizer.json.

transformers opens what we write where it has a model of that shape. config.json also holds our own
config, under "handformer", from which we read it back exactly.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_safetensors
from safetensors.numpy import save as save_safetensors

from handformer import tree
from handformer.axes import Array
from handformer.errors import InputError
from handformer.models import CLASSES, Model
from handformer.models.config import ModelConfig
from handformer.text import Tokenizer
from handformer.weights.names import Row, fits, rows

CONFIG, WEIGHTS = "config.json", "model.safetensors"
OWN = "handformer"


def save(folder: Path, model: Model, tokenizer: Tokenizer) -> None:
    """Write a model and its tokenizer into `folder`, in the place of what was there.

    Raises
    ------
    OSError
        where the disk refuses; the folder is then as it was
    """
    aside, old = (
        folder.with_name(f".{folder.name}.{os.getpid()}.{end}") for end in ("part", "old")
    )
    aside.mkdir(parents=True)
    try:
        arrays = _theirs(model)
        (aside / WEIGHTS).write_bytes(save_safetensors(arrays, metadata={"format": "pt"}))
        text = json.dumps(_config(model), indent=2) + "\n"
        (aside / CONFIG).write_text(text, encoding="utf-8")
        tokenizer.save(aside)
        if folder.exists():
            os.replace(folder, old)
        os.replace(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def load(folder: Path) -> tuple[Model, Tokenizer]:
    """Read a model and its tokenizer from a folder that `save` wrote.

    Raises
    ------
    InputError
        where a file is missing or damaged, or an array is missing, left over or of another shape
    """
    config = _read_config(folder / CONFIG)
    path = folder / WEIGHTS
    try:
        arrays = load_safetensors(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: can't read the weights: {error.strerror}") from None
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{path}: damaged weights: {error}") from None
    shape = CLASSES[config.family].init(config, dtype=np.float32)
    try:
        model = tree.replace(shape, _ours(arrays, rows(config)) if fits(config) else arrays)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    return model, Tokenizer.load(folder)


def _theirs(model: Model) -> dict[str, Array]:
    ours = tree.flatten(model)
    if not fits(model.config):
        return {path: np.ascontiguousarray(array) for path, array in ours.items()}
    theirs = {}
    for row in rows(model.config):
        whole = np.concatenate([ours.pop(path) for path in row.ours], axis=-1)
        theirs[row.theirs] = np.ascontiguousarray(whole.T if row.transposed else whole)
    assert not ours, f"no place for {sorted(ours)}"
    return theirs


def _ours(theirs: dict[str, Array], table: list[Row]) -> dict[str, Array]:
    ours: dict[str, Array] = {}
    for row in table:
        if row.theirs not in theirs:
            raise ValueError(f"no array {row.theirs}")
        whole = theirs[row.theirs].T if row.transposed else theirs[row.theirs]
        parts = np.split(whole, len(row.ours), axis=-1)
        ours |= {p: np.ascontiguousarray(a) for p, a in zip(row.ours, parts, strict=True)}
    return ours


def _read_config(path: Path) -> ModelConfig:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: no model here: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: not a JSON file: {error}") from None
    if not isinstance(settings, dict) or not isinstance(settings.get(OWN), dict):
        raise InputError(f"{path}: not written by handformer (no key {OWN!r})")
    return ModelConfig.read(settings[OWN], where=OWN)


def _config(model: Model) -> dict[str, Any]:
    config = model.config
    own = {OWN: config.model_dump(exclude_none=True)}
    dtype = (
        {"torch_dtype": str(tree.flatten(model)["embedding.table"].dtype)} if fits(config) else {}
    )
    sizes = {"vocab_size": config.vocab_size, "tie_word_embeddings": config.tied_head}
    if not fits(config):
        return {"architectures": ["handformer"], **own}
    if config.family == "gpt2":
        return {
            "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", **sizes, **dtype,
            "n_positions": config.context, "n_embd": config.d_model, "n_layer": config.n_layers,
            "n_head": config.n_heads, "n_inner": config.hidden, "activation_function": "gelu_new",
            "resid_pdrop": config.dropout, "embd_pdrop": config.dropout,
            "attn_pdrop": config.dropout, "layer_norm_epsilon": config.norm_eps,
            "bos_token_id": None, "eos_token_id": None, **own,
        }  # fmt: skip
    shared = {
        **sizes, **dtype, "hidden_size": config.d_model, "intermediate_size": config.hidden,
        "num_hidden_layers": config.n_layers, "num_attention_heads": config.n_heads,
        "max_position_embeddings": config.context,
    }  # fmt: skip
    if config.family == "llama":
        return {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", **shared,
            "num_key_value_heads": config.kv_heads, "head_dim": config.head_width,
            "hidden_act": "silu", "rms_norm_eps": config.norm_eps, "rope_theta": config.rope_base,
            "attention_bias": False, "mlp_bias": False,
            "bos_token_id": None, "eos_token_id": None, **own,
        }  # fmt: skip
    return {
        "architectures": ["BertForMaskedLM"], "model_type": "bert", **shared,
        "type_vocab_size": config.n_types, "hidden_act": "gelu",
        "layer_norm_eps": config.norm_eps, "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.dropout, **own,
    }  # fmt: skip

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

    A new folder appears whole or not at all. In one that is there each file is replaced whole, the
    weights last; so a model in training, of which only the weights change, is never half there.

    Raises
    ------
    OSError, InputError
        where the disk refuses; the folder is then as it was
    """
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    shutil.rmtree(beside, ignore_errors=True)  # a killed process may have left it
    beside.mkdir(parents=True)
    try:
        tokenizer.save(beside)
        text = json.dumps(_config(model, tokenizer), indent=2) + "\n"
        (beside / CONFIG).write_text(text, encoding="utf-8")
        arrays = save_safetensors(_theirs(model), metadata={"format": "pt"})
        (beside / WEIGHTS).write_bytes(arrays)
        if folder.exists():
            for file in sorted(beside.iterdir(), key=lambda file: (file.name == WEIGHTS, file)):
                os.replace(file, folder / file.name)
        else:
            os.replace(beside, folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


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
        _require_room(config, arrays)
        outline = CLASSES[config.family].outline(config)
        model = tree.replace(outline, _ours(arrays, rows(config)) if fits(config) else arrays)
    except OSError as error:
        raise InputError(f"{path}: can't read the weights: {error.strerror}") from None
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{path}: damaged, or not this model's weights: {error}") from None
    tokenizer = Tokenizer.load(folder)
    if tokenizer.vocab_size > config.vocab_size:
        raise InputError(
            f"{folder}: the tokenizer has {tokenizer.vocab_size} entries, the model only "
            f"{config.vocab_size}; they don't belong together"
        )
    return model, tokenizer


def _require_room(config: ModelConfig, arrays: dict[str, Array]) -> None:
    """A damaged config may name sizes beyond all memory: the file bounds what is allocated."""
    wrong = [name for name, array in arrays.items() if array.dtype.kind != "f"]
    if wrong:
        raise ValueError(f"{wrong[0]} is of type {arrays[wrong[0]].dtype}, expected floating point")
    rows_of_tables = config.vocab_size + (config.source_vocab_size or 0) * (not config.shared)
    if config.family in ("gpt2", "bert"):
        rows_of_tables += config.context
    if config.family == "bert":
        rows_of_tables += config.n_types
    columns_of_a_block = 2 * config.n_heads * config.head_width + 2 * config.hidden
    least = config.d_model * (rows_of_tables + config.n_layers * columns_of_a_block)
    held = sum(array.size for array in arrays.values())
    if least > held:
        raise ValueError(f"it holds {held:,} numbers, {CONFIG} asks for {least:,} or more")


def _theirs(model: Model) -> dict[str, Array]:
    ours = tree.flatten(model)
    if not fits(model.config):
        return {path: np.ascontiguousarray(array) for path, array in ours.items()}
    theirs = {}
    for row in rows(model.config):
        whole = np.concatenate([ours[path] for path in row.ours], axis=-1)
        theirs[row.theirs] = np.ascontiguousarray(whole.T if row.transposed else whole)
    left_over = ours.keys() - {path for row in rows(model.config) for path in row.ours}
    assert not left_over, f"no place for {sorted(left_over)}"
    return theirs


def _ours(theirs: dict[str, Array], table: list[Row]) -> dict[str, Array]:
    left_over = theirs.keys() - {row.theirs for row in table}
    if left_over:
        raise ValueError(f"the array {min(left_over)} has no place in the model")
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
    try:
        return ModelConfig.read(settings[OWN], where=OWN)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _config(model: Model, tokenizer: Tokenizer) -> dict[str, Any]:
    config = model.config
    own = {OWN: config.model_dump(exclude_none=True)}
    if not fits(config):
        return {"architectures": [OWN], **own}
    special = {
        f"{role}_token_id": tokenizer.special.get(f"[{role.upper()}]")
        for role in ("pad", "bos", "eos")
    }
    shared = {
        "vocab_size": config.vocab_size, "tie_word_embeddings": config.tied_head, **special,
        "torch_dtype": str(tree.flatten(model)["embedding.table"].dtype),
    }  # fmt: skip
    if config.family == "gpt2":
        return {
            "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", **shared,
            "n_positions": config.context, "n_embd": config.d_model, "n_layer": config.n_layers,
            "n_head": config.n_heads, "n_inner": config.hidden, "activation_function": "gelu_new",
            "resid_pdrop": config.dropout, "embd_pdrop": config.dropout,
            "attn_pdrop": config.dropout, "layer_norm_epsilon": config.norm_eps, **own,
        }  # fmt: skip
    shared |= {
        "hidden_size": config.d_model, "intermediate_size": config.hidden,
        "num_hidden_layers": config.n_layers, "num_attention_heads": config.n_heads,
        "max_position_embeddings": config.context,
    }  # fmt: skip
    if config.family == "llama":
        return {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", **shared,
            "num_key_value_heads": config.kv_heads, "head_dim": config.head_width,
            "hidden_act": "silu", "rms_norm_eps": config.norm_eps, "rope_theta": config.rope_base,
            "attention_bias": False, "mlp_bias": False, **own,
        }  # fmt: skip
    return {
        "architectures": ["BertForMaskedLM"], "model_type": "bert", **shared,
        "type_vocab_size": config.n_types, "hidden_act": "gelu",
        "layer_norm_eps": config.norm_eps, "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.dropout, **own,
    }  # fmt: skip

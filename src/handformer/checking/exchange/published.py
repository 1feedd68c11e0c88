"""Hugging Face's names of weights and of outputs; the table is the one that our own files use."""

import re
from collections.abc import Callable
from functools import cache

import numpy as np

from handformer.checking.exchange.place import (
    AnyArray,
    Aside,
    Case,
    Found,
    Place,
    path_of,
    without_gradient,
)
from handformer.models.config import ModelConfig
from handformer.weights.names import Row, fits, rows

_PREFIXES = ("transformer.", "model.", "bert.")
_OUTPUT = re.compile(r"(hidden_states|attentions)\.(\d+)")
# Masks, tables of frequencies and heads for other purposes: no weights of the case's model.
_ASIDE = re.compile(
    r".*\.(attn\.(masked_)?bias|rotary_emb\.inv_freq|position_ids|token_type_ids)|"
    r"(.*\.)?pooler\..*|cls\.seq_relationship\..*"
)
_OLD = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}


def find(name: str, case: Case) -> Found:
    """Our places for one of their names; None: it isn't theirs."""
    if case.config is None:
        return None
    plain, is_gradient = without_gradient(name)
    for old, new in _OLD.items():
        plain = plain.replace(old, new)
    output = _OUTPUT.fullmatch(plain)
    if output is not None:
        path = path_of(_output(output[1], int(output[2]), case.config), is_gradient)
        return (Place(path),) if path in case.known else None
    row = _table(case.config).get(plain)
    if row is not None:
        return tuple(_place(row, number, is_gradient) for number in range(len(row.ours)))
    return Aside("no weight of the model") if _ASIDE.fullmatch(plain) else None


def _output(kind: str, number: int, config: ModelConfig) -> str:
    """The values that a model hands out on demand: the stream before each block, and the last."""
    if kind == "attentions":
        return f"blocks.{number}.attention.attn"
    if number < config.n_layers:
        return f"blocks.{number}.x"
    if number > config.n_layers:
        return ""
    return f"blocks.{number - 1}.out" if config.family == "bert" else "norm.out"


@cache
def _table(config: ModelConfig) -> dict[str, Row]:
    """Their names with and without the prefix of the model in the whole."""
    if not fits(config):
        return {}
    table = rows(config)
    if config.tied_head:
        head = "cls.predictions.decoder" if config.family == "bert" else "lm_head"
        table.append(Row(f"{head}.weight", ("embedding.table",)))
        if config.family == "bert":
            table.append(Row(f"{head}.bias", ("head.bias",)))
    found = {row.theirs: row for row in table}
    for theirs, row in list(found.items()):
        for prefix in _PREFIXES:
            if theirs.startswith(prefix):
                found.setdefault(theirs.removeprefix(prefix), row)
    return found


def _place(row: Row, number: int, is_gradient: bool) -> Place:
    path, count = path_of(row.ours[number], is_gradient), len(row.ours)
    note = f"part {number + 1} of {count} side by side" if count > 1 else ""
    if row.transposed and not path.endswith("bias"):
        return Place(path, _part(number, count, 0), "j i", "i j", note)
    return Place(path, _part(number, count, -1), note=note)


def _part(number: int, count: int, axis: int) -> Callable[[AnyArray], AnyArray]:
    return lambda array: np.split(array, count, axis=axis)[number]

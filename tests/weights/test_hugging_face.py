"""Models on disk: bit for bit, opened by transformers, and damage is found."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from safetensors.numpy import load_file, save_file

from handformer import tree
from handformer.errors import InputError
from handformer.models import CLASSES, Model, ModelConfig
from handformer.text import Tokenizer
from handformer.weights import hugging_face
from tests.train.small import bits

TEXT = "The quick brown fox, it is said, jumps over a lazy dog.\n"
SPECIAL = ("[PAD]", "[MASK]")
TOKENIZER = Tokenizer.characters(TEXT, special=SPECIAL)
SHAPES: dict[str, dict[str, Any]] = {
    "gpt2": {"family": "gpt2"},
    "gpt2 untied": {"family": "gpt2", "tied": False},
    "gpt2 of odd shape": {"family": "gpt2", "d_k": 5, "n_kv_heads": 2},
    "llama": {"family": "llama"},
    "llama with grouped heads, tied": {"family": "llama", "n_kv_heads": 2, "tied": True},
    "llama with wide heads": {"family": "llama", "n_kv_heads": 1, "d_k": 6, "rope_base": 500.0},
    "bert": {"family": "bert"},
    "bert untied": {"family": "bert", "tied": False, "n_types": 3},
    "transformer": {"family": "transformer", "shared": True},
    "transformer untied": {"family": "transformer", "source_vocab_size": 9, "tied": False},
}
FITS = [name for name in SHAPES if "odd" not in name and "transformer" not in name]


def model(name: str, dtype: type = np.float32) -> Model:
    """Every number of it is drawn: ones and zeros would hide that two were exchanged."""
    config = ModelConfig(
        vocab_size=TOKENIZER.vocab_size, context=12, n_layers=2, n_heads=4, d_model=16, d_ff=24,
        dropout=0.1, **SHAPES[name],
    )  # fmt: skip
    rng = np.random.default_rng(5)
    empty = CLASSES[config.family].init(config, dtype=dtype)
    return tree.transform(empty, lambda _, w: w + rng.normal(0, 0.2, w.shape).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SHAPES)
def test_what_is_saved_is_loaded_bit_for_bit(name: str, dtype: type, tmp_path: Path) -> None:
    made = model(name, dtype)
    hugging_face.save(tmp_path / "model", made, TOKENIZER)
    loaded, tokenizer = hugging_face.load(tmp_path / "model")
    assert bits(loaded) == bits(made)
    assert loaded.config == made.config
    assert tokenizer.special == TOKENIZER.special
    assert tokenizer.encode(TEXT).tolist() == TOKENIZER.encode(TEXT).tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_saving_again_replaces_every_file(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    for name in ("llama", "gpt2"):
        hugging_face.save(tmp_path, model(name), TOKENIZER)
        assert bits(hugging_face.load(tmp_path)[0]) == bits(model(name))
    assert (tmp_path / "notes.txt").exists()


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_disk_that_refuses_leaves_what_was_there(
    file: str, exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    if exists:
        hugging_face.save(folder, model("llama"), TOKENIZER)

    def full(path: Path, *_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        for method in ("write_bytes", "write_text"):
            write = getattr(Path, method)
            patch.setattr(Path, method, lambda path, *a, write=write, **k: (
                full(path) if file in path.name else write(path, *a, **k)
            ))  # fmt: skip
        with pytest.raises((OSError, InputError), match="No space left on device"):
            hugging_face.save(folder, model("gpt2"), TOKENIZER)
    assert folder.exists() == exists
    if exists:
        assert bits(hugging_face.load(folder)[0]) == bits(model("llama"))
    assert [path.name for path in tmp_path.iterdir()] == ["model"] * exists


Change = Callable[[dict[str, Any]], object]


def with_arrays(folder: Path, change: Change) -> None:
    arrays = dict(load_file(folder / "model.safetensors"))
    change(arrays)
    save_file(arrays, folder / "model.safetensors")


def with_config(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["handformer"] |= changes
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


WTE = "transformer.wte.weight"


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda f: (f / "config.json").unlink(), "config.json: no model here: No such file"),
        (lambda f: (f / "config.json").write_text("{"), "config.json: not a JSON file: Expecting"),
        (lambda f: (f / "config.json").write_bytes(b"\xff"), "config.json: not a JSON file: 'utf-"),
        (lambda f: (f / "config.json").write_text("[1]"), "config.json: not written by handformer"),
        (lambda f: (f / "config.json").write_text("{}"), "config.json: not written by handformer"),
        (lambda f: with_config(f, heads=3), "config.json: unknown config key handformer.heads; d"),
        (lambda f: with_config(f, n_heads="4"), "config.json: handformer.n_heads = '4': input s"),
        (lambda f: with_config(f, n_heads=3), "config.json: n_heads = 3 doesn't divide d_model"),
        (lambda f: with_config(f, context=13), "model.safetensors: damaged, or not this model's"),
        (lambda f: with_config(f, n_layers=2**31-1), "model.safetensors: damaged, or not"),
        (lambda f: with_config(f, d_ff=2**31-1), "model.safetensors: damaged, or not"),
        (lambda f: with_config(f, context=2**31-1), "model.safetensors: damaged, or not"),
        (lambda f: with_config(f, n_layers=1), "model.safetensors: damaged, or not this model's"),
        (lambda f: with_config(f, vocab_size=9), "model.safetensors: damaged, or not this model"),
        (lambda f: (f / "model.safetensors").unlink(), "model.safetensors: can't read the weight"),
        (lambda f: (f / "model.safetensors").write_bytes(b""), "model.safetensors: damaged, or n"),
        (
            lambda f: (f / "model.safetensors").write_bytes(
                (f / "model.safetensors").read_bytes()[:-4]
            ),
            "model.safetensors: damaged, or not this model's weights: ",
        ),
        (lambda f: with_arrays(f, lambda a: a.pop(WTE)), "model.safetensors: damaged, or not this"),
        (
            lambda f: with_arrays(f, lambda a: a.update({"x": a[WTE]})),
            "model.safetensors: damaged, or not this model's weights: the array x has no place",
        ),
        (
            lambda f: with_arrays(f, lambda a: a.update({WTE: a[WTE].view(np.int32)})),
            f"model.safetensors: damaged, or not this model's weights: {WTE} is of type int32",
        ),
        (
            lambda f: with_arrays(f, lambda a: a.update({WTE: np.vstack([a[WTE]] * 2)})),
            "model.safetensors: damaged, or not this model's weights: embedding.table has shape",
        ),
        (
            lambda f: with_arrays(
                f, lambda a: a.update({"transformer.h.0.attn.c_attn.bias": np.zeros(47)})
            ),
            "model.safetensors: damaged, or not this model's weights: array split does not",
        ),
        (lambda f: (f / "tokenizer.json").unlink(), "': no tokenizer can be read here (No such f"),
        (lambda f: (f / "tokenizer.json").write_text("{"), "tokenizer.json': damaged, or no token"),
        (
            lambda f: Tokenizer.bytes().save(f),
            ": the tokenizer has 256 entries, the model only 33; they don't belong together",
        ),
    ],
)  # fmt: skip
def test_damage_is_one_line(
    damage: Callable[[Path], object], complaint: str, tmp_path: Path
) -> None:
    hugging_face.save(tmp_path, model("gpt2"), TOKENIZER)
    damage(tmp_path)
    with pytest.raises(InputError) as caught:
        hugging_face.load(tmp_path)
    said = str(caught.value)
    assert complaint in said
    assert str(tmp_path) in said
    assert "\n" not in said


@pytest.mark.slow  # importing transformers alone takes seconds
@pytest.mark.parametrize("name", FITS)
def test_transformers_opens_what_we_wrote_and_computes_the_same(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    made = model(name)
    hugging_face.save(tmp_path, made, TOKENIZER)
    kind = (
        transformers.AutoModelForMaskedLM if "bert" in name else transformers.AutoModelForCausalLM
    )
    theirs, told = kind.from_pretrained(tmp_path, output_loading_info=True)
    assert not told["missing_keys"], told
    assert not told["unexpected_keys"], told
    assert not told["mismatched_keys"], told

    spelled = transformers.AutoTokenizer.from_pretrained(tmp_path)
    tokens = np.array([TOKENIZER.encode(TEXT)[start : start + 12] for start in (0, 20, 33)])
    for row in tokens:
        assert spelled.decode(row.tolist()) == TOKENIZER.decode(row)
    assert spelled(TEXT)["input_ids"] == TOKENIZER.encode(TEXT).tolist()
    assert spelled.pad_token_id == TOKENIZER.id("[PAD]")
    assert theirs.config.pad_token_id == TOKENIZER.id("[PAD]")

    logits, _ = made.forward(tokens)
    with torch.no_grad():
        expected = theirs.eval()(torch.tensor(tokens)).logits.numpy()
    assert expected.dtype == logits.dtype == np.float32
    assert np.abs(expected).max() > 0.5
    # Sums of a few dozen float32 products of about this size.
    assert_allclose(logits, expected, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_what_transformers_has_no_model_for_it_refuses(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    hugging_face.save(tmp_path, model("transformer"), TOKENIZER)
    with pytest.raises(ValueError, match="Unrecognized model"):
        transformers.AutoModelForCausalLM.from_pretrained(tmp_path)

"""Settings: they come from presets, files and options, are checked, and are written back."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handformer.errors import InputError
from handformer.train.config import RunConfig, merge, read_options, read_toml
from handformer.train.presets import PRESETS, preset

# A lone surrogate stands for a byte that isn't UTF-8: it is refused, see below.
words = st.text(st.characters(exclude_categories=["Cs"]))


@given(path=words, lr=st.floats(1e-300, 1e300), shared=st.booleans(), clip=st.none() | st.just(2.5))
def test_what_is_written_is_read(path: str, lr: float, shared: bool, clip: float | None) -> None:
    family = "transformer" if shared else "gpt2"
    train = {"lr": lr, "schedule": "constant"} | ({} if clip is None else {"clip": clip})
    config = RunConfig.read(
        {"model": {"shared": shared, "family": family}, "data": {"path": path}, "train": train}
    )
    assert RunConfig.read(tomllib.loads(config.toml())) == config


def test_the_file_names_and_explains_every_key_also_those_without_a_value() -> None:
    lines = RunConfig().toml().splitlines()
    for name, section in RunConfig():
        for key, field in type(section).model_fields.items():
            assert field.description, f"{name}.{key} is explained nowhere"
            (line,) = (
                x
                for x in lines
                if x.startswith((f"{key} =", f"# {key} =")) and field.description in x
            )
            assert line.startswith("#") == (getattr(section, key) is None)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("train.lr=3e-4", 3e-4),
        ("train.lr=.5", 0.5),
        ("train.lr = 1", 1),
        ("train.lr=1e30", 1e30),
        ("train.lr=true", True),
        ("train.lr='a=b'", "a=b"),
        ("train.lr=a=b", "a=b"),
        ("train.lr=", ""),
        ("train.lr=runs/é #1.txt", "runs/é #1.txt"),
    ],
)
def test_an_option_is_read_as_toml_or_else_as_text(option: str, value: object) -> None:
    assert read_options([option]) == {"train": {"lr": value}}


def test_later_settings_lie_on_top() -> None:
    options = read_options(["train.lr=1", "model.d_k=4", "train.lr=2"])
    assert options == {"train": {"lr": 2}, "model": {"d_k": 4}}
    below = {"train": {"lr": 3, "seed": 1}, "data": {"path": "x"}}
    assert merge(below, options) == {
        "train": {"lr": 2, "seed": 1}, "data": {"path": "x"}, "model": {"d_k": 4},
    }  # fmt: skip
    assert below == {"train": {"lr": 3, "seed": 1}, "data": {"path": "x"}}


@pytest.mark.parametrize(
    "option", ["train", "train.lr", "lr=1", ".lr=1", "train.=1", "a.b.c=1", ""]
)
def test_an_option_of_another_form_is_refused(option: str) -> None:
    with pytest.raises(InputError, match=r"--set .*: expected section\.key=value") as caught:
        read_options([option])
    assert option in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"train": {"lrr": 1}}, "unknown config key train.lrr; did you mean train.lr"),
        ({"data": {"lr": 1}}, "unknown config key data.lr; did you mean train.lr"),
        ({"lr": 1}, "unknown config key lr; did you mean train.lr"),
        ({"modle": {"d_k": 4}}, "unknown config key modle; did you mean model"),
        (
            {"model": {"zzz": 1}},
            "unknown config key model.zzz; there are model.attention, model.context, model.d_ff",
        ),
        ({"train": 3}, "train = 3: input should be a valid dictionary"),
        ({"train": {"steps": 0}}, "train.steps = 0: input should be greater than or equal to 1"),
        ({"train": {"steps": 1.5}}, "train.steps = 1.5: input should be a valid integer"),
        ({"train": {"steps": "many"}}, "train.steps = 'many': input should be a valid integer"),
        ({"train": {"steps": True}}, "train.steps = True: input should be a valid integer"),
        ({"train": {"lr": True}}, "train.lr = True: input should be a valid number"),
        ({"train": {"lr": 0}}, "train.lr = 0: input should be greater than 0"),
        ({"train": {"lr": float("nan")}}, "train.lr = nan: input should be a finite number"),
        ({"train": {"lr": float("inf")}}, "train.lr = inf: input should be a finite number"),
        ({"train": {"clip": float("inf")}}, "train.clip = inf: input should be a finite number"),
        ({"train": {"batch": -1}}, "train.batch = -1: input should be greater"),
        ({"train": {"accumulate": 0}}, "train.accumulate = 0: input should be greater"),
        ({"train": {"warmup": -1}}, "train.warmup = -1: input should be greater"),
        ({"train": {"eval_every": 0}}, "train.eval_every = 0: input should be greater"),
        ({"train": {"checkpoint_every": 0}}, "train.checkpoint_every = 0: input should be"),
        ({"train": {"log_every": 0}}, "train.log_every = 0: input should be greater"),
        ({"train": {"eval_sequences": 0}}, "train.eval_sequences = 0: input should be greater"),
        ({"train": {"beta_1": 1.0}}, "train.beta_1 = 1.0: input should be less than 1"),
        ({"train": {"optimizer": "adam"}}, "train.optimizer = 'adam': input should be 'adamw' or"),
        ({"train": {"dtype": "float16"}}, "train.dtype = 'float16': input should be 'float32' or"),
        ({"train": {"lr": 1e-4, "min_lr": 1e-3}}, "train.min_lr = 0.001 lies above train.lr ="),
        ({"train": {"momentum": 0.9}}, "train.momentum = 0.9 is for train.optimizer = sgd"),
        ({"data": {"validation": 0}}, "data.validation = 0: input should be greater than 0"),
        ({"data": {"path": 7}}, "data.path = 7: input should be a valid string"),
        ({"data": {"path": "\udcff.txt"}}, "'\\udcff.txt': a file's name that isn't UTF-8"),
        ({"data": {"vocab_size": 10}}, "data.vocab_size = 10: input should be greater than or"),
        ({"model": {"n_heads": 3}}, "n_heads = 3 doesn't divide d_model = 128"),
        ({"model": {"n_kv_heads": 3}}, "n_kv_heads = 3 doesn't divide n_heads = 4"),
        ({"model": {"dropout": 1}}, "model.dropout = 1: input should be less than 1"),
        ({"model": {"family": "gpt3"}}, "model.family = 'gpt3': input should be 'gpt2', 'llama'"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_one_line_with_the_key(settings: object, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        RunConfig.read(settings)  # type: ignore[arg-type]
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


def test_a_whole_number_may_stand_for_a_broken_one() -> None:
    assert RunConfig.read({"train": {"lr": 1, "clip": 2}}).train.lr == 1.0


def test_the_rate_falls_to_a_tenth_of_it_unless_told() -> None:
    assert RunConfig.read({"train": {"lr": 1e-3}}).train.final_lr == 1e-4
    assert RunConfig.read({"train": {"lr": 1e-3, "min_lr": 0}}).train.final_lr == 0


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"[train]\nlr = x", "not a TOML file: Invalid value (at line 2"),
        (b"\xff\xfe", "not a TOML file: 'utf-8' codec can't decode"),
        (None, "can't read the config: No such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    content: bytes | None, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "own.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_toml(path)
    assert str(caught.value).startswith(f"{path}: {complaint}")


def test_shakespeare_char_has_the_numbers_that_people_know() -> None:
    config = RunConfig.read(preset("shakespeare-char"))
    model, train = config.model, config.train
    assert (model.n_layers, model.n_heads, model.d_model, model.context) == (4, 4, 128, 64)
    assert (train.batch, train.accumulate, train.steps, model.dropout) == (12, 1, 2000, 0)
    assert (train.lr, train.final_lr, train.warmup) == (1e-3, 1e-4, 100)
    assert (config.data.tokenizer, model.family) == ("characters", "gpt2")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_valid(name: str) -> None:
    RunConfig.read(preset(name))


def test_an_unknown_preset_names_the_near_ones() -> None:
    with pytest.raises(InputError, match="no preset 'shakespeare'; did you mean shakespeare-char"):
        preset("shakespeare")
    with pytest.raises(InputError, match="no preset 'zzz'; there are first, shakespeare-char"):
        preset("zzz")


@pytest.mark.parametrize(
    "number", [2**31, 2**63, 10**50, 16**5000, -(10**50)], ids=lambda n: n.bit_length()
)
@pytest.mark.parametrize("key", ["model.d_ff", "train.batch", "train.steps"])
def test_a_number_that_no_array_can_have_is_refused(key: str, number: int) -> None:
    section, name = key.split(".")
    with pytest.raises(InputError, match=rf"{name} is a number of \d+ bits; expected at most"):
        RunConfig.read({section: {name: number}})


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "9" * 5000, "a = {" * 3000])
def test_a_file_without_end_is_no_toml(text: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(text)
    with pytest.raises(InputError, match="not a TOML file"):
        read_toml(path)

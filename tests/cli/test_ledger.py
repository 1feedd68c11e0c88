"""`handformer ledger`, as it is typed."""

import json
from pathlib import Path
from typing import Any

import pytest

from handformer.train.config import RunConfig
from handformer.train.presets import PRESETS
from tests.cli.typed import Said, typed

SIZES = (
    *("--set", "model.n_layers=3", "--set", "model.d_model=16", "--set", "model.n_heads=2"),
    *("--set", "model.context=9", "--set", "train.batch=5"),
)


def ledger(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Said:
    said = typed(capsys, "ledger", *words)
    assert said.code == 0, said
    assert said.err == ""
    return said


def document(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    found = json.loads(ledger(capsys, *words, "--json").out)
    assert isinstance(found, dict)
    return found


@pytest.fixture(autouse=True)
def _as_wide_as_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_a_ledger(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, name, *SIZES, "--set", "data.tokenizer=bytes")
    model = found["model"]
    assert (model["n_layers"], found["batch"], found["length"]) == (3, 5, 9)
    assert found["bytes"]["total"] == sum(
        amount for name, amount in found["bytes"].items() if name != "total"
    )
    rows = [row for row in found["rows"] if row["path"].endswith("attention.scores")]
    assert len(rows) == (6 if name == "pairs" else 3)
    assert {row["kind"] for row in found["rows"]} == {
        "weight", "weight_gradient", "input", "value", "gradient",
    }  # fmt: skip


def test_the_vocabulary_is_that_of_the_text(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "text.txt"
    path.write_text("abcabd" * 40, encoding="utf-8")
    found = document(capsys, "shakespeare-char", "--data", path, *SIZES)
    assert found["model"]["vocab_size"] == 4
    assert found["vocabulary"] == f"those of {path}"
    last = ("--data", "nowhere.txt", "--set", f"data.path={path}")
    assert document(capsys, "shakespeare-char", *last, *SIZES) == found


def test_a_vocabulary_that_is_set_needs_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ("--set", "model.vocab_size=77", "--data", "nowhere.txt")
    found = document(capsys, "first", *sizes, *SIZES)
    assert found["model"]["vocab_size"] == 77
    assert found["vocabulary"] == "as the config says"


def test_pairs_without_a_text_say_what_they_assume(capsys: pytest.CaptureFixture[str]) -> None:
    said = ledger(capsys, "pairs", *SIZES)
    assert "vocabulary: 256 entries, assumed: give the pairs with --data" in said.out


def test_a_file_is_taken_as_train_takes_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[model]\nvocab_size = 31\nn_layers = 2\n[train]\nbatch = 7\n", "utf-8")
    found = document(capsys, path, "--set", "train.dtype=float64", "--set", "train.batch=3")
    assert (found["batch"], found["dtype"], found["model"]["n_layers"]) == (3, "float64", 2)
    assert found["rows"][0]["shape"] == [31, 128]
    assert found["rows"][0]["bytes"] == 8 * 31 * 128


def test_a_run_has_the_ledger_of_its_config(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sizes = {"vocab_size": 31, "context": 8, "n_layers": 1}
    settings = {"model": sizes, "data": {"path": "-"}, "train": {"batch": 2}}
    (tmp_path / "config.toml").write_text(RunConfig.read(settings).toml(), encoding="utf-8")
    found = document(capsys, tmp_path, "--set", "train.optimizer=sgd")
    assert found["model"]["vocab_size"] == 31
    assert (found["batch"], found["length"], found["bytes"]["moments"]) == (2, 8, 0)


@pytest.mark.parametrize(
    ("settings", "moments"),
    [
        ({"train.optimizer": "adamw"}, 2),
        ({"train.optimizer": "sgd"}, 0),
        ({"train.optimizer": "sgd", "train.momentum": "0.9"}, 1),
    ],
)
def test_the_optimizer_remembers(
    settings: dict[str, str], moments: int, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    amounts = document(capsys, "first", "--set", "model.vocab_size=9", *SIZES, *options)["bytes"]
    assert amounts["moments"] == moments * amounts["weight"]


QUICK = ("first", "--set", "model.vocab_size=40", *SIZES)


def test_the_table_has_a_row_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    out = ledger(capsys, *QUICK).out
    assert "gpt2 (n_layers 3, n_heads 2, d_model 16): " in out
    assert "a step on 5 x 9 tokens, in float32" in out
    (scores,) = (line for line in out.splitlines() if "attention.scores" in line)
    assert scores.split() == [
        "blocks.0..2.attention.scores", "5", "2", "9", "9", "9.72", "kB", "-", "38.9", "k",
    ]  # fmt: skip
    assert max(map(len, out.splitlines())) <= 80


def test_no_name_is_cut_on_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ledger(capsys, "first", "--set", "model.vocab_size=512").out.splitlines()
    (positions,) = (line for line in lines if line.split()[:1] == ["positions"])
    assert positions.split() == ["positions", "12", "64", "6.14", "kB", "d_table_lookup", "-"]
    assert max(map(len, lines)) <= 80


def test_a_wide_table_names_the_axes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    out = ledger(capsys, *QUICK).out
    (attn,) = (line for line in out.splitlines() if "attention.attn" in line)
    assert "b h t s = 5 2 9 9" in attn
    assert "d_scores, d_v" in attn


def memory(line: str) -> float:
    """The first amount of memory in a line, in bytes."""
    words = line.split()
    place = next(i for i, word in enumerate(words) if word in ("B", "kB", "MB"))
    return float(words[place - 1]) * {"B": 1, "kB": 1e3, "MB": 1e6}[words[place]]


def test_by_size_the_largest_is_first(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ledger(capsys, *QUICK, "--by", "size").out.splitlines()
    first = lines.index(next(line for line in lines if "Values, forward" in line))
    last = lines.index(next(line for line in lines if "Gradients, backward" in line))
    amounts = [memory(line) for line in lines[first + 1 : last] if "B " in line]
    assert len(amounts) > 30
    assert amounts == sorted(amounts, reverse=True)


def test_by_price_what_nobody_needs_is_first(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ledger(capsys, *QUICK, "--by", "price").out.splitlines()
    rows = [line.split() for line in lines if " k " in line or " M " in line]
    needed = ["-" not in row for row in rows if row[0].startswith("blocks")]
    assert needed == sorted(needed)
    prices = [float(row[-1]) for row in rows if row[0].startswith("blocks") and "-" not in row]
    assert prices == sorted(prices)


def test_by_part_there_is_a_row_a_part(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ledger(capsys, *QUICK, "--by", "part").out.splitlines()
    names = [line.split("  ")[0].strip() for line in lines]
    for name in ("the model", "embedding", "blocks.0..2.attention", "blocks.0..2", "head", "loss"):
        assert name in names


def test_the_sums_stand_below(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, *QUICK)
    out = ledger(capsys, *QUICK).out
    sums = {line.rsplit("  ", 1)[0].strip(): line for line in out.splitlines() if "  " in line}
    total = found["bytes"]["total"]
    assert abs(memory(sums["in all"]) / total - 1) < 0.005
    assert "the moments of adamw" in sums
    assert "FLOPs forward" in out.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["frist"], "no preset 'frist'; did you mean first"),
        (["mine.toml"], "mine.toml: can't read the config: No such file or directory"),
        (["runs/none"], "runs/none: can't read the config: No such file or directory"),
        (["first", "--set", "model.layers=3"], "unknown config key model.layers; did you mean"),
        (["first", "--set", "train.batch=0"], "train.batch = 0: input should be greater than"),
        (["first", "--set", "batch=3"], "--set batch=3: expected section.key=value"),
        (["first", "--set", "model.n_heads=3"], "n_heads = 3 doesn't divide d_model = 128"),
        (["first", "--data", "nowhere.txt"], "'nowhere.txt' can't be read"),
        (["first", "--by", "weight"], "Invalid value for '--by'"),
    ],
)
def test_what_can_be_wrong_is_one_line(
    words: list[str],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert typed(capsys, "ledger", *words).complaint().startswith(complaint)


def test_sizes_beyond_all_memory_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    huge = ("--set", "model.vocab_size=2147483647", "--set", "model.d_model=2147483644")
    said = typed(capsys, "ledger", "first", *huge)
    assert said.complaint().startswith("out of memory: no array can have the shape (2147483647, ")


def test_a_folder_without_a_run_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert str(tmp_path) in typed(capsys, "ledger", tmp_path).complaint()


def test_help_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--by" in ledger(capsys, "--help").out

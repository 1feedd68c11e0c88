"""`handformer generate`: each kind of model, wrong options and folders, a reader that leaves."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from handformer.train import run
from tests.cli.typed import Said, ended, started, trained, typed
from tests.train import small

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each kind, which tests only read."""
    folder = tmp_path_factory.mktemp("runs")
    for kind in ("gpt2", "bert", "transformer"):
        small.begin(folder / kind, kind, steps=2).go()
    return folder


def generate(capsys: Capsys, folder: Path, prompt: str | None, *words: str) -> Said:
    given = () if prompt is None else ("--prompt", prompt)
    return typed(capsys, "generate", folder, *given, "--max-tokens", "12", *words)


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_decoder_goes_on_from_the_prompt(runs: Path, capsys: Capsys) -> None:
    said = generate(capsys, runs / "gpt2", "The ")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("The ")
    assert len(said.out) == 4 + 12 + 1
    assert generate(capsys, runs / "gpt2" / "model", "The ").out == said.out
    assert generate(capsys, runs / "gpt2", "The ", "--seed", "1").out != said.out


def test_options_reach_the_sampling(runs: Path, capsys: Capsys) -> None:
    greedy = generate(capsys, runs / "gpt2", "The ", "--temperature", "0").out
    for words in (("--top-k", "1"), ("--top-p", "1e-9"), ("--min-p", "1")):
        assert generate(capsys, runs / "gpt2", "The ", *words).out == greedy
    stop = greedy[6]
    stopped = generate(capsys, runs / "gpt2", "The ", "--temperature", "0", "--stop", stop)
    assert stopped.out == greedy[: 4 + greedy[4:].index(stop)] + "\n"
    penalised = ("--temperature", "0", "--repetition-penalty", "1e9")
    assert generate(capsys, runs / "gpt2", "The ", *penalised).out != greedy


@pytest.mark.parametrize("weights", ["float32", "bfloat16", "float16"])
def test_weights_may_be_kept_in_half_the_bits(weights: str, runs: Path, capsys: Capsys) -> None:
    said = generate(capsys, runs / "gpt2", "The ", "--weights", weights)
    assert (said.code, said.err) == (0, "")
    assert len(said.out) == 4 + 12 + 1


def test_an_encoder_fills_gaps_and_an_encoder_decoder_answers(runs: Path, capsys: Capsys) -> None:
    filled = generate(capsys, runs / "bert", "Th[MASK] c[MASK]t")
    assert filled.code == 0
    assert (filled.out[:2], filled.out[3:5], filled.out[6:]) == ("Th", " c", "t\n")
    assert generate(capsys, runs / "transformer", "abc").code == 0


@pytest.mark.parametrize(
    ("kind", "text"), [("gpt2", "The cat\n"), ("bert", "a[MASK]\n"), ("transformer", "ab\n")]
)
def test_a_prompt_may_be_piped(
    kind: str, text: str, runs: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, text.encode())
    said = generate(capsys, runs / kind, None)
    assert said.code == 0
    given = text if kind == "gpt2" else text.rstrip("\n")  # a line's end is no part of a question
    assert said == generate(capsys, runs / kind, given)


@pytest.mark.parametrize(
    ("kind", "prompt", "words", "complaint"),
    [
        ("gpt2", "Ω", (), "character 'Ω'"),
        ("gpt2", "", (), "the vocabulary has no begin token (such as [BOS]); give a prompt of at"),
        ("gpt2", "The ", ("--top-k", "0"), "top_k 0: expected a whole number from 1 on"),
        ("gpt2", "The ", ("--top-p", "1.5"), "top_p 1.5: expected above 0 and at most 1"),
        ("gpt2", "The ", ("--min-p", "-1"), "min_p -1.0: expected 0 to 1"),
        ("gpt2", "The ", ("--temperature", "-1"), "temperature -1.0: expected 0"),
        ("gpt2", "The ", ("--temperature", "nan"), "temperature nan: expected 0"),
        ("gpt2", "The ", ("--repetition-penalty", "0"), "repetition_penalty 0.0: expected a num"),
        ("gpt2", "The ", ("--max-tokens", "-1"), "max_tokens -1: expected a whole number from 0"),
        (
            "gpt2",
            "The ",
            ("--weights", "int8"),
            "weights 'int8': expected one of float32, bfloat16",
        ),
        ("bert", "The cat", (), "no gap in a text of 7 tokens: expected the mask token in it"),
        ("bert", "[MASK]" * 9, (), "the text has 9 tokens: expected at most 8, its context; cut"),
        ("transformer", "", (), "source 0 has no tokens: expected at least one"),
        ("transformer", "abcdabcda", (), "source 0 has 9 tokens: expected at most 8, the model's"),
        ("transformer", "abc", ("--temperature", "-1"), "temperature -1.0: expected 0"),
    ],
)
def test_a_wrong_prompt_or_option_is_one_line(
    kind: str, prompt: str, words: tuple[str, ...], complaint: str, runs: Path, capsys: Capsys
) -> None:
    said = generate(capsys, runs / kind, prompt, *words)
    assert complaint in said.complaint()
    assert said.out == ""


def test_without_a_prompt_there_has_to_be_a_pipe(
    runs: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, b"")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert generate(capsys, runs / "gpt2", None).complaint().startswith("no prompt: give one with")
    piped(monkeypatch, b"ab\xffc")
    complaint = generate(capsys, runs / "gpt2", None).complaint()
    assert complaint.startswith("standard input isn't UTF-8 text (byte 2 is 0xff)")


def test_a_folder_without_a_model_is_one_line(runs: Path, tmp_path: Path, capsys: Capsys) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "none", tmp_path / "file"):
        assert "no such folder; give a run's" in generate(capsys, folder, "x").complaint()
    (tmp_path / "empty").mkdir()
    complaint = generate(capsys, tmp_path / "empty", "x").complaint()
    assert complaint.startswith(f"{tmp_path}/empty/config.json: no model here")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("cut", [0, 0.5, None])
def test_a_damaged_model_is_one_line(
    name: str, cut: float | None, runs: Path, tmp_path: Path, capsys: Capsys
) -> None:
    folder = Path(shutil.copytree(runs / "gpt2", tmp_path / "run"))
    path = folder / "model" / name
    if cut is None:
        path.unlink()
    else:
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * cut)])
    complaint = generate(capsys, folder, "The ").complaint()
    assert name in complaint
    assert str(folder) in complaint


def test_a_reader_that_has_seen_enough_is_no_accident(runs: Path) -> None:
    process = started(
        "generate", str(runs / "gpt2"), "--prompt", "The ", "--max-tokens", "100000", folder=runs
    )
    assert process.stdout is not None
    assert process.stdout.read(6).startswith("The ")
    process.stdout.close()
    process.stdout = None
    said = ended(process)
    assert (said.code, said.err) == (141, "")


def test_a_trained_run_generates(tmp_path: Path, capsys: Capsys) -> None:
    assert generate(capsys, trained(capsys, tmp_path), "The ").code == 0


def test_a_terminal_that_cannot_show_a_character_gets_a_substitute(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("é" * 200, encoding="utf-8")
    run.begin(small.settings("gpt2", tmp_path / "text.txt", steps=1), tmp_path / "run").go()
    command = [sys.executable, "-m", "handformer", "generate", str(tmp_path / "run")]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*command, "--max-tokens", "3"], input="é".encode(), capture_output=True, check=True,
        env=environment,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (b"????\n", b"")

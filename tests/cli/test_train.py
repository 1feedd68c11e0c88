"""`handformer train`: what it prints and leaves, and that a mistake leaves nothing."""

import io
import re
import shlex
import signal
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from handformer.train import checkpoint, log, loop
from handformer.train.config import RunConfig
from handformer.train.run_folder import RunFolder
from tests.cli.typed import SMALL, Said, ended, started, trained, typed
from tests.train import small

Capsys = pytest.CaptureFixture[str]
usually_quick = pytest.mark.usefixtures("quick")


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def train(capsys: Capsys, folder: Path, *words: str | Path) -> Said:
    return typed(capsys, "train", "--out", folder / "run", *SMALL, *words)


@usually_quick
def test_a_run_ends_with_three_commands_that_work(tmp_path: Path, capsys: Capsys) -> None:
    path = small.data(tmp_path, "gpt2")
    said = typed(capsys, "train", "--data", path, "--out", tmp_path / "a run", *SMALL)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith(
        f"{path}: 1,200 characters, 1,200 tokens, 15 different ones, sha256 "
    )
    assert lines[1] == "gpt2: 1 layer, 2 heads, width 16, context 8: 3,680 weights; seed 0"
    assert re.search(
        rf"validation loss \d\.\d{{4}} after 4 steps; in {tmp_path}/a run:\n", said.out
    )
    commands = [
        line for line in lines if re.match("  handformer (generate|example|selfcheck)", line)
    ]
    assert lines[-3:] == commands
    assert commands[0] == f"  handformer generate '{tmp_path}/a run' --prompt 'The '"
    for command in commands[:2]:
        assert typed(capsys, *shlex.split(command)[1:]).code == 0


@usually_quick
def test_the_shakespeare_preset_learns_from_a_file(tmp_path: Path, capsys: Capsys) -> None:
    path = small.data(tmp_path, "gpt2")
    words = ("--preset", "shakespeare-char", "--data", path, "--set", "train.steps=1")
    said = typed(
        capsys, "train", "--out", tmp_path / "run", *words, "--set", "train.eval_sequences=1"
    )
    assert said.code == 0
    assert "gpt2: 4 layers, 4 heads, width 128, context 64: " in said.out
    config = RunFolder(tmp_path / "run").read_config()
    assert (config.train.batch, config.model.dropout) == (12, 0)


@usually_quick
@pytest.mark.parametrize(("preset", "kind"), [("masked", "bert"), ("pairs", "transformer")])
def test_masked_and_pairs_train(preset: str, kind: str, tmp_path: Path, capsys: Capsys) -> None:
    said = train(capsys, tmp_path, "--preset", preset, "--data", small.data(tmp_path, kind))
    assert said.code == 0
    assert RunFolder(tmp_path / "run").read_config().model.family == kind


@usually_quick
def test_standard_input_is_a_text_and_can_be_gone_on_with(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(small.text().encode())))
    said = train(capsys, tmp_path, "--data", "-")
    assert said.out.startswith("standard input: 1,200 characters")
    again = typed(capsys, "train", "--resume", tmp_path / "run", "--set", "train.steps=5")
    assert again.code == 0
    assert "going on from step 4\n" in again.out


@usually_quick
def test_settings_come_from_preset_file_and_options_in_this_order(
    tmp_path: Path, capsys: Capsys
) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[train]\nbatch = 3\nlr = 2e-3\n[data]\npath = "from the file"\n')
    shown = typed(
        capsys, "train", "--preset", "pairs", "--config", file, "--set", "train.lr=3e-3",
        "--data", "-", "--out", tmp_path / "run", "--show-config",
    )  # fmt: skip
    assert (shown.code, shown.err) == (0, "")
    config = RunConfig.read(tomllib.loads(shown.out))
    assert (config.train.smoothing, config.train.batch, config.train.lr) == (0.1, 3, 3e-3)
    assert (config.data.path, config.model.family) == ("-", "transformer")
    assert not (tmp_path / "run").exists()


@usually_quick
def test_the_settings_of_a_run_are_shown_and_make_the_same_run(
    tmp_path: Path, capsys: Capsys
) -> None:
    folder = trained(capsys, tmp_path)
    shown = typed(capsys, "train", "--resume", folder, "--set", "train.steps=7", "--show-config")
    config = RunConfig.read(tomllib.loads(shown.out))
    assert config.train.steps == 7
    assert config.data.path == str(tmp_path / "text.txt")
    again = typed(capsys, "train", "--config", folder / "config.toml", "--out", tmp_path / "again")
    assert again.code == 0
    assert small.entries(RunFolder(tmp_path / "again")) == small.entries(RunFolder(folder))


WRONG_TEXTS: dict[str, tuple[bytes | None, str]] = {
    "missing": (None, "can't be read (No such file or directory)"),
    "empty": (b"", "holds no text at all"),
    "one character": (b"a", "holds nothing but 'a'"),
    "binary": (b"ab\0cd" * 100, "is binary (byte 2 is zero), expected text"),
    "not UTF-8": (b"ab\xffcd" * 100, "is not UTF-8 text (byte 2 is 0xff"),
    "cut": ("é".encode() * 100 + b"\xc3", "is cut inside a UTF-8 character at byte 200 of 201"),
    "short": (b"abcabcabc", "the text has 9 tokens, and context 8 needs at least 18"),
}


@pytest.mark.parametrize(("data", "complaint"), WRONG_TEXTS.values(), ids=WRONG_TEXTS)
@pytest.mark.parametrize("source", ["file", "-"])
def test_a_text_that_will_not_do_is_one_line(
    data: bytes | None, complaint: str, source: str, tmp_path: Path, capsys: Capsys,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = tmp_path / "text.txt"
    if source == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data or b"")))
        complaint = WRONG_TEXTS["empty"][1] if data is None else complaint
    elif data is not None:
        path.write_bytes(data)
    before = listing(tmp_path)
    said = train(capsys, tmp_path, "--data", path if source == "file" else "-")
    assert complaint in said.complaint()
    assert said.out == ""
    assert listing(tmp_path) == before
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--set model.n_heads=3", "n_heads = 3 doesn't divide d_model = 16"),
        ("--set train.lrr=1", "unknown config key train.lrr; did you mean train.lr"),
        ("--set train.lr", "--set train.lr: expected section.key=value, as in train.lr=3e-4"),
        ("--set train.lr=nan", "train.lr = nan: input should be a finite number"),
        ("--set train.lr=inf", "train.lr = inf: input should be a finite number"),
        ("--set train.lr=fast", "train.lr = 'fast': input should be a valid number"),
        ("--set train.steps=0", "train.steps = 0: input should be greater than or equal to 1"),
        ("--config {folder}/wrong.toml", "unknown config key trian; did you mean train"),
        ("--config {folder}/none.toml", "{folder}/none.toml: can't read the config: No such file"),
        ("--config {folder}/text.txt", "{folder}/text.txt: not a TOML file: "),
        ("--preset mask", "no preset 'mask'; did you mean masked"),
        ("--preset pairs --data {folder}/text.txt", "{folder}/text.txt, line 1: no tab in 'then"),
        (
            "--preset pairs --data {folder}/bad.tsv",
            "{folder}/bad.tsv, line 2: 2 tabs in 'c\\td\\te'",
        ),
        ("--set model.family=transformer", "family = transformer trains with one vocabulary for"),
        ("--set data.tokenizer=words", "data.tokenizer = 'words': expected characters, bytes, bpe"),
        ("--set model.vocab_size=7", "model.vocab_size = 7: the tokenizer has 15 entries, and so"),
        ("--set data.sha256=0a", "{folder}/text.txt: another text than this run's (sha256"),
        ("--out {folder}/text.txt", "{folder}/text.txt: not a folder; choose another one with"),
        ("--out {folder}/text.txt/run", "{folder}/text.txt: not a folder; choose another one"),
        ("--out {folder}", "{folder}: holds files that aren't a run ("),
        ("--out {folder} --overwrite", "{folder}: holds files that aren't a run ("),
        ("--out /proc/run", "/proc/run: can't be written to (No such file or directory); choose"),
        (
            "--resume {folder}/none",
            "--resume goes on with the run as it was begun; leave --data out",
        ),
        ("--set model.d_model=2000000000", "out of memory: "),
    ],
)
def test_what_is_wrong_is_one_line_and_leaves_nothing(
    words: str, complaint: str, tmp_path: Path, capsys: Capsys
) -> None:
    path = small.data(tmp_path, "gpt2")
    (tmp_path / "wrong.toml").write_text("[trian]\nlr = 1\n")
    (tmp_path / "bad.tsv").write_text("a\tb\nc\td\te\n")
    before = listing(tmp_path)
    given = [word.format(folder=tmp_path) for word in words.split()]
    said = train(capsys, tmp_path, "--data", path, *given)
    assert said.complaint().startswith(complaint.format(folder=tmp_path))
    assert said.out == ""
    assert listing(tmp_path) == before


def test_sequence_pairs_need_a_file(tmp_path: Path, capsys: Capsys) -> None:
    said = train(capsys, tmp_path, "--preset", "pairs")
    assert said.complaint().startswith(
        "family = transformer learns from sequence pairs: give a TSV"
    )


@usually_quick
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--out {run} --data {text}", "{run}: holds a run already; go on with --resume, choose"),
        ("--resume {run}/model", "{run}/model: no run here (no config.toml)"),
        (
            "--resume {run} --out x",
            "--resume goes on with the run as it was begun; leave --out out",
        ),
        (
            "--resume {run} --preset pairs",
            "--resume goes on with the run as it was begun; leave --p",
        ),
        (
            "--resume {run} --overwrite",
            "--resume goes on with the run as it was begun; leave --over",
        ),
        ("--resume {run} --set model.d_k=3", "model.d_k = 3: can't change in a run that has begun"),
        (
            "--resume {run} --set data.path=x",
            "data.path = 'x': can't change in a run that has begun",
        ),
        (
            "--resume {run} --set train.steps=2",
            "{run}: 4 updates are made already; train.steps = 2",
        ),
    ],
)
def test_a_run_that_is_there_is_not_touched(
    words: str, complaint: str, tmp_path: Path, capsys: Capsys
) -> None:
    run = trained(capsys, tmp_path)
    names = {"run": run, "text": tmp_path / "text.txt"}
    before = listing(tmp_path)
    said = typed(capsys, "train", *(word.format(**names) for word in words.split()))
    assert said.complaint().startswith(complaint.format(**names))
    assert listing(tmp_path) == before


@usually_quick
def test_overwriting_begins_anew(tmp_path: Path, capsys: Capsys) -> None:
    run = trained(capsys, tmp_path)
    (run / "notes.txt").write_text("mine")
    said = train(
        capsys, tmp_path, "--data", tmp_path / "text.txt", "--overwrite", "--set", "train.steps=2"
    )
    assert said.code == 0
    assert RunFolder(run).newest().step == 2  # type: ignore[union-attr]
    assert (run / "notes.txt").exists()


@usually_quick
def test_a_run_that_diverges_says_so_with_code_1_and_can_be_gone_on_with(
    tmp_path: Path, capsys: Capsys
) -> None:
    run = trained(capsys, tmp_path)
    wild = ("--set", "train.lr=1e30", "--set", "train.clip=1e30", "--set", "train.steps=9")
    said = typed(capsys, "train", "--resume", run, *wild)
    assert re.match(
        r"step [56]: the \w+ .*; the last good checkpoint is step-000004; ", said.complaint(1)
    )
    lower = ("--set", "train.lr=1e-3", "--set", "train.clip=1")
    assert typed(capsys, "train", "--resume", run, *lower).code == 0
    assert [e["step"] for e in log.read(run / "log.jsonl") if "validation_loss" in e] == [4, 9]


@usually_quick
def test_ctrl_c_saves_and_says_how_to_go_on(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = loop.update

    def interrupted(*given: object, **options: object) -> object:
        signal.raise_signal(signal.SIGINT)
        return update(*given, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(loop, "update", interrupted)
        said = typed(
            capsys,
            "train",
            "--data",
            small.data(tmp_path, "gpt2"),
            "--out",
            tmp_path / "a run",
            *SMALL,
        )
    assert (said.code, said.err) == (130, "")
    assert said.out.splitlines()[-3:] == [
        "stopped after step 1; all is saved. To go on:",
        "",
        f"  handformer train --resume '{tmp_path}/a run'",
    ]
    assert typed(capsys, *shlex.split(said.out.splitlines()[-1])[1:]).code == 0


# Steps without end, and a curve that doesn't depend on their number.
ENDLESS = {"steps": 100_000, "schedule": "constant", "checkpoint_every": 3, "log_every": 1}


def options(**train: object) -> list[str]:
    settings = small.settings("gpt2", "-", **(ENDLESS | {"eval_every": 100_000} | train))
    del settings["data"]
    pairs = [
        f"{section}.{key}={value}"
        for section, keys in settings.items()
        for key, value in keys.items()
    ]
    return [word for pair in pairs for word in ("--set", pair)]


def when(reached: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, "the run doesn't get on"
        time.sleep(0.01)


def logged(folder: RunFolder) -> int:
    found = log.read(folder.log) if folder.log.exists() else []
    return found[-1]["step"] if found else 0


def assert_goes_on_like_the_unbroken(folder: RunFolder, capsys: Capsys) -> None:
    """A few steps more, and then one run more that makes them all without a break."""
    newest = folder.newest()
    assert newest is not None
    steps = newest.step + 5
    more = typed(capsys, "train", "--resume", folder.path, "--set", f"train.steps={steps}")
    assert more.code == 0, more
    whole = RunFolder(folder.path.with_name("whole"))
    path = small.data(folder.path.parent, "gpt2")
    words = ("--data", path, "--out", whole.path, *options(steps=steps))
    assert typed(capsys, "train", *words).code == 0
    assert small.entries(folder) == small.entries(whole)
    small.assert_same(folder.newest(), whole.newest())


@usually_quick
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_a_signal_to_the_process_saves_and_the_run_goes_on(
    number: int, code: int, tmp_path: Path, capsys: Capsys
) -> None:
    path, folder = small.data(tmp_path, "gpt2"), RunFolder(tmp_path / "run")
    words = ("train", "--data", path, "--out", folder.path, *options())
    process = started(*map(str, words), folder=tmp_path)
    when(lambda: logged(folder) > 5)
    process.send_signal(number)
    said = ended(process)
    assert (said.code, said.err) == (code, "")
    step = int(re.findall(r"stopped after step (\d+); all is saved", said.out)[0])
    newest = folder.newest()
    assert newest is not None
    assert newest.step == step == logged(folder)
    assert folder.sample.exists()
    assert folder.loss_svg.exists()
    assert_goes_on_like_the_unbroken(folder, capsys)


@pytest.mark.slow
@usually_quick
def test_a_kill_at_any_moment_leaves_a_run_that_goes_on(tmp_path: Path, capsys: Capsys) -> None:
    path, folder = small.data(tmp_path, "gpt2"), RunFolder(tmp_path / "run")
    words = ["train", "--data", str(path), "--out", str(folder.path), *options()]
    for turn in range(6):
        step = logged(folder)
        process = started(*words, folder=tmp_path)
        when(lambda step=step: logged(folder) > step + 5)  # type: ignore[misc]
        time.sleep(0.013 * turn)
        process.kill()
        assert ended(process).code == -signal.SIGKILL
        for place in checkpoint.whole(folder.checkpoints):
            checkpoint.read(place)
        generate = ("generate", folder.path, "--prompt", "The ", "--max-tokens", "2")
        assert typed(capsys, *generate).code == 0
        words = ["train", "--resume", str(folder.path)]
    (folder.checkpoints / ".step-000001.1.part").mkdir()
    assert_goes_on_like_the_unbroken(folder, capsys)
    assert not list(folder.path.rglob(".*"))


@pytest.mark.slow
def test_where_nobody_reads_any_more_the_run_stops_and_is_saved(tmp_path: Path) -> None:
    path, folder = small.data(tmp_path, "gpt2"), RunFolder(tmp_path / "run")
    words = ("train", "--data", path, "--out", folder.path, *options(eval_every=20))
    process = started(*map(str, words), folder=tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline().startswith(str(path))
    when(lambda: logged(folder) > 1)
    process.stdout.close()
    process.stdout = None
    said = ended(process)
    assert (said.code, said.err) == (141, "")
    assert folder.newest().step == logged(folder)  # type: ignore[union-attr]

"""The readers and writers in other languages, compiled and run where their tools are.

Each program computes q, k and the scores of block 0 from a case's own weights and input.
"""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from safetensors.numpy import load_file, save_file

from handformer.checking import exchange
from tests.tracing.small import traced

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "exchange"
AT = "blocks.0.attention."
STRICT = ("-Wall", "-Wextra", "-Werror", "-O1")


@dataclass(frozen=True)
class Language:
    """Its tool, how a program is made of the sources, and how it is run."""

    tool: str
    build: Callable[[Path, Path], list[str]]
    command: Callable[[Path, Path], list[str]]


def compiled(_: Path, made: Path) -> list[str]:
    return [str(made)]


LANGUAGES = {
    "c": Language(
        "gcc",
        lambda at, to: ["gcc", "-std=c11", *STRICT, "-o", str(to), str(at / "attention.c"), "-lm"],
        compiled,
    ),
    "cpp": Language(
        "g++",
        lambda at, to: ["g++", "-std=c++17", *STRICT, "-o", str(to), str(at / "attention.cpp")],
        compiled,
    ),
    "rust": Language(
        "rustc",
        lambda at, to: ["rustc", "--edition=2021", "-Dwarnings", "-o", str(to),
                        str(at / "attention.rs")],
        compiled,
    ),
    "go": Language(
        "go", lambda _, to: ["go", "build", "-o", str(to)], compiled
    ),
    "javascript": Language(
        "node", lambda *_: [], lambda at, _: ["node", str(at / "attention.mjs")]
    ),
    "julia": Language("julia", lambda *_: [], lambda at, _: ["julia", str(at / "attention.jl")]),
}  # fmt: skip


@pytest.fixture(scope="module", params=LANGUAGES)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    language = LANGUAGES[request.param]
    if shutil.which(language.tool) is None:
        pytest.skip(f"no {language.tool} on this machine")
    folder = tmp_path_factory.mktemp("sources")
    at = Path(shutil.copytree(EXAMPLES / request.param, folder / "here"))
    build = language.build(at, folder / "program")
    if build:
        subprocess.run(build, cwd=at, check=True)
    return language.command(at, folder / "program")


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("case") / "case.safetensors"
    traced("gpt2").save(path)
    return path


def run(program: list[str], *given: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*program, *map(str, given)], capture_output=True, text=True, check=False)


def test_a_program_computes_from_a_case(program: list[str], case: Path, tmp_path: Path) -> None:
    done = run(program, case, tmp_path / "dump.safetensors")
    assert (done.returncode, done.stderr) == (0, "")
    trace, wrote = traced("gpt2"), load_file(tmp_path / "dump.safetensors")
    x, heads = trace["blocks.0.norm_1.out"], 3
    expected = {}
    for letter in "qk":
        row = x @ trace[f"{AT}w_{letter}"] + trace[f"{AT}b_{letter}"]
        expected[AT + letter] = np.stack(np.split(row, heads, axis=-1), axis=1)
    expected[f"{AT}scores"] = np.einsum(
        "bhtc,bhsc->bhts", expected[f"{AT}q"], expected[f"{AT}k"]
    ) / np.sqrt(4)
    assert {*wrote} == {*expected}
    for name, array in expected.items():
        assert wrote[name].shape == array.shape
        assert_allclose(wrote[name], array, rtol=1e-12, atol=1e-14, err_msg=name)
    found = exchange.match(exchange.read(tmp_path / "dump.safetensors"), trace)
    assert {*found.found} == {*expected}
    assert not found.unknown


def test_a_program_reads_every_type(program: list[str], case: Path, tmp_path: Path) -> None:
    """Weights in float32, whole numbers and truth values for the others."""
    arrays = load_file(case)
    whole = np.arange(2 * 5 * 12).reshape(2, 5, 12) % 7 - 3
    arrays["blocks.0.norm_1.out"] = whole
    arrays[f"{AT}w_q"] = arrays[f"{AT}w_q"].astype(np.float32)
    arrays[f"{AT}b_q"] = np.arange(12) % 3 == 0
    save_file(arrays, tmp_path / "case.safetensors", metadata={"said": 'a "quoted" \\ text {'})
    done = run(program, tmp_path / "case.safetensors", tmp_path / "dump.safetensors")
    assert (done.returncode, done.stderr) == (0, "")
    row = whole @ arrays[f"{AT}w_q"].astype(np.float64) + arrays[f"{AT}b_q"]
    expected = np.stack(np.split(row, 3, axis=-1), axis=1)
    assert_allclose(load_file(tmp_path / "dump.safetensors")[f"{AT}q"], expected, rtol=1e-12)


@pytest.mark.parametrize("damage", ["empty", "tiny", "cut", "short", "missing", "none", "half"])
def test_a_program_refuses_a_broken_case(
    damage: str, program: list[str], case: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.safetensors"
    data = case.read_bytes()
    if damage == "missing":
        arrays = load_file(case)
        del arrays[f"{AT}w_k"]
        save_file(arrays, broken)
    elif damage == "half":
        arrays = load_file(case)
        arrays[f"{AT}w_k"] = arrays[f"{AT}w_k"].astype(np.float16)
        save_file(arrays, broken)
    elif damage != "none":
        kept = {"empty": 0, "tiny": 5, "cut": 100, "short": len(data) // 3}
        broken.write_bytes(data[: kept[damage]])
    done = run(program, broken, tmp_path / "dump.safetensors")
    assert done.returncode not in (0, -11), done.stderr
    assert done.stderr
    assert not (tmp_path / "dump.safetensors").exists()

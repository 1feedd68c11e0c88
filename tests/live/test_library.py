"""Libraries with a C interface, compiled here: the examples, and what goes wrong in C."""

import shutil
import subprocess
from pathlib import Path

import pytest

from handformer.errors import InputError
from handformer.live.api import check_op
from handformer.live.show import answer

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/live"
gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
rustc = pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc")

SIGNATURE = """
#include <stdint.h>
int handformer_forward(
    int n_in, const void *const *in, const int64_t *const *in_shape, const int *in_rank,
    int n_out, void *const *out, const int64_t *const *out_shape, const int *out_rank,
    const double *scalars) {
    const float *x = in[0];
    float *y = out[0];
    int64_t size = 1;
    for (int axis = 0; axis < in_rank[0]; axis++) size *= in_shape[0][axis];
"""


def compiled(folder: Path, source: Path | str) -> str:
    if isinstance(source, str):
        text, source = source, folder / "op.c"
        source.write_text(text, encoding="utf-8")
    made = folder / "op.so"
    command = ["gcc", "-O1", "-shared", "-fPIC", "-Wall", source, "-o", made, "-lm"]
    subprocess.run(command, check=True)
    return str(made)


@gcc
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_example_in_c_is_right(direction: str, tmp_path: Path) -> None:
    report = check_op("softmax", compiled(tmp_path, EXAMPLES / "softmax.c"), direction=direction)
    assert report.fine, answer(report)
    assert [model.calls for model in report.models] == [2, 2]
    assert report.speed is not None
    assert report.speed.ratio > 0


@rustc
def test_the_example_in_rust_is_right(tmp_path: Path) -> None:
    made = tmp_path / "librms_norm.so"
    source = EXAMPLES / "rms_norm.rs"
    subprocess.run(["rustc", "-O", "--crate-type", "cdylib", source, "-o", made], check=True)
    report = check_op("rms_norm", str(made), timed=False)
    assert report.fine, answer(report)
    assert {one.value for one in report.local} == {"rrms", "x_hat", "y"}


@gcc
def test_another_symbol_is_named_after_a_colon(tmp_path: Path) -> None:
    source = (EXAMPLES / "softmax.c").read_text(encoding="utf-8")
    made = compiled(tmp_path, source.replace("handformer_forward", "mine"))
    assert check_op("softmax", f"{made}:mine", timed=False).fine
    with pytest.raises(InputError, match="has no function handformer_forward: export one"):
        check_op("softmax", made)


@gcc
def test_parts_that_are_not_there_are_null(tmp_path: Path) -> None:
    """add's third array is there in one of its two cases; masks are bytes, counts are int64."""
    body = """
    const float *z = in[1], *more = in[2];
    if ((more == 0) != (in_rank[2] == -1)) return 9;
    for (int64_t i = 0; i < size; i++) y[i] = x[i] + z[i] + (more ? more[i] : 0);
    return 0; }"""
    report = check_op("add", compiled(tmp_path, SIGNATURE + body), timed=False)
    assert report.fine, answer(report)


@gcc
def test_truth_values_are_bytes_and_numbers_come_in_order(tmp_path: Path) -> None:
    source = SIGNATURE.replace("const float *x = in[0];\n    float *y = out[0];", "").split(
        "int64_t size"
    )[0]
    body = """
    uint8_t *mask = out[0];
    int64_t queries = (int64_t)scalars[0], keys = (int64_t)scalars[1];
    if (n_in != 0 || out_shape[0][0] != queries || out_shape[0][1] != keys) return 9;
    for (int64_t t = 0; t < queries; t++)
        for (int64_t s = 0; s < keys; s++) mask[t * keys + s] = s <= t + keys - queries;
    return 0; }"""
    report = check_op("masks.causal", compiled(tmp_path, source + body), timed=False)
    assert report.fine, answer(report)
    two = body.replace("= s <= t + keys - queries", "= 2")
    report = check_op("masks.causal", compiled(tmp_path, source + two), timed=False)
    assert report.wrong[0].problem == "holds 2, expected 0 or 1"


@gcc
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("y[size] = 1; for (int64_t i = 0; i < size; i++) y[i] = 0;", "writes beyond the end of y"),
        ("y[-1] = 1;", "writes beyond the end of y"),
        ("((float *)x)[0] = 7; for (int64_t i = 0; i < size; i++) y[i] = 0;", "writes into its in"),
        ("for (int64_t i = 1; i < size; i++) y[i] = 0;", "y has 1 of 7 entries that weren't wri"),
        ("(void)size; (void)y;", "y wasn't written"),
        ("return (int)size;", "returned 7, expected 0"),
        ("*(volatile int *)0 = 1;", "crashed: SIGSEGV"),
        ("for (volatile int i = 1; i; ) {}", "gave no answer within 2 s"),
    ],
)
def test_what_goes_wrong_in_c_has_its_line(body: str, said: str, tmp_path: Path) -> None:
    source = f"{SIGNATURE} (void)x; (void)y; {body} return 0; }}"
    report = check_op("softmax", compiled(tmp_path, source), timed=False, timeout=2)
    assert not report.fine
    line = answer(report)
    assert said in line, line


def test_a_file_that_is_no_library_is_the_users_error(tmp_path: Path) -> None:
    made = tmp_path / "text.so"
    made.write_text("no library", encoding="utf-8")
    with pytest.raises(InputError, match="is no library that can be loaded"):
        check_op("softmax", str(made))

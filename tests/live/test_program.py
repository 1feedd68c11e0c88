"""Programs that get arrays through files, in both forms."""

import sys
from pathlib import Path

import pytest

from handformer.errors import InputError
from handformer.live.api import check_op
from handformer.live.show import answer

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/live"
BACKWARD = """
import json, sys
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
given = load_file(sys.argv[1])
with safe_open(sys.argv[1], "numpy") as file:
    about = json.loads(file.metadata()["handformer"])
assert about == {"op": "rms_norm", "direction": "backward", "gives": ["d_x_hat", "d_x", "d_gamma"]}
d_x_hat = given["d_y"] * given["gamma"]
along = (d_x_hat * given["x_hat"]).mean(axis=-1, keepdims=True)
d_x = given["rrms"][..., None] * (d_x_hat - given["x_hat"] * along)
save_file({"d_x_hat": d_x_hat, "d_x": d_x}, sys.argv[2])
"""


def command(folder: Path, source: str) -> str:
    program = folder / "program.py"
    program.write_text(source, encoding="utf-8")
    return f"{sys.executable} {program} {{inputs}} {{outputs}}"


def test_the_example_reads_and_writes_folders() -> None:
    program = f"{sys.executable} {EXAMPLES}/gelu_program.py {{inputs_npy}} {{outputs}}"
    report = check_op("gelu", command=program)
    assert report.fine, answer(report)
    assert [model.model for model in report.models] == ["gpt2 with gelu"]
    assert report.speed is None
    assert "its speed isn't known" in report.notes[0]


def test_safetensors_go_in_and_come_out(tmp_path: Path) -> None:
    report = check_op("rms_norm", command=command(tmp_path, BACKWARD), direction="backward")
    assert report.fine, answer(report)
    assert report.missing == ("d_gamma",)
    wrong = BACKWARD.replace("- given", "+ given")
    report = check_op("rms_norm", command=command(tmp_path, wrong), direction="backward")
    assert {one.value for one in report.wrong} == {"d_x"}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("pass", "wrote nothing to {outputs}"),
        ("raise SystemExit('out of luck')", "ended with exit code 1: out of luck"),
        ("import os; os.kill(os.getpid(), 11)", "crashed: SIGSEGV"),
        ("import sys; open(sys.argv[2], 'w').write('no')", "what can't be read"),
        ("import time; time.sleep(60)", "gave no answer within 2 s"),
        (
            "import subprocess as s, time; s.Popen(['sleep', '60']); time.sleep(60)",
            "gave no answer within 2 s",
        ),
    ],
)
def test_what_goes_wrong_has_its_line(source: str, said: str, tmp_path: Path) -> None:
    report = check_op("softmax", command=command(tmp_path, source), timeout=2)
    assert not report.fine
    assert said in answer(report)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc to look into")
def test_what_a_hanging_program_has_started_ends_with_it(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    source = f"""
import subprocess, time
with open({str(told)!r}, "w") as file:
    file.write(str(subprocess.Popen(["sleep", "60"]).pid))
time.sleep(60)"""
    assert check_op("softmax", command=command(tmp_path, source), timeout=2).broken
    running = Path(f"/proc/{told.read_text()}/cmdline")
    assert not running.exists() or not running.read_bytes()  # gone, or dead and not yet buried


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no_such_program {inputs} {outputs}", "no_such_program: there is no such program"),
        ("cat {inputs}", "has no outputs in braces"),
        ("cat {outputs}", "has no inputs in braces"),
        ("cat '{inputs} {outputs}", "No closing quotation"),
    ],
)
def test_a_command_that_cannot_be_run_is_the_users_error(line: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_op("softmax", command=line)
    with pytest.raises(InputError, match="what is to stand in"):
        check_op("softmax", "module:function", command=line)

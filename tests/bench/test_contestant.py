"""A contestant in its own process: its answers, its memory, and what can go wrong with it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from handformer.bench import serve
from handformer.bench.contestant import Contestant, GoneError, Running
from tests.bench.small import pretender

TORCH = "peers/torch_step.py"


def gone(contestant: Contestant, *, working: bool = False) -> GoneError:
    """How it fails, when it begins or when it works."""
    with Running(contestant, 1) as running:
        if working:
            running.ready()
        with pytest.raises(GoneError) as caught:
            running.work(0) if working else running.ready()
    return caught.value


def test_it_says_what_it_did_and_how_long_that_took(tmp_path: Path) -> None:
    body = "time.sleep(0.01)\nreturn {'count': count, 'given': settings}"
    with Running(pretender(tmp_path, body, facts="{'version': '7'}", size=3), 2) as running:
        assert running.ready() == {"version": "7"}
        first = running.work(0)
        assert first.told == {"count": 1, "given": {"size": 3, "threads": 2}}
        assert len(first.times) == 1
        second = running.work(0.1)
        assert second.told["count"] == 1 + len(second.times) > 2
        assert sum(second.times) >= 0.1 - 0.01 - 0.001
        assert all(0.01 <= seconds < 1 for seconds in second.times)


def test_what_it_prints_disturbs_nobody(tmp_path: Path) -> None:
    body = "print('a line')\nos.system('echo another')\nreturn {}"
    with Running(pretender(tmp_path, body), 1) as running:
        running.ready()
        assert running.work(0).told == {}


def test_the_peak_is_that_of_the_work_and_not_of_the_beginning(tmp_path: Path) -> None:
    facts = "(b'x' * 300_000_000).__class__ and {}"  # made, and gone again
    body = "b'x' * 100_000_000 if count == 2 else None\nreturn {}"
    with Running(pretender(tmp_path, body, facts=facts), 1) as running:
        running.ready()
        peaks = [running.work(0).peak for _ in range(3)]
    assert peaks[0] + 90e6 < peaks[1] < peaks[0] + 110e6
    assert peaks[2] == peaks[1]
    if sys.platform == "linux":
        assert peaks[0] < 100e6


def test_its_threads_are_set_before_it_begins(tmp_path: Path) -> None:
    body = "return {'seen': os.environ['OMP_NUM_THREADS']}"
    with Running(pretender(tmp_path, body), 3) as running:
        running.ready()
        assert running.work(0).told == {"seen": "3"}


def test_a_library_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('', name='torch')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    error = gone(Contestant("PyTorch", TORCH))
    assert (str(error), error.absent) == ("torch isn't installed", True)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("print('at work')\nraise ValueError('no luck')", "ValueError: no luck"),
        ("os.kill(os.getpid(), 9)", "ended by signal 9"),
        ("os._exit(3)", "ended with exit code 3"),
    ],
)
def test_one_that_breaks_down(body: str, reason: str, tmp_path: Path) -> None:
    error = gone(pretender(tmp_path, body), working=True)
    assert (str(error), error.absent) == (reason, False)


def test_one_that_has_gone_is_not_asked_in_vain(tmp_path: Path) -> None:
    with Running(pretender(tmp_path, "os._exit(3)"), 1) as running:
        running.ready()
        for _ in range(2):
            with pytest.raises(GoneError, match="exit code 3"):
                running.work(0)


def test_one_that_cannot_begin(tmp_path: Path) -> None:
    assert "KeyError" in str(gone(pretender(tmp_path, "return {}", facts="settings['none']")))
    with pytest.raises(GoneError, match=r"nowhere: No such file"):
        Running(Contestant("P", TORCH, python="/nowhere"), 1)


def test_the_other_end_needs_no_library() -> None:
    tree = ast.parse(Path(serve.__file__).read_text(encoding="utf-8"))
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    assert {*names} <= sys.stdlib_module_names


def test_it_ends_when_nobody_asks_any_more(tmp_path: Path) -> None:
    file = pretender(tmp_path, "return {}").file
    command = [sys.executable, "-P", serve.__file__, file, "{}"]
    done = subprocess.run(
        command, input="0\n", capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    assert len(done.stdout.splitlines()) == 2

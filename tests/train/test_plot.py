"""The picture of the losses: there, the same every time, whole or not at all."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from handformer.errors import InputError
from handformer.train import log
from handformer.train.plot import write_loss


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    for step in range(1, 41):
        log.append(path, {"step": step, "loss": 4.0 / step, "norm": 1.0})
        if step % 10 == 0:
            log.append(path, {"step": step, "validation_loss": 4.5 / step})
    return path


def test_equal_logs_give_equal_bytes(log_path: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    write_loss(log_path, first)
    write_loss(log_path, second)
    assert first.read_bytes() == second.read_bytes()
    assert b"<dc:date>" not in first.read_bytes()
    for label in (
        b"updates",
        b"loss (nats per token)",
        b"training, each batch",
        b"validation",
    ):
        assert b"<!-- " + label + b" -->" in first.read_bytes()
    log.append(log_path, {"step": 41, "loss": 9.0})
    write_loss(log_path, second)
    assert first.read_bytes() != second.read_bytes()


@pytest.mark.parametrize(
    ("kind", "begin"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("PNG", b"\x89P")]
)
def test_other_kinds_of_files(kind: str, begin: bytes, log_path: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.{kind}" for name in "ab"]
    for path in paths:
        write_loss(log_path, path)
    one, two = (path.read_bytes() for path in paths)
    assert one == two
    assert one.startswith(begin)


@pytest.mark.parametrize("name", ["loss", "loss.gif", "loss.svg.txt"])
def test_a_kind_that_is_none_is_refused(name: str, log_path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a picture ends in \.svg, \.png, \.pdf; give it such a"):
        write_loss(log_path, tmp_path / name)


@pytest.mark.parametrize("key", ["loss", "validation_loss"])
def test_one_value_of_one_kind_is_enough(key: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log.append(path, {"step": 1, key: 2.0})
    log.append(path, {"step": 2, key: float("nan")})
    write_loss(path, tmp_path / "loss.svg")
    ElementTree.parse(tmp_path / "loss.svg")


def test_a_log_without_losses_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log.append(path, {"step": 1})
    with pytest.raises(InputError, match="no line holds a loss"):
        write_loss(path, tmp_path / "loss.svg")
    with pytest.raises(InputError, match="can't read the log"):
        write_loss(tmp_path / "absent.jsonl", tmp_path / "loss.svg")
    assert [file.name for file in tmp_path.iterdir()] == ["log.jsonl"]


def test_the_picture_library_is_loaded_only_to_draw_and_keeps_no_window_open() -> None:
    code = (
        "import sys, handformer.train.plot as plot; assert 'matplotlib' not in sys.modules;"
        "from pathlib import Path; from handformer.train import log; import tempfile;"
        "folder = Path(tempfile.mkdtemp()); log.append(folder / 'log', {'step': 1, 'loss': 2.0});"
        "plot.write_loss(folder / 'log', folder / 'loss.svg');"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""The log: what is written is read, and a resumed run's equals an unbroken one's."""

from pathlib import Path

import numpy as np
import pytest

from handformer.errors import InputError
from handformer.train import aside, log

ENTRIES = [{"step": step, "x": 1.1 * step, "é": "\n"} for step in range(5)]


def written(path: Path, entries: list[log.Entry]) -> Path:
    path.unlink(missing_ok=True)
    for entry in entries:
        log.append(path, entry)
    return path


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "log.jsonl", [*ENTRIES])
    log.append(path, {"step": np.int64(9), "loss": np.float32(0.5), "norm": float("inf")})
    assert log.read(path) == [*ENTRIES, {"step": 9, "loss": 0.5, "norm": None}]
    assert path.read_bytes().count(b"\n") == 6


def test_a_kill_at_any_byte_costs_no_whole_line(tmp_path: Path) -> None:
    path = written(tmp_path / "log.jsonl", [*ENTRIES])
    whole = path.read_bytes()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        read = log.read(path)
        assert read == ENTRIES[: len(read)]
        assert len(read) == whole[: cut + 1].count(b"\n")  # a lost line's end is no loss
        # The resumed run goes on after step 2, or after what is left, and ends with the same bytes.
        log.truncate_after(path, 2)
        for entry in ENTRIES[min(3, len(read)) :]:
            log.append(path, entry)
        assert path.read_bytes() == whole


def test_truncating_what_is_not_there_does_nothing(tmp_path: Path) -> None:
    log.truncate_after(tmp_path / "log.jsonl", 3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"",
        b"3",
        b"{}",
        b'{"step": 1.0}',
        b'{"step": true}',
        b'{"step": 1, "x": NaN}',
        b"\xff",
    ],
)
def test_a_bad_line_that_no_kill_can_make_is_named(line: bytes, tmp_path: Path) -> None:
    path = written(tmp_path / "log.jsonl", ENTRIES[:1])
    path.write_bytes(path.read_bytes() + line + b"\n" + b'{"step": 2}\n')
    with pytest.raises(InputError, match=r"log\.jsonl, line 2: expected a JSON object"):
        log.read(path)
    with pytest.raises(InputError, match="line 2"):
        log.truncate_after(path, 1)


def test_a_log_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"log\.jsonl: can't read the log: No such file"):
        log.read(tmp_path / "log.jsonl")


def test_writing_aside_replaces_whole_and_leaves_nothing_when_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "x"
    aside.write(path, b"old")
    aside.write(path, b"new")
    assert path.read_bytes() == b"new"
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        aside.write(tmp_path / "folder", b"data")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder", "x"]

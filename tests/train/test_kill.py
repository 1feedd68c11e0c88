"""A kill before any change of a run's folder leaves a run that goes on as if nothing had been."""

import multiprocessing
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from handformer.train import checkpoint, run, sample
from handformer.train.run_folder import RunFolder
from handformer.weights import hugging_face
from tests.train import small

CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir"}
KILLED = 9
SHORT = {"steps": 2, "checkpoint_every": 1, "eval_every": 2, "accumulate": 1, "batch": 2}


def train(folder: Path, text: Path, number: int, overwrite: bool) -> None:
    """Train in `folder`, and die without a last word before its change with that number."""
    changes = iter(range(1, 10_000))

    def watch(event: str, given: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(given[1], str) and given[1][0] in "wa"
        here = bool(given) and str(given[0]).startswith(str(folder))
        if here and (writes or event in CHANGES) and next(changes) == number:
            os._exit(KILLED)

    sample.TOKENS, sample.SHORT, checkpoint.KEEP = 10, 4, 1
    RunFolder.draw = lambda self: None  # type: ignore[method-assign]
    sys.addaudithook(watch)
    run.begin(small.settings("gpt2", text, **SHORT), folder, overwrite=overwrite).go()


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_kill_before_any_change_leaves_a_run_that_goes_on(
    overwrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    clean = multiprocessing.get_context("forkserver")  # from a process without threads
    clean.set_forkserver_preload([__name__])
    monkeypatch.setattr(checkpoint, "KEEP", 1)
    text = small.data(tmp_path, "gpt2")
    whole = small.begin(tmp_path / "whole", **SHORT)
    whole.go()
    other = tmp_path / "other"
    small.begin(other, seed=7, **SHORT).go()
    settings = small.settings("gpt2", text, **SHORT)

    number, code, begun = 0, KILLED, False
    while code == KILLED:
        number += 1
        folder = tmp_path / "run"
        if overwrite:
            shutil.copytree(other, folder)
        child = clean.Process(target=train, args=(folder, text, number, overwrite))
        child.start()
        child.join()
        code = child.exitcode
        place = RunFolder(folder)
        for found in checkpoint.whole(place.checkpoints):
            checkpoint.read(found)
        if place.model.exists():
            hugging_face.load(place.model)
        if not place.config.exists():  # nothing has begun: the same command works again
            assert not overwrite
            run.begin(settings, folder).go()
        elif overwrite and place.read_config().train.seed == 7:  # the old run, whole or in parts
            run.begin(settings, folder, overwrite=True).go()
        else:
            begun = place.log.exists()
            run.resume(folder, {}).go()
        assert small.entries(place) == small.entries(whole.folder), number
        small.assert_same(place.newest(), whole.folder.newest())
        assert not list(folder.rglob(".*")), number
        shutil.rmtree(folder)
        if overwrite and begun:
            break  # from here on it is as the other case
    assert code == (KILLED if overwrite else 0)
    assert number > 20, number

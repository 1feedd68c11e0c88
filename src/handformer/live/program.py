"""Theirs is a program: arrays go to it and come back through files.

{inputs} is put in as the path of a safetensors file, with every array of the call and every number
under its name; {inputs_npy} as that of a folder with the same as .npy files. At {outputs} it writes
a safetensors file, or a folder of .npy files.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from handformer.errors import InputError
from handformer.live.process import BrokenError, ended

AnyArray = NDArray[Any]


class Program:
    """A command line that is run once for every call."""

    def __init__(self, command: str, *, timeout: float) -> None:
        """Look that there is something to run.

        Raises
        ------
        InputError
            for a command without {outputs} or an input, or whose program isn't there
        """
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise InputError(f"the command {command!r}: {error}") from None
        for hole in ("{inputs", "{outputs}"):
            if hole not in command:
                raise InputError(
                    f"the command {command!r} has no {hole.strip('{}')} in braces: "
                    'expected one as in "./prog {inputs} {outputs}"'
                )
        if shutil.which(self._words[0]) is None:
            raise InputError(f"{self._words[0]}: there is no such program")
        self.timeout = timeout

    def ask(
        self, told: Mapping[str, Any], arrays: Mapping[str, AnyArray]
    ) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """One call and its answer.

        Raises
        ------
        BrokenError
            where it fails, hangs, or writes nothing that can be read
        """
        with tempfile.TemporaryDirectory(prefix="handformer-") as folder:
            here = Path(folder)
            given = {**arrays, **{n: np.array(v) for n, v in told["scalars"].items()}}
            about = {key: told[key] for key in ("op", "direction", "gives")}
            file, npy, out = here / "inputs.safetensors", here / "inputs", here / "outputs"
            save_file(given, file, {"handformer": json.dumps(about)})
            npy.mkdir()
            for name, array in given.items():
                np.save(npy / f"{name}.npy", array, allow_pickle=False)
            places = {"{inputs}": file, "{inputs_npy}": npy, "{outputs}": out}
            self._run([_filled(word, places) for word in self._words])
            return {}, _read(out)

    def _run(self, words: list[str]) -> None:
        nothing = subprocess.DEVNULL
        with tempfile.TemporaryFile() as said:
            try:
                running = subprocess.Popen(
                    words, stdin=nothing, stdout=nothing, stderr=said, start_new_session=True
                )
            except OSError as error:
                raise InputError(f"{words[0]} can't be run: {error.strerror}") from None
            try:
                code = running.wait(self.timeout)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)  # and whatever it has started
                running.wait()
                raise BrokenError(f"gave no answer within {self.timeout:g} s") from None
            if code:
                said.seek(0)
                raise BrokenError(ended(code, said.read()))

    def close(self) -> None:
        """Nothing runs between calls."""


def _filled(word: str, places: Mapping[str, Path]) -> str:
    for hole, path in places.items():
        word = word.replace(hole, str(path))
    return word


def _read(out: Path) -> dict[str, AnyArray]:
    try:
        if out.is_dir():
            return {file.stem: np.load(file, allow_pickle=False) for file in out.glob("*.npy")}
        return load_file(out)
    except FileNotFoundError:
        raise BrokenError("wrote nothing to {outputs}") from None
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        raise BrokenError(f"wrote to {{outputs}} what can't be read: {error}") from None

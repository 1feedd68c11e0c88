"""Of 200 right dumps none is called wrong: whoever computes otherwise, and as he writes it.

A dump is drawn at random: which case, in which order sums are taken and by which other ways to the
same values, what of it is written, under whose names, in which type and format. The numbers are
those of the program in `tests.checking.theirs`, which shares nothing with the package, in float32.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from handformer.checking.api import check
from tests.checking.cases.made import MODELS, info, made
from tests.checking.exchange import conventions
from tests.checking.theirs import model, sums
from tests.checking.theirs.case import read
from tests.checking.theirs.same import SAME

Arrays = dict[str, Any]

COUNT, QUICK = 200, 20  # so many dumps, so many of them without `slow`
# Their queries that see no key have no right values: other ways to mask give others.
UNSEEING = ("gpt2-padded", "llama-padded")
# A row hardly varies: the mean of squares less the square of the mean has no digit left there.
EVEN = "bert-tiny"
# Scores beyond the range of float32's exp: without each row's own maximum they are no numbers.
FAR = "gpt2-stress"


@pytest.mark.parametrize(
    "seed",
    [pytest.param(n, marks=[] if n < QUICK else [pytest.mark.slow]) for n in range(COUNT)],
)
def test_a_right_dump_is_found_right(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    name = str(rng.choice(MODELS))
    ways = _together(name, _ways(name, rng))
    computed = {
        path: array
        for path, array in _computed(name, ways).items()
        if all(SAME[way].shown(path) for way in ways)
    }
    dump = _missing(_named(name, computed, rng), rng)
    report = check(_written(dump, tmp_path, rng), made(name))
    told = {one.path: (one.status, one.hints, one.local or one.against) for one in report.bad}
    assert not told, (name, ways)
    assert not report.unknown, (name, ways)
    assert report.fine


def _ways(name: str, rng: np.random.Generator) -> tuple[str, ...]:
    """Some other ways to the same values, of each step at most one."""
    family = info(name).family
    fits = [
        way
        for way, same in SAME.items()
        if family in same.families
        and not (name in UNSEEING and way.startswith("MASK"))
        and not (name == EVEN and way.startswith("VARIANCE"))
        and not (name == FAR and way.startswith(("SOFTMAX", "MASKED")))
    ]
    drawn = rng.permutation(fits)[: rng.integers(4)].tolist()
    by_step = {way.partition(":")[0]: way for way in drawn}
    return tuple(sorted(by_step.values()))


def _together(name: str, ways: tuple[str, ...]) -> tuple[str, ...]:
    """The ways, or the first of them where one leaves no place for another."""
    try:
        _computed(name, ways)
    except ValueError:
        return ways[:1]
    return ways


@cache
def _computed(name: str, ways: tuple[str, ...]) -> Arrays:
    return dict(model.run(read(made(name)), ways, weights=True))


def _named(name: str, dump: Arrays, rng: np.random.Generator) -> Arrays:
    """Our names, or those of others where they have some for all of it."""
    if info(name).family not in ("gpt2", "llama") or rng.random() < 0.6:
        return dump
    whole = dict(dump)
    for value in made(name).manifest.values:
        paths = (value.path, *value.also)
        found = next((dump[path] for path in paths if path in dump), None)
        whole |= {} if found is None else dict.fromkeys(paths, found)
    sizes = info(name).sizes
    heads = sizes["n_heads"]
    try:
        return conventions.lens(whole, sizes["n_layers"], heads, sizes.get("n_kv_heads", heads))
    except KeyError:  # something of it was computed another way and isn't shown
        return dump


def _missing(dump: Arrays, rng: np.random.Generator) -> Arrays:
    """Some of it, or all, in any order."""
    part = rng.choice([0.1, 0.5, 0.9, 1.0])
    kept = [path for path in rng.permutation(sorted(dump)).tolist() if rng.random() < part]
    return {path: dump[path] for path in kept or [*dump]}


def _stored(dump: Arrays, rng: np.random.Generator) -> Arrays:
    """In float32, in float16, or some in one and some in the other."""
    halves = rng.choice([0.0, 0.0, 0.5, 1.0])
    return {
        path: array.astype(np.float16)
        if array.dtype.kind == "f" and rng.random() < halves
        else array
        for path, array in dump.items()
    }


def _written(dump: Arrays, folder: Path, rng: np.random.Generator) -> Path | Mapping[str, Any]:
    """In any format; in JSON, which knows no types, with eight digits of what float32 holds."""
    kind = rng.choice(["arrays", "safetensors", "npz", "npy", "json"])
    if kind != "json":
        dump = _stored(dump, rng)
    if kind == "arrays":
        return dump
    if kind == "safetensors":
        save_file({p: np.ascontiguousarray(a) for p, a in dump.items()}, folder / "d.safetensors")
        return folder / "d.safetensors"
    if kind == "npz":
        np.savez(folder / "d.npz", **dump)
        return folder / "d.npz"
    if kind == "npy":
        (folder / "d").mkdir()
        for path, array in dump.items():
            np.save(folder / "d" / f"{path}.npy", array)
        return folder / "d"
    texts = {path: _decimal(np.asarray(array)) for path, array in dump.items()}
    (folder / "d.json").write_text(json.dumps(texts))
    return folder / "d.json"


def _decimal(array: Any) -> Any:
    if array.dtype.kind != "f":
        return array.tolist()
    shortened = [float(f"{number:.8g}") for number in array.ravel().tolist()]
    return np.array(shortened).reshape(array.shape).tolist()


def test_the_dumps_differ_in_all_that_is_drawn() -> None:
    drawn = [np.random.default_rng(seed) for seed in range(COUNT)]
    names = [str(rng.choice(MODELS)) for rng in drawn]
    ways = [_ways(name, rng) for name, rng in zip(names, drawn, strict=True)]
    assert {*names} == {*MODELS}
    taken = {way for some in ways for way in some}
    assert len(taken) > 0.8 * len(SAME)
    assert {*sums.WAYS} <= taken
    assert () in ways

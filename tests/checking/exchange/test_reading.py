"""Every format gives the same numbers under the same names; a damaged file is refused."""

import io
import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import save_file

from handformer.checking import exchange
from handformer.errors import InputError

RNG = np.random.default_rng(4)
ARRAYS = {
    "blocks.0.attention.q": RNG.normal(size=(2, 3, 4)),
    "blocks.0.attention.d_q": RNG.normal(size=(2, 3, 4)).astype(np.float32),
    "blocks.0.out": np.array([np.nan, np.inf, -np.inf, -0.0, 1e-40]),
    "tokens": np.array([[1, 2], [3, 4]]),
    "mask": np.array([True, False]),
    "loss.loss": np.array(2.5),
}


def safetensors(folder: Path, arrays: dict[str, Any]) -> Path:
    save_file(arrays, folder / "dump.safetensors")
    return folder / "dump.safetensors"


def npz(folder: Path, arrays: dict[str, Any]) -> Path:
    np.savez(folder / "dump.npz", **arrays)
    return folder / "dump.npz"


def packed(folder: Path, arrays: dict[str, Any]) -> Path:
    np.savez_compressed(folder / "dump.npz", **arrays)
    return folder / "dump.npz"


def flat_folder(folder: Path, arrays: dict[str, Any]) -> Path:
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return folder


def deep_folder(folder: Path, arrays: dict[str, Any]) -> Path:
    for name, array in arrays.items():
        path = folder / f"{name.replace('.', '/')}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, array)
    return folder


def flat_json(folder: Path, arrays: dict[str, Any]) -> Path:
    text = json.dumps({name: array.tolist() for name, array in arrays.items()})
    (folder / "dump.json").write_text(text)
    return folder / "dump.json"


def deep_json(folder: Path, arrays: dict[str, Any]) -> Path:
    tree: dict[str, Any] = {}
    for name, array in arrays.items():
        *above, last = name.split(".")
        node = tree
        for part in above:
            node = node.setdefault(part, {})
        node[last] = {"shape": list(array.shape), "data": array.ravel().tolist()}
    (folder / "dump.json").write_text(json.dumps(tree))
    return folder / "dump.json"


FORMATS: list[Callable[[Path, dict[str, Any]], Path]] = [
    safetensors, npz, packed, flat_folder, deep_folder, flat_json, deep_json,
]  # fmt: skip


@pytest.mark.parametrize("write", FORMATS)
def test_every_format_gives_the_same_numbers(
    write: Callable[[Path, dict[str, Any]], Path], tmp_path: Path
) -> None:
    dump = exchange.read(write(tmp_path, ARRAYS))
    assert {*dump} == {*ARRAYS}
    assert len(dump) == len(ARRAYS)
    assert "tokens" in dump
    assert "token" not in dump
    for name, array in ARRAYS.items():
        found = dump[name]
        assert found.name == name
        assert found.array.shape == array.shape
        assert_array_equal(found.array, array, strict=array.dtype.kind != "f")
        assert found.array.dtype.kind == array.dtype.kind
        assert str(tmp_path) in found.where


def test_lists_of_objects_count_from_zero(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"blocks": [{"out": [1.5]}, {"out": [2.5]}]}')
    dump = exchange.read(tmp_path / "a.json")
    assert [*dump] == ["blocks.0.out", "blocks.1.out"]
    assert dump["blocks.1.out"].array.tolist() == [2.5]


def test_json_knows_what_the_standard_does_not(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": [NaN, Infinity, -Infinity, null, 1e3, -0.5]}')
    found = exchange.read(tmp_path / "a.json")["a"].array
    assert_array_equal(found, [np.nan, np.inf, -np.inf, np.nan, 1000, -0.5])


@pytest.mark.parametrize(
    ("kind", "unit", "stored"),
    [
        (np.float16, 2**-11, np.float32),
        (ml_dtypes.bfloat16, 2**-8, np.float32),
        (ml_dtypes.float8_e4m3fn, 2**-4, np.float32),
        (ml_dtypes.float8_e5m2, 2**-3, np.float32),
        (np.float32, 2**-24, np.float32),
        (np.float64, 2**-53, np.float64),
        (np.int8, 0, np.int8),
        (np.uint16, 0, np.uint16),
    ],
)
def test_each_type_has_its_unit(kind: Any, unit: float, stored: Any, tmp_path: Path) -> None:
    numbers = np.linspace(-2.7, 3.1, 40) * (10 if np.dtype(kind).kind in "iu" else 1)
    array = np.abs(numbers).astype(kind)
    if hasattr(ml_dtypes, np.dtype(kind).name) and np.dtype(kind).kind == "V":
        word = {"bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}
        path = raw(tmp_path, array.tobytes(), word[np.dtype(kind).name], [40])
    else:
        path = safetensors(tmp_path, {"a": array})
    found = exchange.read(path)["a"]
    assert found.unit == unit
    assert found.array.dtype == stored
    assert_array_equal(found.array, array.astype(stored))


def raw(folder: Path, numbers: bytes, kind: str, shape: list[Any], header: str = "") -> Path:
    text = header or json.dumps(
        {"a": {"dtype": kind, "shape": shape, "data_offsets": [0, len(numbers)]}}
    )
    path = folder / "raw.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text.encode() + numbers)
    return path


def test_any_byte_but_zero_is_true(tmp_path: Path) -> None:
    path = raw(tmp_path, b"\x00\xff\x01", "BOOL", [3])
    found = exchange.read(path)["a"].array
    assert found.dtype == np.bool_
    assert found.view(np.uint8).tolist() == [0, 1, 1]


def test_orders_and_bytes_of_npy_files(tmp_path: Path) -> None:
    array = RNG.normal(size=(3, 4, 5))
    np.save(tmp_path / "a.npy", np.asfortranarray(array))
    np.save(tmp_path / "b.npy", array.astype(">f8"))
    np.savez(tmp_path / "c.npz", a=np.asfortranarray(array), b=array.astype(">f4"))
    folder = exchange.read(tmp_path)
    assert_array_equal(folder["a"].array, array)
    assert_array_equal(folder["b"].array, array)
    assert folder["b"].array.dtype.isnative
    packed_one = exchange.read(tmp_path / "c.npz")
    assert_array_equal(packed_one["a"].array, array)
    assert_array_equal(packed_one["b"].array, array.astype(np.float32))
    assert_array_equal(exchange.read(tmp_path / "a.npy")["a"].array, array)


def test_large_files_are_mapped_and_not_to_be_written_to(tmp_path: Path) -> None:
    array = RNG.normal(size=(64, 64)).astype(np.float32)
    np.save(tmp_path / "a.npy", array)
    for path in (tmp_path, safetensors(tmp_path, {"a": array})):
        found = exchange.read(path)["a"].array
        assert not found.flags.owndata
        assert not found.flags.writeable


def test_links_to_files_and_folders_are_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "dump").mkdir()
    np.save(tmp_path / "kept/q.npy", ARRAYS["tokens"])
    (tmp_path / "dump/a").symlink_to(tmp_path / "kept")
    (tmp_path / "dump/b.npy").symlink_to(tmp_path / "kept/q.npy")
    assert [*exchange.read(tmp_path / "dump")] == ["a.q", "b"]


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def header(said: str, numbers: bytes = b"") -> bytes:
    text = said.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + numbers


NPY = npy(np.zeros((4, 5)))
DAMAGED_NPY = {
    "a pickle": (npy(np.array([{}, 1], object)), "a pickle"),
    "text": (npy(np.array(["a"])), "of type <U1"),
    "complex": (npy(np.array([1j])), "of type complex128"),
    "dates": (npy(np.array(["2020-01-01"], "M8[D]")), "of type datetime64"),
    "records": (npy(np.zeros(2, [("a", "f4")])), "of type"),
    "bfloat16": (npy(np.zeros(2, ml_dtypes.bfloat16)), "no bfloat16"),
    "nothing": (b"", "not an .npy file"),
    "another file": (b"PK\x03\x04 or something else", "not an .npy file"),
    "cut in the header": (NPY[:40], "not an .npy file"),
    "cut in the numbers": (NPY[:-8], r"152 bytes of numbers; a float64 of \(4, 5\) has 160"),
    "too long": (NPY + b"\0", "161 bytes"),
    "no entry": (npy(np.zeros((0, 3))), "has no entry"),
    "below zero": (
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -8)}", bytes(64)), "-1"
    ),
    "too large": (
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 99999999999)}"),
        "has 79,999",
    ),
    "no shape": (header("{'descr': '<f8', 'fortran_order': False, 'shape': 'x'}"), "damaged"),
    "no dictionary": (header("[1, 2]"), "damaged"),
    "a call": (header("__import__('os').getcwd()"), "damaged"),
    "a long header": (header(" " * 20000 + "{}"), "damaged"),
    "a version to come": (b"\x93NUMPY\x09\x00" + NPY[8:], "damaged"),
    "deep": (header("(" * 9000 + ")" * 9000), "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED_NPY)
def test_damaged_npy_files_are_refused(name: str, tmp_path: Path) -> None:
    data, said = DAMAGED_NPY[name]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/q.npy").write_bytes(data)
    with zipfile.ZipFile(tmp_path / "q.npz", "w") as archive:
        archive.writestr("q.npy", data)
    for path in (tmp_path / "folder", tmp_path / "folder/q.npy", tmp_path / "q.npz"):
        refused(path, said, "q.npy")


def refused(path: Path, said: str, place: str = "") -> None:
    with pytest.raises(InputError, match=said) as caught:
        [*exchange.read(path).values()]
    assert "\n" not in str(caught.value)
    assert place in str(caught.value)
    assert str(path) in str(caught.value)


HEADER = '{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}'
DAMAGED_TENSORS = {
    "nothing": (b"", "not a safetensors file"),
    "no header": (b"\x10\0\0\0\0\0\0\0{}", "not a safetensors file"),
    "a huge header": (b"\xff\xff\xff\xff\xff\xff\xff\x0f{}", "not a safetensors file"),
    "no arrays": ("{}", "nothing is in it"),
    "a name twice": (HEADER + ', "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}',
                     "'a' stands twice"),
    "a list": ("[]", "not a safetensors file"),
    "another type": ('{"a": {"dtype": "Q7", "shape": [2], "data_offsets": [0, 8]}}',
                     "not a safetensors file"),
    "complex": ('{"a": {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]}}', "of type C64"),
    "no entry": ('{"a": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}',
                 r"its shape \(0,\) has no entry"),
    "offsets": ('{"a": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}',
                "not a safetensors file"),
    "a wrong shape": ('{"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}',
                      "not a safetensors file"),
    "below zero": ('{"a": {"dtype": "F32", "shape": [-2, -1], "data_offsets": [0, 8]}}',
                   "not a safetensors file"),
    "overflow": (HEADER.replace("[2]", "[4294967296, 4294967297]") + "}",
                 "not a safetensors file"),
    "an empty name": ('{"": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}',
                      "is no name"),
    "an odd name": ('{"a\\u001b[31m": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}',
                    "is no name"),
    "deep": ("[" * 5000, "not a safetensors file"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED_TENSORS)
def test_damaged_safetensors_are_refused(name: str, tmp_path: Path) -> None:
    data, said = DAMAGED_TENSORS[name]
    if isinstance(data, bytes):
        (tmp_path / "raw.safetensors").write_bytes(data)
    else:
        raw(tmp_path, bytes(0 if "[0, 0]" in data or data == "{}" else 8), "", [], data)
    refused(tmp_path / "raw.safetensors", said)


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = safetensors(tmp_path, {"a": np.ones((8, 8))})
    whole = path.read_bytes()
    for size in (4, 20, len(whole) - 1):
        path.write_bytes(whole[:size])
        refused(path, "not a safetensors file")


DAMAGED_JSON = {
    "nothing": ("", "not a JSON file"),
    "another file": ("\x00\x01", "not a JSON file"),
    "a list": ("[1, 2]", "expected names on top"),
    "a number": ("3", "expected names on top"),
    "no arrays": ("{}", "nothing is in it"),
    "ragged": ('{"q": [[1, 2], [3]]}', "q: ragged: a list of 1 where the first is a list of 2"),
    "a number among lists": ('{"q": [[1, 2], 3]}', "q: ragged: 3 where"),
    "a list among numbers": ('{"q": [1, [2]]}', "q: a list stands where"),
    "an object among lists": ('{"q": [[1], {"a": 1}]}', "q: ragged"),
    "text": ('{"q": ["1.5"]}', "'1.5' stands where a number"),
    "text for an array": ('{"q": "abc"}', "'abc' stands where a number"),
    "no entry": ('{"q": []}', r"q: its shape \(0,\) has no entry"),
    "no entry inside": ('{"q": [[], []]}', "has no entry"),
    "twice": ('{"q": [1.5], "q": [2.5]}', "'q' stands in it twice"),
    "twice, once nested": ('{"a": {"q": [1.5]}, "a.q": [2.5]}', "'a.q' stands in it twice"),
    "too few": ('{"q": {"shape": [2, 3], "data": [1, 2]}}', "2 numbers; the shape"),
    "below zero": ('{"q": {"shape": [-1, -2], "data": [1, 2]}}', "-1"),
    "half": ('{"q": {"shape": [1.5], "data": [1]}}', "its shape is"),
    "no list": ('{"q": {"shape": 2, "data": [1, 2]}}', "expected a list"),
    "deep": ('{"q": ' + "[" * 90000 + "]" * 90000 + "}", "deep"),
    "deep names": ('{"q":' * 5000 + "1" + "}" * 5000, "deep"),
    "deep lists": ('{"q": ' + "[" * 30 + "1" + "]" * 30 + "}", "deep"),
    "a huge whole number": ('{"q": [1' + "0" * 400 + "]}", "no floating-point type holds"),
    "more digits than are read": ('{"q": [1' + "0" * 5000 + "]}", "not a JSON file"),
    "an empty name": ('{"": [1.5]}', "is no name"),
    "a long name": ('{"' + "q" * 500 + '": [1.5]}', "is no name"),
}


@pytest.mark.parametrize("name", DAMAGED_JSON)
def test_damaged_json_is_refused(name: str, tmp_path: Path) -> None:
    text, said = DAMAGED_JSON[name]
    (tmp_path / "a.json").write_text(text)
    refused(tmp_path / "a.json", said)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"\xff": [1]}')
    refused(tmp_path / "a.json", "not a JSON file")


def test_large_json_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(2**30)
    refused(tmp_path / "a.json", "write safetensors instead")


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    path = packed(tmp_path, {"q": RNG.normal(size=(50, 50))})
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    refused(path, "not an .npz archive")
    path.write_bytes(whole[:300] + bytes(50) + whole[350:])
    refused(path, "damaged", "q.npy")
    path.write_bytes(b"")
    refused(path, "not an .npz archive")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "hello")
    refused(path, "expected .npy files only", "notes.txt")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("q.npy", NPY)
    refused(path, "not packed as NumPy packs", "q.npy")
    with zipfile.ZipFile(path, "w"):
        pass
    refused(path, "nothing is in it")


def test_names_in_an_archive_stand_once(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("q.npy", NPY)
        archive.writestr("p.npy", NPY)
    data = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(data.replace(b"p.npy", b"q.npy"))
    refused(tmp_path / "a.npz", "'q' stands in it twice")


def test_an_archive_that_promises_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("q.npy", NPY)
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02") + 24  # the size in the list at the end
    data[at : at + 4] = struct.pack("<I", 2**31 - 1)
    path.write_bytes(data)
    refused(path, "can't be packed so small")


def test_folders_that_hold_no_dump_are_refused(tmp_path: Path) -> None:
    refused(tmp_path, "no .npy file is in it")
    np.save(tmp_path / "a.q.npy", np.ones(2))
    (tmp_path / "a").mkdir()
    np.save(tmp_path / "a/q.npy", np.ones(2))
    refused(tmp_path, "'a.q' stands in it twice")


def test_links_that_lead_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    np.save(tmp_path / "a/q.npy", np.ones(2))
    (tmp_path / "a/back").symlink_to(tmp_path)
    refused(tmp_path, "a link back to")
    (tmp_path / "a/back").unlink()
    (tmp_path / "a/self.npy").symlink_to(tmp_path / "a/self.npy")
    refused(tmp_path, "leads nowhere")


@pytest.mark.parametrize("name", ["none.json", "none.npz", "none.safetensors", "none"])
def test_where_nothing_is_is_said(name: str, tmp_path: Path) -> None:
    refused(tmp_path / name, "no dump is there")


@pytest.mark.parametrize("name", ["a.pt", "a.bin", "a.pkl", "a"])
def test_other_formats_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"cos\nsystem\n")
    refused(tmp_path / name, "no format of a dump; expected .safetensors, .npz")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.json")
    refused(tmp_path / "a.json", "no dump is there")
    os.mkfifo(tmp_path / "q.npy")
    refused(tmp_path, "no .npy file is in it")

"""Where the page gets its numbers: from a server, a value at a time, or from the page itself."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import handformer as hand
from handformer.inspector.data import document, to_json
from handformer.tracing.trace import Trace
from tests.inspector.models import made
from tests.inspector.test_engine import held
from tests.tracing.small import traced

READ = """async (paths) => {
  const trace = await globalThis.opened;
  const found = [];
  for (const path of paths) {
    const { data, shape, strides } = await trace.array(path);
    found.push([data.constructor.name, [...data].map(Number), shape, strides]);
  }
  return found;
}"""
KINDS = {"float64": "Float64Array", "float32": "Float32Array", "int64": "Float64Array",
         "bool": "Uint8Array"}  # fmt: skip


def served(trace: Trace, folder: Path, asked: list[str]) -> dict[str, Any]:
    """What a server answers about a trace; the ranges that were asked for are noted."""
    path = folder / "served.safetensors"
    trace.save(path)
    raw = path.read_bytes()

    def data(request: Any) -> dict[str, Any]:
        asked.append(request.headers["range"])
        begin, end = map(int, request.headers["range"].removeprefix("bytes=").split("-"))
        return {"status": 206, "body": raw[begin : end + 1], "content_type": "application/x"}

    return {
        "/api/about": json.dumps({"kind": "trace"}),
        "/api/traces": json.dumps([{"id": "1", "title": "a trace"}]),
        "/api/traces/1": to_json(document(trace, path, number="1", title="a trace")),
        "/api/traces/1/data": data,
    }


SERVED = """<script type="module">
  import { openSource } from "./source.js";
  globalThis.opened = openSource().then((source) => source.trace("1"));
</script>"""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("way", ["served", "held"])
def test_every_value_has_the_numbers_of_the_file(
    blank: Callable[..., Any], tmp_path: Path, way: str, dtype: str
) -> None:
    trace = traced("gpt2", dtype)
    if way == "served":
        tab = blank(SERVED, served(trace, tmp_path, []))
    else:
        tab = blank(held(trace, tmp_path))
    for path, (kind, numbers, shape, strides) in zip(
        trace, tab.evaluate(READ, list(trace)), strict=True
    ):
        array = trace[path]
        assert kind == KINDS[array.dtype.name], path
        assert (tuple(shape), numbers) == (array.shape, array.astype(np.float64).ravel().tolist())
        assert [step * array.itemsize for step in strides] == [
            *np.empty(array.shape, array.dtype).strides
        ]


def test_a_value_is_read_once_and_nothing_else_is(
    blank: Callable[..., Any], tmp_path: Path
) -> None:
    asked: list[str] = []
    tab = blank(SERVED, served(traced("gpt2"), tmp_path, asked))
    tab.evaluate(READ, ["blocks.0.attention.attn", "blocks.0.attention.attn"])
    tab.evaluate(READ, ["blocks.0.attention.attn_kept"])  # the same numbers under another name
    assert len(asked) == 1


def test_what_was_used_longest_ago_makes_room(blank: Callable[..., Any]) -> None:
    made = blank().evaluate(
        """async () => {
            const { Cache } = await import("/cache.js");
            const cache = new Cache(100);
            const made = [];
            const get = (key, bytes) => cache.get(key, bytes, async () => made.push(key));
            for (const key of ["a", "b", "a", "c", "a", "b"]) {
              await get(key, 40);
            }
            await cache.get("d", 20, () => Promise.reject(new Error("no"))).catch(() => null);
            await get("e", 500);
            return [made, cache.size];
        }"""
    )
    assert made == [["a", "b", "c", "b", "e"], 500]


def test_tensors_of_other_types_are_read_too(blank: Callable[..., Any], tmp_path: Path) -> None:
    halves = np.array([0, 1, -2.5, 65504, 6e-8, np.inf, -np.inf], np.float16)
    arrays = {
        "F16": halves,
        "I32": np.array([[-1, 2**31 - 1]], np.int32),
        "U8": np.arange(3, dtype=np.uint8),
    }
    save_file(arrays, tmp_path / "others.safetensors")
    raw = (tmp_path / "others.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    tensors = json.loads(raw[8 : 8 + size])
    body = {name: raw[8 + size :][slice(*t["data_offsets"])] for name, t in tensors.items()}
    numbers = blank().evaluate(
        """async (given) => {
            const { decode, fromBase64 } = await import("/tensors.js");
            return given.map(([tensor, text, length]) =>
              [...decode(tensor, fromBase64(text, 0, length)).data].map(String));
        }""",
        [
            [t, base64.b64encode(body[name]).decode(), len(body[name])]
            for name, t in tensors.items()
        ],
    )
    for name, found in zip(tensors, numbers, strict=True):
        given = arrays[name].astype(np.float64).ravel().tolist()
        assert [float(x.replace("Infinity", "inf")) for x in found] == given, name


def test_a_server_that_refuses_says_why(
    blank: Callable[..., Any], tmp_path: Path, complaints: list[str]
) -> None:
    answers = served(traced("gpt2"), tmp_path, [])
    answers["/api/run"] = lambda _: {"status": 400, "body": '{"error": "too long a text"}'}
    tab = blank("", answers)
    said = tab.evaluate(
        """async () => {
            const { openSource } = await import("/source.js");
            const source = await openSource();
            return source.run("x").catch((error) => error.message);
        }"""
    )
    assert said == "too long a text"
    assert "400" in complaints.pop()  # the browser writes that to its console


def test_what_stands_in_what(blank: Callable[..., Any], tmp_path: Path) -> None:
    found = blank(held(traced("gpt2"), tmp_path)).evaluate(
        """async () => {
            const trace = await globalThis.opened;
            const names = (list) => list.map(({ path }) => path);
            return {
              scopes: names(trace.children("")), block: names(trace.children("blocks.1")),
              values: names(trace.values("blocks.1")), parent: trace.parent("blocks.1.mlp.pre"),
            };
        }"""
    )
    stem = ["embedding", "position_embedding", "dropout", "blocks.0", "blocks.1"]
    assert found["scopes"] == [*stem, "norm", "head", "loss"]
    parts = ["norm_1", "attention", "dropout_1", "norm_2", "mlp", "dropout_2"]
    assert found["block"] == [f"blocks.1.{part}" for part in parts]
    assert found["values"] == [f"blocks.1.{n}" for n in ("mid", "out", "d_mid", "d_x")]
    assert found["parent"] == "blocks.1.mlp"


def test_values_and_gradients_find_each_other(blank: Callable[..., Any], tmp_path: Path) -> None:
    trace = traced("gpt2")
    pairs = blank(held(trace, tmp_path)).evaluate(
        """async () => {
            const trace = await globalThis.opened;
            return trace.entries.map(({ path, kind }) =>
              [path, kind, trace.gradientOf(path), trace.valueOf(path)]);
        }"""
    )
    found = {path: (gradient, value) for path, _, gradient, value in pairs}
    assert found["blocks.0.attention.scores"] == ("blocks.0.attention.d_scores", None)
    assert found["blocks.0.attention.d_w_q"] == (None, "blocks.0.attention.w_q")
    assert found["blocks.1.mlp.out"][0] == trace.entry("blocks.1.mlp.d_out").path
    assert found["embedding.table"][0] == "embedding.d_table"
    for path, kind, gradient, value in pairs:
        if kind == "weight":
            assert trace[gradient].shape == trace[path].shape, path
        if value is not None:
            assert trace[value].size == trace[path].size, path


def test_places_have_their_tokens(blank: Callable[..., Any], tmp_path: Path) -> None:
    trace = hand.trace(made("gpt2"), "The cat", positions=[1, 3])
    found = blank(held(trace, tmp_path)).evaluate(
        """async () => {
            const trace = await globalThis.opened;
            return [
              trace.tokenText("t", 1, 0, "blocks.0.out"), trace.tokenText("s", 1, 0, "mask"),
              trace.tokenText("n", 2, 0, "head.out"), trace.tokenText("i", 0),
              trace.tokenText("n", 2, 0, "position_embedding.table"),
            ];
        }"""
    )
    words, text = trace.manifest.vocabulary, trace.manifest.text
    assert words is not None
    assert text is not None
    assert found == [text.tokens[0][3], text.tokens[0][1], words[2], None, None]

"""Names that nothing goes by, names that stand twice, and a table of names of one's own."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from handformer.checking import exchange
from handformer.checking.exchange.arrange import arrange
from handformer.errors import InputError
from tests.checking.cases.made import made
from tests.checking.exchange.test_names import agree, matched
from tests.tracing.small import traced

TRACE = traced("gpt2")
Q = TRACE["blocks.0.attention.q"]


def test_unknown_names_come_with_the_near_ones(tmp_path: Path) -> None:
    strange = ["blocks.1.atention.scores", "blocks.7.attention.q", "blocks.0.attn.hook_qq", "zzz"]
    found = matched(dict.fromkeys(strange, Q), TRACE, tmp_path)
    assert not found.found
    assert found.unknown["blocks.1.atention.scores"][0] == "blocks.1.attention.scores"
    assert found.unknown["blocks.7.attention.q"][0] == "blocks.0.attention.q"
    assert found.unknown["zzz"] == ()
    assert {*found.unknown} == {*strange}


def test_a_hook_of_a_layer_that_is_not_there_is_unknown(tmp_path: Path) -> None:
    found = matched({"blocks.2.attn.hook_q": Q, "blocks.1.attn.hook_rot_q": Q}, TRACE, tmp_path)
    assert {*found.unknown} == {"blocks.2.attn.hook_q"}
    assert {*found.aside} == {"blocks.1.attn.hook_rot_q"}


def test_a_traces_logit_lens_is_left_aside(tmp_path: Path) -> None:
    found = matched(
        {name: TRACE[name] for name in TRACE.keys("lens.*")}, made("gpt2-tiny"), tmp_path
    )
    assert {*found.aside} == {"lens.tokens", "lens.probs", "lens.target"}
    assert not found.unknown


def test_wrong_shapes_and_orders_stay_as_they_are(tmp_path: Path) -> None:
    odd = {"blocks.0.attention.q": Q[:, :, :3], "blocks.0.attn.hook_k": np.ones((2, 7)),
           "transformer.h.1.attn.c_attn.bias": np.ones(35)}  # fmt: skip
    found = matched(odd, TRACE, tmp_path).found
    assert found["blocks.0.attention.q"].array.shape == (2, 3, 3, 4)
    assert found["blocks.0.attention.k"].array.shape == (2, 7)
    assert "not of the axes b s g c" in found["blocks.0.attention.k"].note
    assert found["blocks.0.attention.k"].axes == ()
    for letter in "qkv":
        assert found[f"blocks.1.attention.b_{letter}"].array.shape == (35,)


def test_one_path_twice_is_an_error_unless_it_is_the_same(tmp_path: Path) -> None:
    turned = Q.transpose(0, 2, 1, 3)
    both = {"blocks.0.attention.q": Q, "blocks.0.attn.hook_q": turned.astype(np.float32)}
    (found,) = matched(both, TRACE, tmp_path).found.values()
    assert "also written as blocks.0.attn" in found.note
    both["blocks.0.attn.hook_q"] = turned + 1e-3
    with pytest.raises(InputError, match=r"both are blocks\.0\.attention\.q, and hold different"):
        matched(both, TRACE, tmp_path)
    both["blocks.0.attn.hook_q"] = turned[:, :2]
    with pytest.raises(InputError, match="hold different numbers: leave one of them out"):
        matched(both, TRACE, tmp_path)


def test_a_copy_that_differs_is_kept_apart(tmp_path: Path) -> None:
    out = TRACE["blocks.0.out"]
    same = matched({"blocks.0.out": out, "blocks.1.x": out}, TRACE, tmp_path)
    assert {*same.found} == {"blocks.0.out"}
    assert not same.copies
    other = matched({"blocks.0.out": out, "blocks.1.x": out + 1}, TRACE, tmp_path)
    assert_array_equal(other.found["blocks.0.out"].array, out)
    assert_array_equal(other.copies["blocks.1.x"].array, out + 1)
    assert other.copies["blocks.1.x"].path == "blocks.1.x"
    alone = matched({"blocks.1.x": out}, TRACE, tmp_path)
    assert {*alone.found} == {"blocks.0.out"}


def test_numbers_in_json_have_no_type(tmp_path: Path) -> None:
    wrote = {"blocks.0.norm_1.gamma": [1] * 12, "tokens": TRACE["tokens"].tolist(),
             "mask": TRACE["mask"].astype(int).tolist(), "valid": [[2] * 5] * 2}  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(wrote))
    found = exchange.match(exchange.read(tmp_path / "a.json"), TRACE).found
    assert found["blocks.0.norm_1.gamma"].array.dtype == np.float64
    assert found["blocks.0.norm_1.gamma"].unit > 0
    assert found["tokens"].array.dtype == np.int64
    assert found["tokens"].unit == 0
    assert found["mask"].array.dtype == np.bool_
    assert found["valid"].array.dtype == np.int64


def test_a_divisor_keeps_its_rounding(tmp_path: Path) -> None:
    """One over a rounded divisor is as far off as the divisor: with decimals, times the slope."""
    rstd = TRACE["blocks.0.norm_1.rstd"]
    text = ", ".join(f"{1 / number:.3f}" for number in rstd.ravel())
    (tmp_path / "a.json").write_text(
        f'{{"blocks.0.ln1.hook_scale": {{"shape": [2, 5, 1], "data": [{text}]}}}}'
    )
    found = exchange.match(exchange.read(tmp_path / "a.json"), TRACE).found
    (theirs,) = found.values()
    off = np.abs(theirs.array - rstd)
    assert theirs.array.shape == rstd.shape
    assert off.max() > 5e-4
    assert off.max() <= theirs.quantum < 10 * off.max()


def test_whole_numbers_elsewhere_keep_their_type(tmp_path: Path) -> None:
    found = matched({"blocks.0.norm_1.gamma": np.ones(12, np.int32)}, TRACE, tmp_path).found
    assert found["blocks.0.norm_1.gamma"].array.dtype == np.int32


TABLE = """
[names]
"mine" = "blocks.0.attention.scores"
"layer{l}/q" = "blocks.{l}.attention.q"
"blocks.0.mlp.pre" = "blocks.0.mlp.post"

[axes]
"blocks.*.attention.q" = "b t (h c)"
"*.w_up" = "f i"
"""


def table(text: str, folder: Path) -> exchange.Table:
    (folder / "names.toml").write_text(text)
    return exchange.read_table(folder / "names.toml")


def test_a_table_of_names_and_axes(tmp_path: Path) -> None:
    merged = np.concatenate([TRACE["blocks.1.attention.q"][:, h] for h in range(3)], axis=-1)
    arrays = {"mine": TRACE["blocks.0.attention.scores"], "layer1/q": merged,
              "blocks.0.mlp.pre": TRACE["blocks.0.mlp.post"],
              "blocks.1.mlp.w_up": TRACE["blocks.1.mlp.w_up"].T}  # fmt: skip
    found = matched(arrays, TRACE, tmp_path, table(TABLE, tmp_path))
    assert len(found.found) == 4
    agree(found, TRACE)
    assert found.found["blocks.1.attention.q"].axes == ("b", "t", "(h c)")
    assert found.found["blocks.1.mlp.w_up"].axes == ("f", "i")


def test_a_table_wins_over_every_convention(tmp_path: Path) -> None:
    said = table('[axes]\n"blocks.0.attention.q" = "b h t c"', tmp_path)
    found = matched({"blocks.0.attn.hook_q": Q}, TRACE, tmp_path, said)
    assert_array_equal(found.found["blocks.0.attention.q"].array, Q)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[names", "not a TOML file"),
        ("[nams]\na = 'b'", "unknown section nams; did you mean names"),
        ("names = 3", "expected a section"),
        ("[names]\na = 3", "expected a text"),
        ("[names]\nblocks.0.q = 'x'", "a name with dots in quotation marks"),
        ("[names]\na = 'blocks.0.atention.q'", "did you mean blocks.0.attention.q"),
        ("[names]\na = 'blocks.{l}.attention.q'", "stands once on the left"),
        ("[names]\n'a{l}{l}' = 'blocks.{l}.attention.q'", "stands once on the left"),
        ("[axes]\n'blocks.*.attention.q' = 'b t h'", "has the axes 'b h t c', not 'b t h'"),
        ("[axes]\n'blocks.*.attention.q' = 'b t h h'", "a letter stands twice"),
        ("[axes]\n'blocks.*.attention.q' = 'b (t'", "expected letters, as in"),
        ("[axes]\n'blocks.*.atention.q' = 'b t h c'", "unknown value"),
    ],
)
def test_tables_that_cannot_be_meant(text: str, said: str, tmp_path: Path) -> None:
    arrays = {"a": Q, "blocks.0.attention.q": Q}
    with pytest.raises(InputError, match=said) as caught:
        matched(arrays, TRACE, tmp_path, table(text, tmp_path))
    assert "names.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't read the names"):
        exchange.read_table(tmp_path / "none.toml")


COUNTED: Any = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)


def test_axes_are_moved_split_and_joined() -> None:
    moved = arrange(COUNTED, "b h t c", "b t h c", {})
    assert_array_equal(moved, np.einsum("bhtc->bthc", COUNTED))
    joined = arrange(COUNTED, "b h t c", "b t (h c)", {})
    assert joined is not None
    assert joined[1, 2].tolist() == [int(COUNTED[1, h, 2, c]) for h in range(3) for c in range(5)]
    assert_array_equal(arrange(joined, "b t (h c)", "b h t c", {"h": 3}), COUNTED)
    assert_array_equal(arrange(joined, "b t (h c)", "b h t c", {"c": 5}), COUNTED)
    assert_array_equal(arrange(joined[0], "b t (h c)", "b h t c", {"h": 3}), COUNTED[0])


def test_an_array_that_has_not_these_axes_is_left() -> None:
    assert arrange(COUNTED, "b t", "t b", {}) is None
    assert arrange(COUNTED[0, 0], "t (h c)", "h t c", {}) is None
    assert arrange(COUNTED[0, 0], "t (h c)", "h t c", {"h": 3}) is None
    assert arrange(COUNTED[0, 0], "t (h c)", "h t c", {"h": 5, "c": 2}) is None

"""The map of a value: its colours, the cell that a pixel shows, what is said of many numbers."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

# Of light as a screen gives it: what a person without one kind of cones is left with (Viénot 1999,
# Brettel 1997, in linear red, green and blue).
BLIND = {
    "no red cones": [[0.112, 0.888, 0.0], [0.112, 0.888, 0.0], [0.004, -0.004, 1.0]],
    "no green cones": [[0.292, 0.708, 0.0], [0.292, 0.708, 0.0], [-0.022, 0.022, 1.0]],
    "no blue cones": [[1.014, 0.149, -0.163], [0.0, 0.875, 0.125], [0.0, 0.805, 0.195]],
}
HOLE = re.compile(r"\{(\w+)\}")
PLANE = """(numbers, rows, columns) => ({
  data: Float32Array.from(numbers.map(Number)),
  start: 0, rows, columns, rowStep: columns, columnStep: 1,
})"""


def test_a_pixel_shows_the_entry_of_largest_magnitude(blank: Callable[..., Any]) -> None:
    rng = np.random.default_rng(1)
    plane = rng.normal(size=(83, 41)).astype(np.float32)
    plane[7, 3], plane[64:, :] = np.nan, -np.inf
    mask = rng.random(plane.shape) < 0.5
    masked = np.where(mask, plane, -np.inf)
    tall, wide = 8, 2
    found = blank().evaluate(
        f"""async ([numbers, mask, rows, columns, tall, wide]) => {{
          const [levels, tiles, colours] = await Promise.all(
            ["levels", "tiles", "colours"].map((name) => import(`./${{name}}.js`)));
          const plane = {PLANE};
          const scale = colours.makeScale("diverging", 4, false);
          const held = new levels.Levels(plane(numbers, rows, columns), plane(mask, rows, columns));
          const [width, height] = [Math.ceil(columns / wide), Math.ceil(rows / tall)];
          const image = tiles.paint(held, {{ top: 0, left: 0, tall, wide }}, width, height, scale);
          const colour = (x) => colours.colourOf(scale, Number(x));
          const pixels = [...new Uint32Array(image.data.buffer)];
          return {{ pixels, colours: numbers.map(colour) }};
        }}""",
        [[_said(x) for x in plane.ravel()], mask.ravel().astype(int).tolist(), 83, 41, tall, wide],
    )
    colours = np.array(found["colours"]).reshape(plane.shape)
    expected = []
    for top in range(0, 83, tall):
        for left in range(0, 41, wide):
            part = masked[top : top + tall, left : left + wide]
            seen = np.where(np.isneginf(part), -1, np.where(np.isnan(part), np.inf, np.abs(part)))
            row, column = np.unravel_index(seen.argmax(), seen.shape)
            hidden = seen.max() < 0
            expected.append(0 if hidden else int(colours[top + row, left + column]))
    assert found["pixels"] == expected
    assert 0 in expected  # what is wholly hidden stays clear


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_colours_can_be_told_apart_by_everyone(blank: Callable[..., Any], dark: bool) -> None:
    made = blank().evaluate(
        """async (dark) => {
          const { colourOf, makeScale } = await import("./colours.js");
          const steps = [...Array(21).keys()].map((step) => step / 10 - 1);
          const scale = makeScale("diverging", 1, dark);
          return { colours: steps.map((x) => colourOf(scale, x)), beyond: colourOf(scale, -7) };
        }""",
        dark,
    )
    pixels = np.array(made["colours"], dtype=np.uint32)
    assert made["beyond"] == pixels[0]
    light = np.stack([(pixels >> shift) & 255 for shift in (0, 8, 16)], axis=-1) / 255
    light = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    brightness = light @ [0.2126, 0.7152, 0.0722]
    below, above = brightness[:11], brightness[10:]
    up = 1 if dark else -1
    assert (np.diff(below) * up < 0).all()  # evenly towards the paper of zero, and away from it
    assert (np.diff(above) * up > 0).all()
    for matrix in BLIND.values():
        seen = np.cbrt(np.clip(light @ np.array(matrix).T, 0, 1))
        apart = np.linalg.norm(seen - seen[::-1], axis=-1)
        assert (apart[[0, 2, 4]] > 0.12).all()  # the two signs, from far out to near zero


def test_what_is_said_of_many_numbers_is_true(blank: Callable[..., Any]) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=5000)
    x[:50], x[50:60], x[60:63], x[63] = 0, -np.inf, np.nan, np.inf
    told = blank().evaluate(
        """async (numbers) => {
          const { spread, statistics } = await import("./statistics.js");
          const data = Float64Array.from(numbers.map(Number));
          const found = await statistics(data);
          return { found, counts: [...(await spread(data, found)).counts] };
        }""",
        [_said(each) for each in x],
    )
    finite = x[np.isfinite(x)]
    found = told["found"]
    assert (found["count"], found["finite"], found["zeros"]) == (5000, finite.size, 50)
    assert (found["hidden"], found["nan"], found["infinite"]) == (10, 3, 1)
    assert found["min"] == finite.min()
    assert found["max"] == finite.max()
    np.testing.assert_allclose(found["mean"], finite.mean(), rtol=0, atol=1e-14)
    np.testing.assert_allclose(found["norm"], np.sqrt((finite**2).sum()), rtol=1e-13)
    assert told["counts"] == np.histogram(finite, bins=64)[0].tolist()


def _said(x: float) -> str:
    """A number as JavaScript reads it."""
    return repr(float(x)).replace("nan", "NaN").replace("inf", "Infinity")


@pytest.mark.parametrize(
    ("axes", "wish", "expected"),
    [
        ("bhts", {}, [2, 3, 1]),
        ("bti", {}, [1, 2, None]),
        ("ni", {}, [0, 1, None]),
        ("bht", {}, [2 - 1, 2, None]),
        ("bt", {}, [0, 1, None]),
        ("i", {}, [None, 0, None]),
        ("", {}, [None, None, None]),
        ("lbtk", {}, [2, 3, 0]),
        ("bhts", {"rows": "s", "columns": "t"}, [3, 2, 1]),
        ("bhts", {"many": "-"}, [2, 3, None]),
        ("bhts", {"many": "nonsense", "rows": "h"}, [1, 3, None]),
    ],
)
def test_axes_find_their_places(
    blank: Callable[..., Any], axes: str, wish: dict[str, str], expected: list[int | None]
) -> None:
    laid = blank().evaluate(
        """async ([axes, wish]) => {
          const { layout } = await import("./plane.js");
          const { rows, columns, many } = layout(axes, axes.map(() => 2), wish);
          return [rows, columns, many];
        }""",
        [list(axes), wish],
    )
    assert laid == expected


def test_a_window_in_the_address_is_the_same_window_again(blank: Callable[..., Any]) -> None:
    shown, again, bad = blank().evaluate(
        """async () => {
          const { Zoom, parseWindow, windowText } = await import("./zoom.js");
          const make = () => {
            const zoom = new Zoom(49152, 576);
            zoom.resize(1000, 600);
            return zoom;
          };
          const one = make();
          for (let time = 0; time < 9; time += 1) one.by(1.6, 700, 100);
          const other = make();
          other.show(parseWindow(windowText(one.edges())));
          return [one.edges(), other.edges(), parseWindow("1-2,x-4")];
        }"""
    )
    assert bad is None
    assert shown["bottom"] - shown["top"] < 49152 / 50
    for edge, at in shown.items():
        assert abs(again[edge] - at) < 0.02


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0,1,3", [0, 1, 3]), ("0,2,3", None), ("0,1", None), ("0,-1,3", None), ("0,1,x", None)],
)
def test_only_places_that_exist_are_opened(
    blank: Callable[..., Any], text: str, expected: list[int] | None
) -> None:
    ask = """async (text) => (await import("./walk.js")).parsePlace(text, [1, 2, 4])"""
    assert blank().evaluate(ask, text) == expected


def test_every_word_is_there_in_both_languages(blank: Callable[..., Any]) -> None:
    english, chinese = blank().evaluate(
        """async () => {
          const { WORDS } = await import("./value_words.js");
          return [Object.entries(WORDS.en), Object.entries(WORDS.zh)];
        }"""
    )
    assert {key for key, _ in english} == {key for key, _ in chinese}
    for key, text in english:
        assert sorted(HOLE.findall(dict(chinese)[key])) == sorted(HOLE.findall(text)), key

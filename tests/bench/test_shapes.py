"""The shapes by their names."""

import pytest

from handformer.bench import arithmetic, shapes
from handformer.errors import InputError


def test_lists_of_names() -> None:
    assert [shape.name for shape in shapes.chosen("all")] == ["A", "B", "C", "G"]
    assert [shape.name for shape in shapes.chosen(" g,a,A")] == ["A", "G"]


@pytest.mark.parametrize("names", ["D", "A,,B", "", "AB"])
def test_a_name_of_none(names: str) -> None:
    with pytest.raises(InputError, match="expected a list of A, B, C, G, or all"):
        shapes.chosen(names)


@pytest.mark.parametrize(
    ("name", "millions"), [("A", 0.8), ("B", 10.6), ("C", 123.5), ("G", 134.5)]
)
def test_the_sizes_are_those_that_they_are_known_by(name: str, millions: float) -> None:
    config = shapes.SHAPES[name].config
    assert round(arithmetic.weights(config) / 1e6, 1) == millions

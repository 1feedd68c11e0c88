"""The tour: every example once, in order, its numbers whole and its formulas as trees."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from handformer.examples import EXAMPLES, LANGUAGES, work
from handformer.examples.chinese import CHINESE
from handformer.formula.encode import encode
from handformer.formula.render import formula_text
from handformer.inspector.tour import PARTS, tour

pytestmark = pytest.mark.smoke

each = pytest.mark.parametrize("name", EXAMPLES)
told = pytest.mark.parametrize("language", LANGUAGES)


def numbers(value: Any) -> Any:
    """What JSON writes as a string is a number again."""
    return [numbers(part) for part in value] if isinstance(value, list) else float(value)


def at(array: dict[str, Any], place: list[int]) -> Any:
    value = array["value"]
    for step in place:
        value = value[step]
    return value


def test_the_parts_hold_every_example_once_with_the_identity_first() -> None:
    names = [name for part in PARTS for name in part.examples]
    assert sorted(names) == sorted(EXAMPLES)
    assert [part.name for part in PARTS][:5] == ["attention", "masks", "heads", "norms", "backward"]
    assert names[0] == "identity"
    assert all(list(part.titles) == list(LANGUAGES) for part in PARTS)


@told
def test_it_is_json_and_the_same_numbers_in_each_language(language: str) -> None:
    whole = tour(language)
    read = json.loads(json.dumps(whole, allow_nan=False))
    assert read == whole
    assert [part["examples"] for part in read["parts"]] == [list(part.examples) for part in PARTS]
    english = tour("en")["examples"]
    for name, example in read["examples"].items():
        assert example["arrays"] == english[name]["arrays"]
        assert [step["name"] for step in example["steps"]] == [
            step["name"] for step in english[name]["steps"]
        ]


def test_the_words_are_those_of_the_language() -> None:
    example = tour("zh")["examples"]["identity"]
    telling = CHINESE.texts["identity"]
    assert (example["title"], example["words"]) == (telling.title, telling.words)
    assert {step["name"]: step["words"] for step in example["steps"]} == telling.steps
    assert example["letters"]["t"] == "查询的位置"
    assert tour("zh")["parts"][4]["title"] == "反向"
    with pytest.raises(KeyError):
        tour("xx")


@each
def test_arrays_are_whole_and_every_entry_finds_its_numbers(name: str) -> None:
    worked, told_ = work(EXAMPLES[name]), tour("en")["examples"][name]
    arrays = told_["arrays"]
    assert told_["inputs"] == list(EXAMPLES[name].inputs)
    for step, shown in zip(worked.steps, told_["steps"], strict=True):
        array = arrays[shown["name"]]
        assert array["shape"] == list(step.array.shape)
        assert_array_equal(numbers(array["value"]), step.array.astype(np.float64))
        assert shown["formula"]["text"] == formula_text(step.formula)
        assert shown["formula"]["body"] == encode(step.formula.body)
        assert [read["name"] for read in shown["reads"]] == list(step.reads)
        for read in shown["reads"]:
            assert len(read["axes"]) in {0, len(arrays[read["name"]]["shape"])}
        for entry, line in zip(step.entries, shown["entries"], strict=True):
            assert numbers(line["value"]) == entry.value
            assert line["symbols"] == encode(entry.symbols)
            for parent, (array_name, place, value) in zip(line["from"], entry.parents, strict=True):
                assert (parent["name"], parent["place"]) == (array_name, list(place))
                assert numbers(at(arrays[array_name], parent["place"])) == value


@each
def test_what_a_formula_names_can_be_looked_up(name: str) -> None:
    """An array, a bare number, or a constant: the page has to show it."""
    example = tour("en")["examples"][name]
    known = {*example["arrays"], *example["scalars"], "pi", "inf"}

    def names(tree: Any) -> set[str]:
        if not isinstance(tree, list):
            return set()
        found = {tree[1]} if tree[:1] in (["entry"], ["scalar"]) else set()
        return found.union(*map(names, tree))

    for step in example["steps"]:
        assert names(step["formula"]["body"]) <= known
        for entry in step["entries"]:
            assert names(entry["symbols"]) <= known


@each
def test_a_step_is_named_once_and_not_like_the_last_screen(name: str) -> None:
    steps = [step["name"] for step in tour("en")["examples"][name]["steps"]]
    assert len({*steps, "lesson"}) == len(steps) + 1

"""What docs/exchange.md says is so: each name leads where it says, each example is read."""

import re
from pathlib import Path

import pytest

from handformer.checking import exchange
from handformer.checking.exchange.matching import case_of, find
from handformer.checking.exchange.place import Place
from handformer.checking.exchange.table import Table
from tests.tracing.small import traced

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "exchange.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([^`]+)` \| (`(?:blocks|embedding)[^|]+) \|", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize(("name", "paths"), ROWS)
def test_a_name_leads_where_the_page_says(name: str, paths: str) -> None:
    found = find(name, case_of(traced("gpt2")), Table())
    assert isinstance(found, tuple)
    assert all(isinstance(place, Place) for place in found)
    first, *others = re.findall(r"`([^`]+)`", paths)
    expected = {first, *(f"{first.rpartition('.')[0]}.{last}" for last in others)}
    known = case_of(traced("gpt2")).known
    assert expected <= {known[place.path].path for place in found}


def test_the_page_has_rows_of_every_convention() -> None:
    assert len(ROWS) == 19


@pytest.mark.parametrize("name", ["logits", "loss", "hidden_states.0", "attentions.0", "dqkv"])
def test_names_in_the_prose_are_known(name: str) -> None:
    assert f"`{name}`" in PAGE
    assert find(name, case_of(traced("gpt2")), Table())


def test_the_table_of_the_page_is_read(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "names.toml").write_text(text)
    table = exchange.read_table(tmp_path / "names.toml")
    case = case_of(traced("gpt2"))
    table.require_fit(case)
    assert table.find("att1.q", case) == (Place("blocks.1.attention.q"),)
    for path in ("blocks.1.attention.k", "blocks.0.mlp.w_up"):
        assert table.order(path, case.known[path])


def test_links_and_files_are_there() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
    for language in ("c", "cpp", "rust", "go", "javascript", "julia"):
        assert language in PAGE
        assert list((ROOT / "examples" / "exchange" / language).glob("attention.*"))

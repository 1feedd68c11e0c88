"""What the README says is so: its commands, its code, its output, its links, its map."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import handformer as hand
from handformer.tracing.manifest import Manifest, Value

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted(f"docs/{file.name}" for file in (ROOT / "docs").glob("*.md"))
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", *DOCS)
READER = runpy.run_path(str(ROOT / "tools" / "readme.py"))
README = (ROOT / "README.md").read_text(encoding="utf-8")

NAMED = re.compile(r"`((?:src|tests|tools|\.ci)/[^`\s]*|[A-Z]+\.md|[\w.-]+\.(?:toml|yaml))`")
LINKS = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def outside_blocks(markdown: str) -> str:
    """The prose of a page, without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", markdown, flags=re.DOTALL | re.MULTILINE)


def anchors(markdown: str) -> set[str]:
    """The names under which a page's headings can be linked to."""
    titles = re.findall(r"^#+ (.+)$", outside_blocks(markdown), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def dead(markdown: str, folder: Path = ROOT) -> Iterator[str]:
    """Links inside the project, and files named in the prose, that lead nowhere.

    Links are seen from the page's folder, names from the project's.
    """
    prose = outside_blocks(markdown)
    for target in LINKS.findall(prose):
        file, _, anchor = target.partition("#")
        if "://" in target:
            continue
        page = (folder / file).read_text("utf-8") if anchor and file else prose
        if not (folder / file).exists() or (anchor and anchor not in anchors(page)):
            yield target
    yield from (name for name in NAMED.findall(prose) if not (ROOT / name).exists())


def shown_in(shown: str, printed: str) -> bool:
    """Whether a block shows what was printed; a line of three dots stands for lines left out."""
    pieces = re.split(r"^ *\.\.\.$", shown, flags=re.MULTILINE)
    pattern = ".*".join(re.escape(piece.strip("\n")) for piece in pieces)
    lines = "\n".join(line.rstrip() for line in printed.splitlines())
    return re.fullmatch(pattern, lines.strip("\n"), flags=re.DOTALL) is not None


def run(*command: str, folder: Path) -> str:
    """Standard output of a command that must succeed."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_two_commands_stand_first() -> None:
    assert READER["commands"](README) == [
        "pip install . && handformer train",
        "pip install '.[test]' && pytest",
    ]


def test_python_blocks_print_what_the_page_says(tmp_path: Path) -> None:
    """All blocks in one session, as a reader types them; the text block after one is its output."""
    program, expected = [], []
    for block, after in zip(blocks := READER["blocks"](README), [*blocks[1:], None], strict=True):
        if block.language == "python":
            lines = "\n" * (block.line - 1) + block.text  # a traceback then names the README's line
            program.append(f"exec(compile({lines!r}, 'README.md', 'exec'), globals())")
            if after is not None and after.language == "text":
                expected.append(after.text)
    assert program
    printed = run(sys.executable, "-W", "error", "-c", "\n".join(program), folder=tmp_path)
    assert printed == "\n".join(expected) + "\n"


def test_the_code_on_traces_runs(tmp_path: Path) -> None:
    model = hand.Decoder.init(hand.ModelConfig(d_model=8, n_heads=2, n_layers=1, vocab_size=256))
    trace = hand.trace(hand.TextModel(model, hand.Tokenizer.bytes()), "The cat")
    trace.save(tmp_path / "cat.safetensors")
    page = (ROOT / "docs/traces.md").read_text(encoding="utf-8")
    (block,) = (block for block in READER["blocks"](page) if block.language == "python")
    said = "print(trace.entry('blocks.0.attention.attn').axes)"
    printed = run(sys.executable, "-W", "error", "-c", f"{block.text}\n{said}", folder=tmp_path)
    assert printed == "('b', 'h', 't', 's')\n"
    keys = {**dict.fromkeys(Manifest.model_fields), **dict.fromkeys(Value.model_fields)}
    assert [key for key in keys if f"`{key}`" not in page] == []


# A block with several commands is one of the story's: see `test_story.py`.
CONSOLE = [
    block
    for block in READER["blocks"](README)
    if block.language == "console" and "\n$ " not in block.text
]


@pytest.mark.parametrize("block", CONSOLE, ids=lambda block: f"README.md:{block.line}")
def test_console_blocks_print_what_the_page_says(
    block: tuple[str, str, int], tmp_path: Path
) -> None:
    line, _, shown = block[1].partition("\n")
    program, *words = line.removeprefix("$ ").split()
    path = shutil.which(program, path=str(Path(sys.executable).parent))
    assert path is not None, f"{program} is not installed beside {sys.executable}"
    printed = run(path, *words, folder=tmp_path)
    assert shown_in(shown, printed), f"the page shows\n{shown}\nbut {line} prints\n{printed}"


@pytest.mark.parametrize("page", PAGES)
def test_no_link_is_dead_and_nothing_is_left_to_do(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert list(dead(text, (ROOT / page).parent)) == []
    assert [line for line in text.splitlines() if "TODO" in line] == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_folder_of_the_package_is_on_the_map(page: str) -> None:
    folders = {file.parent.name for file in (ROOT / "src/handformer").glob("*/*.py")}
    text = (ROOT / page).read_text(encoding="utf-8")
    assert {name for name in folders if f"](src/handformer/{name})" not in text} == set()


def test_the_checks_of_this_page_can_fail() -> None:
    page = "# A title\n[a](nowhere.md) [b](#a-title) [c](#other) `src/none.py`\n```\n[d](e)\n```\n"
    assert list(dead(page)) == ["nowhere.md", "#other", "src/none.py"]
    assert list(dead("[a](check.md) [b](../README.md) [c](README.md)", ROOT / "docs")) == [
        "README.md"
    ]
    assert list(dead("[a](README.md#two-commands) [b](README.md#none)")) == ["README.md#none"]
    assert shown_in("one\n...\nfour", "one \ntwo\nthree\nfour\n")
    assert not shown_in("one\n...\nfour", "one\ntwo\nthree\nfour\nfive\n")
    assert not shown_in("one\nthree", "one\ntwo\nthree")
    with pytest.raises(ValueError, match="line 2 is never closed"):
        READER["blocks"]("text\n```python\nx = 1\n")
    with pytest.raises(ValueError, match="no ```sh block"):
        READER["commands"]("```python\nx = 1\n```\n")

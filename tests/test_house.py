"""The shape of the house: imports go one way, libraries are declared, a file holds one idea.

A start is light, too: libraries load where they are needed, public names when they are asked for.
Each rule is a function from a file's text and place to complaints, each with file and line, so that
each is also tested on a text that breaks it.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import handformer

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LIBRARIES = {
    re.split(r"[\s<>=!~;\[]", line)[0].replace("-", "_") for line in PROJECT["dependencies"]
}

# A part may import itself and what stands before it. New parts of the package get their place here.
ORDER = (
    *(
        "errors",
        "notebook",
        "aliases",
        "axes",
        "tree",
        "randomness",
        "formula",
        "ops",
        "layers",
        "models",
    ),
    *(
        "fast",
        "text",
        "weights",
        "generate",
        "train",
        "tracing",
        "checking",
        "selfcheck",
        "live",
        "examples",
        "inspector",
        "bench",
        "cli",
    ),
)
# These stand alone, whatever stands before them.
LEAVES = {
    "errors": set[str](),
    "aliases": set[str](),
    "randomness": {"errors", "axes"},
    "fast": {"errors", "axes", "formula", "ops"},
    "text": {"errors", "axes"},
}
# Programs that `handformer bench` runs in processes of their own, to compare with: no part of the
# package, which never imports them. They alone may import these.
PEERS, THEIRS = "src/handformer/bench/peers/", {"torch", "transformers", "transformer_lens"}
# The top may use the package's face; everyone else imports by module.
TOP = {"cli", "__init__", "__main__"}
LONGEST = 300

Import = tuple[int, str]


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """Every node of a file; three rules ask for them."""
    return tuple(ast.walk(ast.parse(source)))


def imports(source: str, place: str) -> Iterator[Import]:
    """Every import of a file with its line, also inside functions, as absolute dotted names."""
    for node in nodes(source):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # One dot is the folder of the file, for a package's __init__ too; each more goes up.
            above = place.split("/")[1 : -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def one_way(source: str, place: str) -> list[str]:
    """Imports that go against the order."""
    own = place.split("/")[2].removesuffix(".py")
    if own in TOP:
        return []
    if own not in ORDER:
        return [f"{place}:1: '{own}' has no place in the order: give it one in tests/test_house.py"]
    wrong = []
    for line, name in imports(source, place):
        package, _, rest = name.partition(".")
        part = rest.partition(".")[0]
        if package != "handformer" or part == own:
            continue
        if part not in ORDER:
            wrong.append(f"{place}:{line}: imports {name} by the package's face: name its module")
        elif ORDER.index(part) > ORDER.index(own):
            wrong.append(f"{place}:{line}: {own} imports {part}, which stands above it")
        elif part not in LEAVES.get(own, ORDER):
            wrong.append(f"{place}:{line}: {own} imports {part}, but is to stand alone")
    return wrong


def declared(source: str, place: str) -> list[str]:
    """Imports of libraries that `pip install .` doesn't bring, peers such as torch among them."""
    known = {"handformer", *sys.stdlib_module_names, *LIBRARIES}
    if place.startswith(PEERS):
        known = {*sys.stdlib_module_names, *THEIRS}
    return [
        f"{place}:{line}: imports {name}, which is not in the project's dependencies"
        for line, name in imports(source, place)
        if name.partition(".")[0] not in known or name.startswith("handformer.bench.peers")
    ]


def safe(source: str, place: str) -> list[str]:
    """Text that becomes code: Python never evaluates a formula, and no file is a pickle."""
    calls = [
        (node.lineno, node.func.id)
        for node in nodes(source)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    loads = [(line, name.partition(".")[0]) for line, name in imports(source, place)]
    return [
        f"{place}:{line}: uses {name}"
        for line, name in calls + loads
        if name in {"eval", "exec", "pickle", "marshal", "shelve"}
    ]


def one_idea(source: str, place: str) -> list[str]:
    """Files so long that they hold two ideas."""
    count = len(source.splitlines())
    return [f"{place}:{count}: more than {LONGEST} lines: split it"] if count > LONGEST else []


RULES: tuple[Callable[[str, str], list[str]], ...] = (one_way, declared, safe, one_idea)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_file_keeps_the_rule(rule: Callable[[str, str], list[str]]) -> None:
    files = sorted((ROOT / "src").rglob("*.py"))
    assert files, f"no sources under {ROOT}"
    complaints = [
        complaint
        for file in files
        for complaint in rule(file.read_text("utf-8"), file.relative_to(ROOT).as_posix())
    ]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    ("rule", "file", "source", "complaint"),
    [
        (one_way, "ops/softmax.py", "from handformer.layers import mlp", "1: ops imports layers"),
        (one_way, "ops/softmax.py", "import numpy, handformer.cli", "1: ops imports cli"),
        (one_way, "ops/softmax.py", "x = 1\nfrom ..layers import mlp", "2: ops imports layers"),
        (one_way, "ops/__init__.py", "from ..layers import mlp", "1: ops imports layers"),
        (one_way, "ops/gelu.py", "def f():\n    from .. import cli", "2: ops imports cli"),
        (one_way, "formula/parse.py", "from handformer import ops", "1: formula imports ops"),
        (one_way, "layers/mlp.py", "from handformer import Decoder", "1: imports handformer.Dec"),
        (one_way, "layers/mlp.py", "import handformer", "1: imports handformer by the"),
        (one_way, "text/bytes.py", "from handformer.models import x", "1: text imports models"),
        (one_way, "layers/mlp.py", "from handformer.fast import x", "1: layers imports fast"),
        (one_way, "fast/gelu.py", "from handformer.layers import x", "1: fast imports layers"),
        (one_way, "errors.py", "from handformer.axes import record", "1: errors imports axes"),
        (one_way, "utils/misc.py", "", "1: 'utils' has no place"),
        (declared, "ops/softmax.py", "import numpy\nimport torch", "2: imports torch"),
        (declared, "cli/train.py", "def f():\n    from transformers import x", "2: imports trans"),
        (declared, "bench/peers/step.py", "import torch\nimport handformer", "2: imports handf"),
        (declared, "bench/peers/step.py", "import torch\nimport onnx", "2: imports onnx"),
        (declared, "bench/race.py", "from .peers import step", "1: imports handformer.bench.peers"),
        (declared, "bench/race.py", "import torch", "1: imports torch"),
        (safe, "formula/parse.py", "x = 1 + eval('1')", "1: uses eval"),
        (safe, "weights/read.py", "from pickle import load", "1: uses pickle"),
        (one_idea, "ops/softmax.py", "\n" * 301, "301: more than 300 lines"),
    ],
)
def test_a_broken_rule_is_named_with_its_place(
    rule: Callable[[str, str], list[str]], file: str, source: str, complaint: str
) -> None:
    (found,) = rule(source, f"src/handformer/{file}")
    assert found.startswith(f"src/handformer/{file}:{complaint}")


@pytest.mark.parametrize(
    ("rule", "file", "source"),
    [
        (one_way, "layers/mlp.py", "from handformer.ops import linear\nfrom . import norm"),
        (one_way, "layers/__init__.py", "from .mlp import MLP\nfrom handformer.axes import record"),
        (one_way, "cli/train.py", "from handformer import Decoder\nfrom handformer.train import x"),
        (one_way, "__init__.py", "from handformer.models import Decoder"),
        (one_way, "text/bytes.py", "from handformer.errors import InputError"),
        (one_way, "fast/gelu.py", "from handformer.ops import gelu"),
        (declared, "ops/gelu.py", "import math\nfrom scipy.special import erf\nfrom . import x"),
        (declared, "bench/peers/step.py", "import json\nfrom torch import nn"),
        (safe, "formula/parse.py", "import ast\ntree.eval('x')"),
        (one_idea, "ops/softmax.py", "\n" * 300),
    ],
)
def test_a_kept_rule_says_nothing(
    rule: Callable[[str, str], list[str]], file: str, source: str
) -> None:
    assert rule(source, f"src/handformer/{file}") == []


def test_peers_stay_out_of_the_plain_install_and_of_the_test_command() -> None:
    light = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    heavy = {"torch", "transformers", "onnx", "onnxruntime", "jax", "tensorflow"}
    assert not heavy & {re.split(r"\W", line)[0] for line in light}


@pytest.mark.parametrize(
    ("started", "needed"),
    [
        ("import handformer", ""),
        ("import handformer.layers", "numpy"),
        ("import handformer.models", "numpy pydantic"),
        # Some versions of Typer load Rich themselves, some pydantic for the options of a command.
        ("from handformer.cli import main; main(['--help'])", "typer rich"),
        ("from handformer.cli import main; main(['train', '--help'])", "typer rich pydantic"),
    ],
)
def test_a_start_loads_no_library_that_it_does_not_need(
    started: str, needed: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-X", "importtime", "-c", started]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=True)
    loaded = re.findall(r"^import time:.*\| +(\w+)$", done.stderr, flags=re.MULTILINE)
    assert "handformer" in loaded
    assert {*loaded} & {*LIBRARIES, "numba", "torch"} <= {*needed.split()}


def test_editors_see_the_public_names_that_come_when_they_are_asked_for() -> None:
    place = "src/handformer/__init__.py"
    source = (ROOT / place).read_text(encoding="utf-8")
    seen = [name.rpartition(".") for _, name in imports(source, place) if "handformer" in name]
    for module, _, name in seen:
        assert getattr(handformer, name) is getattr(import_module(module), name)
    late = {*dir(handformer)} - {*vars(handformer)}
    assert late | {"fast", "ops"} == {name for _, _, name in seen}
    with pytest.raises(AttributeError, match="no attribute 'Decodr'"):
        handformer.Decodr  # noqa: B018

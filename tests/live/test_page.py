"""What docs/live.md says is so; and the command's own part."""

import json
import re
import runpy
from pathlib import Path

import pytest

from handformer.cli.check_op import checked
from handformer.live.contract import contract

PAGE = (Path(__file__).resolve().parents[2] / "docs/live.md").read_text(encoding="utf-8")
THEIRS = "tests.live.theirs"


def test_the_page_shows_the_contract_as_it_is() -> None:
    shown = "\n".join(f"    {line}" for line in str(contract("layer_norm")).splitlines())
    assert shown in PAGE


def test_the_pages_code_runs(tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert code is not None
    program = tmp_path / "program.py"
    program.write_text(code[1], encoding="utf-8")
    assert runpy.run_path(str(program))["report"].fine


def test_the_pages_signature_is_the_one_of_the_example() -> None:
    example = Path(__file__).resolve().parents[2] / "examples/live/softmax.c"
    said = re.search(r"in_rank,\s*int n_out.*?scalars\)", example.read_text(encoding="utf-8"), re.S)
    told = re.search(r"in_rank,\s*int n_out.*?scalars\)", PAGE, re.S)
    assert said is not None
    assert told is not None
    assert said[0].split() == told[0].split()


def test_the_command_tells_the_contract_the_answer_and_the_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def asked(name: str | None, *, as_json: bool = False) -> tuple[int, str]:
        given = None if name is None else f"{THEIRS}:{name}"
        code = checked("softmax", given, None, direction="forward", as_json=as_json)
        return code, capsys.readouterr().out

    assert asked(None) == (0, f"{contract('softmax')}\n")
    code, said = asked("right", as_json=True)
    assert code == 0
    assert json.loads(said)["fine"] is True
    code, said = asked("wrong_axis")
    assert code == 1
    assert said.splitlines()[-1].startswith("Wrong: y is ")

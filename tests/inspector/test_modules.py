"""Modules as one script: what each imports and exports, and the order in which they run."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from handformer.inspector import files
from handformer.inspector.modules import script

Files = dict[str, str]


def reader(given: Files) -> Callable[[str], str]:
    return given.__getitem__


def test_it_runs_as_modules_do(blank: Callable[..., Any]) -> None:
    given = {
        "app.js": """import { one as first, two } from "./a.js";
import * as b from "./b.js";
import "./side.js";
globalThis.made = [first, two(), b.three, new b.Four().five, [...b.count()], b.again, order];
const order = "own";
""".replace(", order]", "]"),
        "a.js": """import { three } from "./b.js";
const hidden = 1;
export const one = hidden;
export function two() {
  return three - hidden;
}
""",
        "b.js": """import {
  helper,
} from "./c.js";
const hidden = 3;
export const three = hidden;
export class Four {
  five = helper();
}
export function* count() {
  yield 6;
}
export async function later() {}
export { helper as_is };
""".replace("export { helper as_is };", "const again = 7;\nexport { again };"),
        "c.js": "export function helper() {\n  return 5;\n}\n",
        "side.js": "globalThis.side = true;\n",
    }
    tab = blank("")
    tab.evaluate(
        "code => { const one = document.createElement('script'); one.type = 'module';"
        " one.textContent = code; document.head.append(one); }",
        script("app.js", reader(given)),
    )
    tab.wait_for_function("globalThis.made")
    assert tab.evaluate("[globalThis.made, globalThis.side]") == [[1, 2, 3, 5, [6], 7], True]


def test_each_stands_once_behind_what_it_needs() -> None:
    whole = script("app.js")
    stands = re.findall(r"^const (\$[\w$]+) = \(\(\) => \{$", whole, re.MULTILINE)
    assert stands[-1] == "$app"
    assert len({*stands}) == len(stands)
    assert len(stands) == sum(name.endswith(".js") for name in files.FILES)
    for place, name in enumerate(stands):
        later = "|".join(re.escape(one) for one in stands[place:])
        body = whole.split(f"const {name} = (() => {{")[1].split("\n})();")[0]
        assert not re.search(rf" = (?:{later});$", body, re.MULTILINE), name


@pytest.mark.parametrize(
    "text",
    [
        'import a from "./a.js";', 'import "../a.js";', 'const a = import("./a.js");',
        'new Worker("./a.js");', 'fetch("./index.html");', "export default 1;",
        "export let one = 1;", "await 1;", 'const a = "</script>";', 'const a = "<!--";',
        'export * from "./a.js";', 'import "./app.js";',
    ],
)  # fmt: skip
def test_what_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(AssertionError, match=r"app\.js"):
        script("app.js", reader({"app.js": text + "\n", "a.js": ""}))

"""Cached generation as a case: a prompt, single tokens, several tokens at once, another prompt.

Each step is a scope with the model's own formulas in it: `step_2.blocks.0.attention.scores`. Only
what a step does otherwise than a whole pass has formulas of its own, and they stand here:

    positions       counted on from the tokens that were read before
    mask            the last query stands beside the last key
    k_all, v_all    what the queries meet: the keys and values that are kept from the steps before
                    (`k_past`, `v_past`: another name of the earlier step's k_all, v_all), behind
                    them the new ones
    next            the most probable token

The form `window` keeps the keys of the last `width` tokens only. A new prompt begins with a clear
store: all that was in it is dropped.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer import tree
from handformer.checking.cases.lively import lively, rows_of_tokens
from handformer.checking.cases.worked_out import worked_out
from handformer.errors import InputError
from handformer.formula import Sheet
from handformer.generate import sampling
from handformer.models import Decoder, ModelConfig
from handformer.tracing import prompt, run
from handformer.tracing.manifest import Value
from handformer.tracing.scopes import Scope
from handformer.tracing.seen import Found
from handformer.tracing.trace import Trace

WIDTH = 7  # what the form `window` keeps
ROWS = 3
SIZES: dict[str, dict[str, Any]] = {
    "llama": {
        "family": "llama", "vocab_size": 23, "context": 40, "n_layers": 2, "n_heads": 4,
        "n_kv_heads": 2, "d_k": 6, "d_model": 20, "d_ff": 14,
    },
    "gpt2": {
        "family": "gpt2", "vocab_size": 23, "context": 40, "n_layers": 2, "n_heads": 4, "d_k": 5,
        "d_model": 18, "d_ff": 13,
    },
}  # fmt: skip
SIZES["window"] = SIZES["llama"]

_STEP = Sheet.parse("""
    positions[b,t] = n_seen + t
    mask[b,t,s]    = s <= t + n_past
""")
_NEXT = sampling.FORMULAS.only("rank").rename(logits="last") + Sheet.parse("""
    last[b,n] := logits[b,n_queries - 1,n]
    next[b]    = sum(n, where(rank[b,n] < 1, n, 0))
""")
_FIRST = Sheet.parse("""
    k_all[b,g,s,c] = k[b,g,s,c]
    v_all[b,g,s,c] = v[b,g,s,c]
""")
_LATER = Sheet.parse("""
    k_all[b,g,s,c] = where(s < n_past, k_past[b,g,s + n_dropped,c], k[b,g,s - n_past,c])
    v_all[b,g,s,c] = where(s < n_past, v_past[b,g,s + n_dropped,c], v[b,g,s - n_past,c])
""")


@dataclass(frozen=True)
class Step:
    """So many new tokens.

    seen
        how many tokens of this text were read before
    past, dropped
        how many keys that are kept are read, and how many of the oldest are no longer
    prompt
        the number of tokens that the text began with
    before
        how many tokens the step before this one read
    """

    n: int
    seen: int = 0
    past: int = 0
    dropped: int = 0
    prompt: int = 0
    before: int = 0

    @property
    def scalars(self) -> dict[str, int]:
        """The numbers that the formulas of a step, and mistakes in them, mention."""
        return {
            "n_queries": self.n, "n_seen": self.seen, "n_past": self.past,
            "n_dropped": self.dropped, "n_prompt": self.prompt, "n_before": self.before,
        }  # fmt: skip


STEPS: dict[str, tuple[Step, ...]] = {
    "llama": (
        Step(8, prompt=8),
        Step(1, seen=8, past=8, prompt=8, before=8),
        Step(1, seen=9, past=9, prompt=8, before=1),
        Step(5, seen=10, past=10, prompt=8, before=1),
        Step(7, dropped=15, prompt=7, before=5),
    ),
    "window": (
        Step(5, prompt=5),
        Step(1, seen=5, past=5, prompt=5, before=5),
        Step(1, seen=6, past=6, prompt=5, before=1),
        Step(1, seen=7, past=6, dropped=1, prompt=5, before=1),
        Step(1, seen=8, past=6, dropped=1, prompt=5, before=1),
    ),
}
STEPS["gpt2"] = STEPS["llama"]


def generation_case(form: str = "llama") -> Trace:
    """The case of a form: llama, gpt2, or window.

    Raises
    ------
    InputError
        for another form
    """
    if form not in STEPS:
        raise InputError(f"form {form!r}: expected one of {', '.join(STEPS)}")
    name = f"generation-{form}"
    config = ModelConfig(**SIZES[form])
    model = tree.cast(lively(Decoder.init(config), name), np.float64)
    whole = run.run(model, prompt.of_tokens(model, [[0, 1]] * ROWS))
    parts = _Parts(whole, form)
    placed = [scope for number in range(len(parts.steps)) for scope in parts.scopes(number)]
    given = [*parts.weights(), *parts.tokens(name)]
    return worked_out(
        name, placed, given, [*parts.values()], model="Decoder",
        config=config.model_dump(exclude_none=True), shapes=dict(parts.shapes()),
        letters={value.path: value.axes for value in whole.manifest.values},
    )  # fmt: skip


class _Parts:
    """What a whole pass of the model is made of, to be taken once for each step."""

    def __init__(self, whole: Trace, form: str) -> None:
        self._whole, self._form, self.steps = whole, form, STEPS[form]
        self._sheets: dict[Any, Sheet] = {}  # steps share them

    def scopes(self, number: int) -> Iterator[Scope]:
        """The scopes of a step; without dropout, which isn't there."""
        step = self.steps[number]
        for scope in self._whole.manifest.scopes:
            if scope.layer in ("Dropout", "CrossEntropy"):
                continue
            attention = scope.layer == "MultiHeadAttention"
            key = (scope.sheet, attention and number == 0)
            if key not in self._sheets:
                sheet = self._forward(self._whole.sheet(scope.path))
                if attention:
                    sheet = _remembering(sheet, _LATER if number else _FIRST)
                if not scope.path:
                    sheet = _STEP + self._but(sheet, "positions", "mask") + _NEXT
                self._sheets[key] = sheet
            own = step.scalars if attention or not scope.path else {}
            told = {} if scope.path else {"vocab_size": SIZES[self._form]["vocab_size"]}
            width = {"width": WIDTH} if own and self._form == "window" else {}
            yield Scope(
                tree.join(f"step_{number}", scope.path),
                scope.layer,
                self._sheets[key],
                {**_bare(scope.scalars), **own, **told, **width},
            )

    def weights(self) -> Iterator[Found]:
        """The weights: every step sees the same."""
        for value in self._of("weight"):
            paths = (value.path, *value.also)
            seen = [f"step_{k}.{path}" for k in range(len(self.steps)) for path in paths]
            yield Found("weight", (*paths, *seen), self._whole[value.path])

    def tokens(self, name: str) -> Iterator[Found]:
        """The tokens of each step."""
        for number, step in enumerate(self.steps):
            path = f"step_{number}.tokens"
            vocab_size = SIZES[self._form]["vocab_size"]
            rows: NDArray[Any] = rows_of_tokens(name, path, (ROWS, max(step.n, 3)), vocab_size)
            yield Found("input", (path, f"step_{number}.embedding.tokens"), rows[:, : step.n])

    def values(self) -> Iterator[tuple[str, ...]]:
        """Every value of every step, in the order of the computation."""
        last = len(self.steps) - 1
        for number in range(len(self.steps)):
            for value in self._of("value"):
                if value.scope == "loss":
                    continue
                paths = [f"step_{number}.{path}" for path in (value.path, *value.also)]
                if value.path == "head.out":
                    paths = [paths[0], f"step_{number}.logits"]
                scope, _, name = value.path.rpartition(".")
                if name == "scores":  # what is read comes before what is made of it
                    for kept in ("k", "v"):
                        here = f"step_{number}.{scope}.{kept}_all"
                        later = f"step_{number + 1}.{scope}.{kept}_past"
                        yield (here, later) if number < last else (here,)
                yield tuple(paths)
            yield (f"step_{number}.next",)

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The shapes that no formula tells."""
        config = ModelConfig(**SIZES[self._form])
        for number, step in enumerate(self.steps):
            n_keys = step.past + step.n
            yield f"step_{number}.positions", (ROWS, step.n)
            yield f"step_{number}.mask", (ROWS, step.n, n_keys)
            shape = (ROWS, config.kv_heads, n_keys, config.head_width)
            for block in range(config.n_layers):
                at = f"step_{number}.blocks.{block}.attention"
                yield f"{at}.mask", (ROWS, config.n_heads, step.n, n_keys)
                yield f"{at}.k_all", shape
                yield f"{at}.v_all", shape
                for turn in ("cos", "sin"):
                    yield f"{at}.{turn}", (ROWS, step.n, config.head_width // 2)

    def _of(self, kind: str) -> Iterator[Value]:
        return (value for value in self._whole.manifest.values if value.kind == kind)

    def _forward(self, sheet: Sheet) -> Sheet:
        return Sheet(tuple(f for f in sheet if not f.backward and f.name != "attn_kept"))

    def _but(self, sheet: Sheet, *names: str) -> Sheet:
        return Sheet(tuple(formula for formula in sheet if formula.name not in names))


def _remembering(sheet: Sheet, joined: Sheet) -> Sheet:
    """An attention's formulas, its queries meeting the keys of earlier steps too."""
    turned = "k_rot" in sheet
    if turned:
        joined = joined.rename(k="k_rot")
    met = {"k_rot" if turned else "k": "k_all", "v": "v_all"}
    core = {"scores", "top", "total", "attn", "context"}
    lines = [*sheet]
    first = next(place for place, formula in enumerate(lines) if formula.name in core)
    made = Sheet(tuple(formula for formula in lines[:first] if formula.name not in core))
    rest = Sheet(tuple(lines[first:]))
    return made + joined + rest.rename(**met)


def _bare(scalars: Any) -> dict[str, Any]:
    """A layer's own numbers, without the rates of a dropout."""
    return {name: value for name, value in scalars.items() if not name.endswith("rate")}

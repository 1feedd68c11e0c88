"""Updates as a case: it is what our code computes, and PyTorch; and every mistake is named."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from handformer.checking.case import Case
from handformer.checking.cases.training import (
    COUNTS,
    FIRST,
    FORMS,
    LATE,
    SHAPES,
    Schedule,
    training_form,
)
from handformer.checking.checker import Checker
from handformer.checking.mistakes.edited import edited, matches
from handformer.checking.mistakes.mistake import Edit, Mistake
from handformer.checking.mistakes.training import HARMLESS, TRAINING
from handformer.checking.report import BAD, Verdict
from handformer.checking.theirs import Theirs
from handformer.errors import InputError
from handformer.tracing.case import require
from handformer.tracing.trace import Trace
from handformer.train import clipping, schedule
from handformer.train.optimizer import AdamW
from tests.checking.theirs import training as theirs

FEW = ("embedding.table", "norm.gamma", LATE, "head.b")  # whose weights and moments are written


UNIT = 2.0**-53
NORM = (
    105 * UNIT
)  # of 105 entries: the sum of squares is off by 105 roundings a side, its root by half
RATE = 2 * 12 * UNIT  # 8 operations and a cosine, good to 4, a side


def assert_near(found: Any, right: Any, path: str = "") -> None:
    """The same but for the order of operations.

    Each of five updates takes about ten a side, each good to 2**-53 of the largest entry.
    """
    atol = 2 * 5 * 10 * UNIT * float(np.abs(right).max())
    assert_allclose(found, right, rtol=0, atol=atol, err_msg=path)


@cache
def case(form: str) -> Trace:
    return training_form(form)


def run(form: str, wrong: str = "", dtype: Any = np.float64) -> dict[str, Any]:
    trace = case(form)
    given = {path: trace[path] for path in trace if trace.entry(path).kind != "value"}
    return theirs.run(given, trace.scalars("steps.0"), wrong, dtype)


def verdicts(
    form: str, dump: Mapping[str, Any], catalogue: tuple[Mistake, ...] = TRAINING
) -> list[Verdict]:
    """What is said of a dump; of some weights only, so that it is quick."""
    found = {}
    for path, array in dump.items():
        name = path.split(".")[2]
        if name in ("loss", "grads", "norm", "lr") or path.endswith(FEW):
            unit = float(np.finfo(array.dtype).eps) / 2 if array.dtype.kind == "f" else 0.0
            found[path] = Theirs(path, path, array, unit)
    checker = Checker(Case(case(form)), found, catalogue=catalogue)
    return [one for one in checker.verdicts() if one.status in BAD]


@pytest.mark.parametrize("form", FORMS)
def test_it_is_a_case_that_explains_itself(form: str, tmp_path: Path) -> None:
    require(case(form))
    case(form).save(tmp_path / "case.safetensors")
    trace = Trace.load(tmp_path / "case.safetensors")
    told = trace.explain("steps.2.params.head.w", 0, 1)
    assert told.value == told.stored  # a product, a quotient and a root: each rounds in one way
    parents = {parent.path for parent in trace.explain("steps.2.decayed.head.w", 0, 1).parents}
    assert parents == {"steps.1.params.head.w", "steps.2.lr"}


def test_the_numbers_are_those_on_which_mistakes_show() -> None:
    trace = case("")
    norms = [float(trace[f"steps.{step}.norm"]) for step in range(len(COUNTS))]
    assert [norm > 1 for norm in norms] == [False, True, False, True, True]
    rates = [float(trace[f"steps.{step}.lr"]) for step in range(len(COUNTS))]
    assert rates[0] < rates[1] == rates[2] > rates[3] > rates[4]
    assert not trace["steps.1.grads.embedding.table"][3].any()
    assert trace["steps.2.grads.embedding.table"][3].all()
    small = np.abs(trace["steps.0.grads.head.b"])
    assert small.max() < 1e-2
    assert small.min() < 1e-6
    assert np.abs(trace["steps.3.grads.mlp.w_in"]).max() > 1


@pytest.mark.parametrize("form", ["", "betas", "sgd", "constant", "no-room"])
def test_it_is_what_our_code_computes(form: str) -> None:
    trace = case(form)
    optimizer: Any = FORMS[form].get("optimizer", AdamW())
    plan: Schedule = FORMS[form].get("schedule", Schedule())
    params = {path: trace[f"start.params.{path}"] for path in SHAPES}
    states: dict[str, Any] = {}
    for step, counts in enumerate(COUNTS):
        at = f"steps.{step}"
        grads = {}
        for path in (path for path in SHAPES if path != LATE or step >= FIRST):
            each = trace[f"{at}.micro.grads.{path}"]
            grads[path] = np.average(each, axis=0, weights=counts)
        clipped, norm = clipping.clip(grads, 1.0)
        assert_allclose(trace[f"{at}.norm"], norm, rtol=NORM)
        lengths = {"lr": plan.peak_lr, "warmup": plan.warmup}
        if plan.steps is None:
            rate = schedule.constant(step, **lengths)  # type: ignore[arg-type]
        else:
            rate = schedule.warmup_cosine(step, min_lr=plan.min_lr, steps=plan.steps, **lengths)  # type: ignore[arg-type]
        assert_allclose(trace[f"{at}.lr"], rate, rtol=RATE)
        for path, grad in clipped.items():
            assert_near(grad, trace[f"{at}.clipped.{path}"])
            own = {path: params[path]}
            state = states.get(path) or optimizer.init(own)
            new, states[path] = optimizer.update(own, {path: grad}, state, rate)
            params |= new
        for path, weight in params.items():
            assert_near(weight, trace[f"{at}.params.{path}"])


@pytest.mark.parametrize("form", FORMS)
def test_the_independent_program_computes_the_same(form: str) -> None:
    written = run(form)
    assert {path.split(".")[2] for path in written} >= {"loss", "norm", "lr", "clipped", "params"}
    for path, array in written.items():
        assert_near(array, case(form)[path], path)


@pytest.mark.parametrize("form", ["", "betas", "sgd", "constant"])
def test_the_independent_program_is_pytorch(form: str) -> None:
    torch = pytest.importorskip("torch")
    trace, written, numbers = case(form), run(form), case(form).scalars("steps.0")
    weights = {
        path: torch.nn.Parameter(torch.tensor(trace[f"start.params.{path}"])) for path in SHAPES
    }
    groups = [
        {"params": [w], "weight_decay": numbers["weight_decay"] if w.ndim > 1 else 0.0}
        for w in weights.values()
    ]
    if form == "sgd":  # its decay is added to the gradient: without it, and taken off by hand
        for group in groups:
            group["weight_decay"] = 0.0
        peer = torch.optim.SGD(groups, lr=numbers["peak_lr"], momentum=0.9)
    else:
        betas = (numbers["beta_1"], numbers["beta_2"])
        peer = torch.optim.AdamW(groups, lr=numbers["peak_lr"], betas=betas, eps=numbers["eps"])
    plan = _torch_schedule(torch, peer, numbers)
    for step, counts in enumerate(COUNTS):
        at = f"steps.{step}"
        peer.zero_grad()
        for path, weight in weights.items():
            if path == LATE and step < FIRST:
                continue
            for count, grad in zip(counts, trace[f"{at}.micro.grads.{path}"], strict=True):
                part = torch.tensor(grad) * count / sum(counts)
                weight.grad = part if weight.grad is None else weight.grad + part
        norm = torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        assert_allclose(written[f"{at}.norm"], norm.numpy(), rtol=NORM)
        assert_allclose(written[f"{at}.lr"], peer.param_groups[0]["lr"], rtol=RATE)
        for path, weight in weights.items():
            if weight.grad is not None:
                clipped = written[f"{at}.clipped.{path}"]
                # Theirs divides by norm + 1e-6.
                assert_allclose(clipped, weight.grad.numpy(), rtol=1.1e-6)
                weight.grad = torch.tensor(clipped)
                if form == "sgd" and weight.ndim > 1:
                    with torch.no_grad():
                        weight.mul_(1 - peer.param_groups[0]["lr"] * numbers["weight_decay"])
        peer.step()
        plan.step()
        for path, weight in weights.items():
            mine = written[f"{at}.params.{path}"]
            assert_near(mine, weight.detach().numpy(), path)


def _torch_schedule(torch: Any, peer: Any, numbers: Mapping[str, Any]) -> Any:
    plans, warmup = torch.optim.lr_scheduler, numbers["warmup"]
    rise = plans.LinearLR(peer, start_factor=1 / warmup, total_iters=warmup - 1)
    if "steps" not in numbers:
        return rise
    room = numbers["steps"] - 1 - warmup
    wave = plans.CosineAnnealingLR(peer, T_max=room, eta_min=numbers["min_lr"])
    return plans.SequentialLR(peer, [rise, wave], milestones=[warmup])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_right_is_right(form: str, dtype: Any) -> None:
    assert verdicts(form, run(form, dtype=dtype)) == []


@pytest.mark.parametrize("row", theirs.ROWS)
def test_a_mistake_is_named_where_it_is_made(row: str) -> None:
    where, others = theirs.ROWS[row]
    until = where.split(".")[1]
    mistaken = run(row.partition("|")[2], row)
    dump = {path: a for path, a in mistaken.items() if path.split(".")[1] <= until}
    found = verdicts(row.partition("|")[2], dump)
    assert found, "not caught"
    assert fnmatchcase(found[0].path, where), found[0].path
    named = {cause.id for cause in found[0].causes}
    own = row.partition("|")[0].partition(":")[0]
    assert own in named
    assert named <= {own, *others}


@pytest.mark.parametrize(
    "row",
    [
        "OPT-1:both",
        "OPT-7",
        "ACC-2",
        pytest.param("OPT-4:inside", marks=pytest.mark.slow),
        pytest.param("CLIP-1", marks=pytest.mark.slow),
    ],
)
def test_a_mistake_is_named_where_only_the_weights_were_written(row: str) -> None:
    update = "1" if row.startswith("CLIP") else "0"  # the first that is clipped
    names = [f"steps.{update}.params.{path}" for path in ("embedding.table", "norm.gamma")]
    dump = {path: a for path, a in run("", row).items() if path in names}
    found = verdicts("", dump)
    assert row.partition(":")[0] in {cause.id for cause in found[0].causes}


def test_two_mistakes_are_both_found() -> None:
    dump = run("", "ACC-2")
    other = run("", "LR-1")
    dump |= {path: array for path, array in other.items() if path.endswith(".lr")}
    dump = {path: a for path, a in dump.items() if path.split(".")[2] in ("loss", "grads", "lr")}
    named = {cause.id for one in verdicts("", dump) for cause in one.causes}
    assert named >= {"ACC-2", "LR-1"}


def test_another_form_is_refused() -> None:
    with pytest.raises(InputError, match=r"form 'adam': expected one of betas, sgd, scaled"):
        training_form("adam")


def test_what_does_no_harm_is_reproduced_by_its_edit() -> None:
    for row in theirs.HARMLESS:
        dump = {path: a for path, a in run("", row).items() if path[6] < "2"}
        found = verdicts("", dump, HARMLESS)
        assert fnmatchcase(found[0].path, "steps.1.clipped.*")
        assert all(one.causes for one in found)


def test_every_row_is_made_or_said_why_not() -> None:
    made = {row.partition("|")[0].partition(":")[0] for row in theirs.ROWS}
    assert made == {mistake.id for mistake in TRAINING}
    sections = {"ACC": 5, "CLIP": 5, "OPT": 11, "LR": 5}
    assert made == {f"{name}-{n + 1}" for name, count in sections.items() for n in range(count)}


def _edits() -> list[tuple[str, Edit]]:
    return [
        (mistake.id, one)
        for mistake in (*TRAINING, *HARMLESS)
        for edit in mistake.edits
        for one in (edit if isinstance(edit, tuple) else (edit,))
    ]


def test_every_edit_changes_a_line_of_some_case() -> None:
    sheets = [case(form).sheet(f"steps.{step}") for form in FORMS for step in (1, 4)]
    for row, edit in _edits():
        fits = any(
            edited(edit, sheet, formula.name) is not None
            for sheet in sheets
            for formula in sheet
            if matches(edit, formula.name)
        )
        assert fits, (row, edit)

"""What our code computes in training, generation and sampling, as subjects.

The case has every number by its formula; ours are those that our functions hand out.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer import tree
from handformer.checking.cases import generation
from handformer.checking.cases.generation import generation_case
from handformer.checking.cases.sampling import sampling_case
from handformer.checking.cases.training import (
    COUNTS,
    FIRST,
    FORMS,
    LATE,
    SHAPES,
    Schedule,
    training_form,
)
from handformer.formula import Sheet
from handformer.generate.sampling import Sampling, draw
from handformer.models import Decoder, ModelConfig
from handformer.ops import softmax
from handformer.tracing.sheet import of_sheet
from handformer.tracing.trace import Trace
from handformer.train import clipping, schedule, step
from handformer.train.optimizer import AdamW
from tests.selfcheck.subjects import Subject
from tests.train.test_step import batch, model

Ours = dict[str, NDArray[Any]]
_WEIGHT = "blocks.0.attention.w_q"
_SAMPLING = {
    "greedy": Sampling(temperature=0),
    "top_k": Sampling(top_k=2),
    "top_k_equals": Sampling(top_k=2),
    "top_p": Sampling(top_p=0.9),
    "top_p_equals": Sampling(top_p=0.5),
    "top_p_whole": Sampling(top_p=1),
    "min_p": Sampling(min_p=0.15),
    "temperature_top_p": Sampling(temperature=0.5, top_p=0.8),
    "top_k_top_p": Sampling(top_k=2, top_p=0.55),
}


def beyond() -> Iterator[Subject]:
    """Training, generation and sampling."""
    yield _accumulated()
    for form in ("", "betas", "sgd", "constant", "no-room"):
        trace = training_form(form)
        yield Subject("training", form or "adamw", trace, _trained(form, trace))
    for form in ("llama", "gpt2"):
        trace = generation_case(form)
        yield Subject("generation", form, trace, _generated(form, trace))
    yield Subject("sampling", "sampling", sampling_case(), _sampled(sampling_case()))


def _accumulated() -> Subject:
    """The loss and one weight's gradient of three micro-batches with unequal counts."""
    parts = [batch("gpt2", rows) for rows in (slice(0, 2), slice(2, 3), slice(3, 6))]
    each = [step.gradients(model("gpt2"), [part]) for part in parts]
    together = step.gradients(model("gpt2"), parts)
    sheet = step.FORMULAS.rename(
        counts="micro.counts", losses="micro.losses", d_each="micro.grads.w", d_w="grads.w"
    ) + Sheet.parse("earlier[i,j] := before.grads.w[i,j]")
    given = {
        "micro.counts": np.array([part.count for part in parts]),
        "micro.losses": np.array([one.loss for one in each]),
        "micro.grads.w": np.stack([one.grads[_WEIGHT] for one in each]),
        "before.grads.w": each[0].grads[_WEIGHT],
    }
    ours = {"loss": np.array(together.loss), "grads.w": together.grads[_WEIGHT]}
    numbers = {"n_micro": len(parts), "step": 0}
    trace = of_sheet(sheet, given, ours, numbers, name="accumulated", layer="Gradients")
    return Subject("training", "accumulated", trace, {path: trace[path] for path in ours})


def _trained(form: str, trace: Trace) -> Ours:
    """Norms, rates, clipped gradients, moments and weights of five updates."""
    ours: Ours = {}
    optimizer: Any = FORMS[form].get("optimizer", AdamW())
    plan: Schedule = FORMS[form].get("schedule", Schedule())
    lengths: dict[str, Any] = {"lr": plan.peak_lr, "warmup": plan.warmup}
    params = {path: trace[f"start.params.{path}"] for path in SHAPES}
    states: dict[str, Any] = {}
    for number in range(len(COUNTS)):
        at = f"steps.{number}"
        taking = [path for path in SHAPES if path != LATE or number >= FIRST]
        grads = {path: trace[f"{at}.grads.{path}"] for path in taking}
        clipped, norm = clipping.clip(grads, 1.0)
        if plan.steps is None:
            rate = schedule.constant(number, **lengths)
        else:
            rate = schedule.warmup_cosine(number, min_lr=plan.min_lr, steps=plan.steps, **lengths)
        ours |= {f"{at}.norm": np.array(norm), f"{at}.lr": np.array(rate)}
        for path, gradient in clipped.items():
            own = {path: params[path]}
            state = states.get(path) or optimizer.init(own)
            new, states[path] = optimizer.update(own, {path: gradient}, state, rate)
            params |= new
            ours |= {f"{at}.clipped.{path}": gradient, f"{at}.params.{path}": new[path]}
            moments = states[path].moments
            ours |= {f"{at}.{name}.{path}": one[path] for name, one in moments.items()}
            if f"{at}.updates.{path}" in trace:
                ours[f"{at}.updates.{path}"] = np.array(states[path].step)
    return ours


def _generated(form: str, trace: Trace) -> Ours:
    """Logits, the keys and values that are kept, and the next tokens."""
    ours: Ours = {}
    outline = Decoder.init(ModelConfig(**generation.SIZES[form]))
    decoder = tree.replace(outline, {path: trace[path] for path in tree.flatten(outline)})
    past: Any = None
    for number, one in enumerate(generation.STEPS[form]):
        at = f"step_{number}"
        logits, past = decoder.extend(trace[f"{at}.tokens"], past if one.seen else None)
        for block, kept in enumerate(past.blocks):
            attention = f"{at}.blocks.{block}.attention"
            ours |= {f"{attention}.k_all": kept.k, f"{attention}.v_all": kept.v}
        ours |= {f"{at}.logits": logits, f"{at}.next": logits[:, -1].argmax(axis=-1)}
    return {trace.entry(path).path: array for path, array in ours.items()}


def _sampled(trace: Trace) -> Ours:
    """What is kept, what tokens are drawn from, and the draw."""
    ours: Ours = {}
    for name, how in _SAMPLING.items():
        logits = trace[f"{name}.logits"]
        probs = how.probabilities(logits, np.zeros(logits.shape, dtype=bool))
        ours |= {f"{name}.left_probs": probs, f"{name}.kept": probs > 0}
    _, penalised = next(
        iter(
            Sampling(repetition_penalty=1.5).stages(trace["penalty.logits"], trace["penalty.seen"])
        )
    )
    ours["penalty.penalised"] = penalised
    probs = softmax.forward(trace["draw.logits"])
    ours |= {"draw.probs": probs, "draw.token": draw(probs, trace["draw.chance"])}
    return ours

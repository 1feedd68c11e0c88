"""Mistakes in the schedule of learning rates: section 18 of the catalogue."""

from handformer.checking.mistakes.every_weight import one
from handformer.checking.mistakes.mistake import Mistake, Shows

_CLOCK = "(step - warmup) / (steps - 1 - warmup)"

SCHEDULE = (
    Mistake(
        "LR-1",
        "The first update has a rate of 0, which wastes a batch.",
        "Count from 1 in the warm-up: (step + 1) / {warmup}.",
        (one("lr", "step + 1 -> step"),),
        Shows.SCHEDULE,
    ),
    Mistake(
        "LR-2",
        "The clock of the decay doesn't run from the end of the warm-up to the last update: {}.",
        "Let it run from 0 at the end of the {warmup} updates to 1 at the last one.",
        (
            one("progress", f"{_CLOCK} -> step / (steps - 1)", "it started with the warm-up"),
            one("progress", f"{_CLOCK} -> step / steps", "it started with the warm-up"),
            one(
                "progress",
                f"{_CLOCK} -> (step - warmup) / (steps - warmup)",
                "it ends an update too late",
            ),
        ),
        Shows.SCHEDULE,
    ),
    Mistake(
        "LR-3",
        "The rate doesn't follow its schedule: {}.",
        "Check the lengths of warm-up and schedule, and their order as arguments.",
        (
            one("lr", "lr = peak_lr * ((step + 1) / warmup)", "it goes on rising for ever"),
            one("lr", "lr = where(step < warmup, lr, peak_lr)", "it never falls"),
            one("lr", "warmup -> steps", "the warm-up is as long as the schedule"),
        ),
        Shows.SCHEDULE,
    ),
    Mistake(
        "LR-4",
        "The schedule divides by 0: {warmup} leaves no room for a decay in {steps}.",
        "Let the rate stay where there is no update for its decay.",
        (
            (
                one("progress", f"progress := {_CLOCK}"),
                one("part", "part := (1 + cos(pi * progress)) / 2"),
            ),
        ),
        Shows.SCHEDULE,
    ),
    Mistake(
        "LR-5",
        "The schedule isn't advanced once an update: {}.",
        "Advance it where the optimizer steps, and nowhere else.",
        tuple(
            (one("lr", f"step -> {step}", says), one("progress", f"step -> {step}"))
            for step, says in (
                ("n_before", "it is at every micro-batch"),
                ("(n_before + n_micro - 1)", "it is at every micro-batch, of this update too"),
                ("(n_before + n_micro)", "it is at every micro-batch, before the update"),
                ("0", "it stands still, as one that counts epochs does"),
            )
        ),
        Shows.SCHEDULE,
    ),
)

"""Mistakes in what is made of the micro-batches' gradients: section 15 of the catalogue."""

from handformer.checking.mistakes.every_weight import every, one
from handformer.checking.mistakes.mistake import Mistake, Shows

_LAST = "micro.grads.{1}[n_micro - 1,_]"

ACCUMULATION = (
    Mistake(
        "ACC-1",
        "What the micro-batches gave was added up and not divided: {}.",
        "Divide the sum of all losses by the count of all targets, and so the gradient.",
        (
            every("grads", "= sum(b, micro.grads.{1}[b,_])", "their means were added"),
            every(
                "grads",
                "= sum(b, micro.counts[b] * micro.grads.{1}[b,_])",
                "their sums were added",
            ),
            one("loss", "loss = sum(b, micro.losses[b])", "their means were added"),
            one(
                "loss",
                "loss = sum(b, micro.counts[b] * micro.losses[b])",
                "their sums were added",
            ),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "ACC-2",
        "This is the mean of the micro-batches' means: a target in a short micro-batch weighs "
        "more than one in a long one.",
        "Add up the sums, and divide once by the count of all targets.",
        (
            every("grads", "= mean(b, micro.grads.{1}[b,_])"),
            one("loss", "loss = mean(b, micro.losses[b])"),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "ACC-3",
        "The gradients weren't cleared once an update: {}.",
        "Clear them after each update, before the next micro-batch, and nowhere else.",
        (
            every(
                "grads",
                "= grads.{1}[_] + before.grads.{1}[_]",
                "those of the update before are still in them",
            ),
            every(
                "grads",
                "= where(step == 0, 2, 1) * grads.{1}[_]",
                "those of the first update are counted twice",
            ),
            every("grads", "= 0 * grads.{1}[_]", "they were cleared before the update used them"),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "ACC-4",
        "The gradients were cleared before every micro-batch: only the last one counts{}.",
        "Clear them once, before the first micro-batch of an update.",
        (
            every("grads", f"= {_LAST}"),
            every(
                "grads",
                f"= micro.counts[n_micro - 1] * {_LAST} / sum(b, micro.counts[b])",
                ", divided by the count of all",
            ),
            every("grads", f"= {_LAST} / n_micro", ", divided by the number of micro-batches"),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "ACC-5",
        "This update wasn't made: the last window has fewer micro-batches, and was dropped.",
        "Update after the last micro-batch too, whatever the number in its window.",
        (
            (
                one("updates.*", "updates.{1} = before.updates.{1}"),
                *every("m", "= before.m.{1}[_]"),
                *every("v", "= before.v.{1}[_]"),
                *every("velocity", "= before.velocity.{1}[_]"),
                *every("decayed", "= before.params.{1}[_]"),
                *every("params", "= decayed.{1}[_]"),
            ),
        ),
        Shows.STEPS,
    ),
)

"""Mistakes in AdamW and SGD: section 17 of the catalogue."""

from handformer.checking.mistakes.every_weight import every, matrix, one, vector
from handformer.checking.mistakes.mistake import Mistake, Shows

_LONGEST = 8  # updates over which a correction that compounds is written out
_COMPOUND = " * ".join(
    f"where(step >= {t - 1}, sqrt(1 - beta_2 ** {t}) / (1 - beta_1 ** {t}), 1)"
    for t in range(1, _LONGEST + 1)
)
_NO_M, _NO_V = every("m_hat", "= m.{1}[_]"), every("v_hat", "= v.{1}[_]")
_IN_GRADIENT = "clipped.{1}[_] -> (clipped.{1}[_] + weight_decay * before.params.{1}[_])"
_NO_DECAY = matrix("decayed", "= before.params.{1}[_]")

OPTIMIZER = (
    Mistake(
        "OPT-1",
        "The averages begin at 0 and aren't rightly corrected for it: {}.",
        "Divide them by 1 - beta ** t, where t is 1 at the first update.",
        (
            (*every("m_hat", "= m.{1}[_]", "both are taken as they are"), *_NO_V),
            every("m_hat", "= m.{1}[_]", "that of the gradients is taken as it is"),
            every("v_hat", "= v.{1}[_]", "that of the squares is taken as it is"),
            (
                one("m_hat.*", "beta_1 ** updates.{1} -> beta_1", "the power is missing"),
                one("v_hat.*", "beta_2 ** updates.{1} -> beta_2"),
            ),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "OPT-2",
        "One counter was raised at every weight: the second weight of the first update already "
        "has t = 2.",
        "Raise the counter once an update, outside the loop over the weights.",
        (one("updates.*", "updates.{1} = n_taken + number.{1} + 1"),),
        Shows.STEPS,
    ),
    Mistake(
        "OPT-3",
        "The counter of the correction is another one: {}.",
        "Count updates: 1 at the first one, and one more at each.",
        (
            one("updates.*", "updates.{1} = step - first.{1}", "it begins at 0"),
            one("updates.*", "updates.{1} = step - first.{1} + 2", "it begins at 2"),
            one("updates.*", "updates.{1} = 1", "it stays 1, as one that counts epochs does"),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "OPT-4",
        "{eps} stands in another place: {}.",
        "Divide by sqrt(v_hat) + eps: eps outside the root, after the correction.",
        (
            every(
                "params",
                "sqrt(v_hat.{1}[_]) + eps -> sqrt(v_hat.{1}[_] + eps)",
                "inside the root, where it acts as its own root",
            ),
            every(
                "params",
                "sqrt(v_hat.{1}[_]) + eps -> "
                "(sqrt(v.{1}[_]) + eps) / sqrt(1 - beta_2 ** updates.{1})",
                "before the correction, as in the paper's second form",
            ),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "OPT-5",
        "The weight decay isn't taken off the weight itself: {}.",
        "Shrink the weight by lr * weight_decay, and keep the decay out of the gradient.",
        (
            (
                matrix("m", _IN_GRADIENT, "it was added to the gradient"),
                matrix("v", _IN_GRADIENT),
                matrix("velocity", _IN_GRADIENT),
                _NO_DECAY,
            ),
            matrix("decayed", "= before.params.{1}[_]", "it is missing"),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "OPT-6",
        "The weight decay isn't multiplied by the learning rate.",
        "Shrink the weight by lr * weight_decay.",
        (one("decayed.*", "lr * weight_decay -> weight_decay"),),
        Shows.STEPS,
    ),
    Mistake(
        "OPT-7",
        "The weight decays after the step along the gradient, and so does the step.",
        "Shrink the weight first, then take the step.",
        (
            matrix(
                "params",
                "= params.{1}[_] + lr * weight_decay * (decayed.{1}[_] - params.{1}[_])",
            ),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "OPT-8",
        "A vector decays too: a bias, or the gain of a norm.",
        "Let only matrices decay: those with two axes or more.",
        (vector("decayed", "= decayed.{1}[_] - lr * weight_decay * decayed.{1}[_]"),),
        Shows.STEPS,
    ),
    Mistake(
        "OPT-9",
        "This weight was updated twice: two optimizers own it, or one does under two names.",
        "Give every weight, tied ones too, to one optimizer, once.",
        (
            (
                matrix(
                    "params",
                    "= 2 * params.{1}[_] - decayed.{1}[_] - lr * weight_decay * params.{1}[_]",
                ),
                vector("params", "= 2 * params.{1}[_] - decayed.{1}[_]"),
            ),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "OPT-10",
        "The corrected rate was stored, and corrected again at the next update.",
        "Correct the base rate anew at each update, into a number of its own.",
        (
            one("lr", f"lr = lr * {_COMPOUND}"),
            (
                one("decayed.*", f"lr -> lr * {_COMPOUND}"),
                *every("params", f"lr -> lr * {_COMPOUND}"),
                *_NO_M,
                *_NO_V,
            ),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "OPT-11",
        "A weight whose first gradient came late has the counter of all others: its averages are "
        "corrected too little.",
        "Count the updates of each weight from its own first one.",
        (one("updates.*", "updates.{1} = step + 1"),),
        Shows.STEPS,
    ),
)

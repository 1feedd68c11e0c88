"""Mistakes between the gradients of micro-batches and new weights: sections 15 to 18."""

from handformer.checking.mistakes.accumulation import ACCUMULATION
from handformer.checking.mistakes.clipping import AS_PYTORCH, CLIPPING
from handformer.checking.mistakes.optimizer import OPTIMIZER
from handformer.checking.mistakes.schedule import SCHEDULE

TRAINING = (*ACCUMULATION, *CLIPPING, *OPTIMIZER, *SCHEDULE)

# What differs from our formulas and does no harm.
HARMLESS = (AS_PYTORCH,)

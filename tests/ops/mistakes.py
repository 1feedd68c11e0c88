"""Would a known mistake be seen? A wrong formula on a case's own inputs, held against the code."""

from dataclasses import replace

import numpy as np

from handformer.formula import Formula, Sheet, evaluate
from handformer.selfcheck.ops import Case, distance, run


def difference(case: Case, wrong: str) -> float:
    """How far the code's values are from those of the sheet with a wrong formula in it."""
    values = run(case, np.random.default_rng(5))

    def greatest(sheet: Sheet) -> float:
        kept = (*sheet.forward, *sheet.backward)
        return max(
            distance(values[name], evaluate(sheet, name, values, case.scalars)) for name in kept
        )

    formula = Formula.parse(wrong)
    assert formula.name in case.sheet, f"{case.name} has no formula for {formula.name}"
    assert greatest(case.sheet) < 1e-12, "the code itself is wrong"
    kept = case.sheet[formula.name].kept
    return greatest(case.sheet.replace(replace(formula, kept=kept)))

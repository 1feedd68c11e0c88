"""The page's arithmetic is Python's: sums to the last bit, the error function nearly so."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erf

from handformer.formula.arithmetic import OPERATORS

PAIRS = [(7, 3), (-7, 3), (7, -3), (2.5, 2), (0.1, -3), (1, 2), (2, 1), (0, 0.5)]


def test_sums_are_numpys_to_the_last_bit(blank: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(n) for n in (0, 1, 7, 8, 9, 127, 128, 129, 1000, 49_152)]
    sums = blank().evaluate(
        """async (given) => {
            const { total } = await import("/arithmetic.js");
            return given.map((x) => [total("sum", x), x.length > 0 ? total("mean", x) : 0]);
        }""",
        [x.tolist() for x in given],
    )
    assert sums == [[float(np.sum(x)), float(np.mean(x)) if x.size else 0] for x in given]


def test_the_error_function_is_exact(blank: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    given = np.concatenate(
        [
            rng.uniform(-6, 6, 3000),
            10.0 ** rng.uniform(-12, 1, 1000),
            [0, 1.25, np.nextafter(1.25, 0)],
        ]
    )
    found = blank().evaluate(
        """async (given) => {
            const { erf } = await import("/arithmetic.js");
            return [given.map(erf), erf(Infinity), erf(-Infinity), String(erf(NaN))];
        }""",
        given.tolist(),
    )
    np.testing.assert_allclose(found[0], erf(given), rtol=1e-15, atol=0)
    assert found[1:] == [1, -1, "NaN"]


def test_operators_do_the_same(blank: Callable[..., Any]) -> None:
    found = blank().evaluate(
        """async ([signs, pairs]) => {
            const { OPERATORS } = await import("/arithmetic.js");
            return signs.map((sign) => pairs.map(([a, b]) => OPERATORS[sign](a, b)));
        }""",
        [[*OPERATORS], PAIRS],
    )
    for sign, row in zip(OPERATORS, found, strict=True):
        expected = [OPERATORS[sign](a, b) for a, b in PAIRS]
        np.testing.assert_allclose(np.asarray(row, float), np.asarray(expected, float), rtol=1e-15)

"""Amounts, as the tables show them; the tables themselves are tested as they are typed."""

import pytest

from handformer.models import ModelConfig
from handformer.tracing.ledger import ledger
from handformer.tracing.table import _memory, _number, sums


@pytest.mark.parametrize(
    ("amount", "memory", "number"),
    [
        (0, "0 B", "0"),
        (999, "999 B", "999"),
        (1000, "1.00 kB", "1.00 k"),
        (9994, "9.99 kB", "9.99 k"),
        (9996, "10.0 kB", "10.0 k"),
        (99_960, "100 kB", "100 k"),
        (999_600, "1.00 MB", "1.00 M"),
        (393_216, "393 kB", "393 k"),
        (3 * 10**12, "3.00 TB", "3.00 T"),
        (5 * 10**18, "5,000 PB", "5,000 P"),
    ],
)
def test_an_amount_has_three_digits(amount: int, memory: str, number: str) -> None:
    assert _memory(amount) == memory
    assert _number(amount) == number


def test_the_sums_add_up_and_say_what_no_gradient_needs() -> None:
    kept = ledger(ModelConfig(n_layers=1, n_heads=2, d_model=8, vocab_size=11, context=7), batch=3)
    idle = sum(row.bytes for row in kept.of("value") if not row.needed_by)
    lines = dict(line.split("  ", 1) for line in sums(kept, "sgd") if "  " in line)
    assert [*lines][2] == "the moments of sgd"
    assert lines["values"].strip().endswith(f"   {_memory(idle)} of it no gradient needs")
    assert lines["in all"].strip() == _memory(kept.total)

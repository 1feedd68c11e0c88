"""Every mistake that can be made here, by the name of its row and form; and those that can't."""

from tests.checking.theirs import rows_backward, rows_before, rows_files, rows_forward
from tests.checking.theirs.row import Row

ROWS: dict[str, Row] = rows_before.ROWS | rows_forward.ROWS | rows_backward.ROWS | rows_files.ROWS

CANNOT = {
    "POS-12": "a window that is moved while generating: no model sees more than its context",
    "POS-13": "a step of cached generation",
    "MASK-16": "no model here has several documents in a row",
    "SM-5": "no model here has a sink",
    "NORM-11": "no model here normalises q and k",
    "UNEMB-3": "a matter of the first weights: a case has its own",
    "LOSS-11": "the text is cut before the case begins",
    "BE-5": "no table here has a frozen row; a row that is nowhere used has no gradient anyway",
    "LOAD-4": "shows as the mistake that it makes: NORM-3, ROPE-6, FFN-3, QKV-5, UNEMB-1",
    "INIT-2": "a matter of the first weights: a case has its own",
    "INIT-3": "a matter of the first weights: a case has its own",
}


def id_of(name: str) -> str:
    """The row of the catalogue: SCALE-5 of SCALE-5:8."""
    return name.partition(":")[0]

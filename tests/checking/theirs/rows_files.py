"""Rows of reading weights and of writing dumps."""

from tests.checking.theirs.row import ALL, LLAMA, Row

LOADING = {
    "LOAD-1": Row(ALL, "*.q", alike=("QKV-6", "OUT-2", "LOAD-2")),
    "LOAD-2": Row(ALL, "*.q", alike=("QKV-6", "OUT-2", "LOAD-1")),
    "LOAD-3:permuted": Row((LLAMA,), "*.q"),
    "LOAD-3:permuted back": Row((LLAMA,), "*.q"),
    "INIT-1": Row(ALL, "*.1.*"),
}
DUMPS = {
    "DUMP-1:flat": Row(ALL, "*", kind="layout"),
    "DUMP-1:axes reversed": Row(ALL, "*", kind="layout"),
    "DUMP-2": Row(ALL, "*positions", kind="layout"),
    "DUMP-3": Row(ALL, "*.w_q", kind="layout", weights=True),
    "DUMP-4:scores hold the weights": Row(ALL, "*.scores"),
    "DUMP-4:d_attn holds d_scores": Row(ALL, "*.d_attn_kept"),
    "DUMP-5": Row(ALL, "*", weights=True),
    "DUMP-6": Row(ALL, "loss.loss", alike=("BL-1",)),
    "DUMP-7:merged": Row(ALL, "*.q", kind="layout"),
    "DUMP-7:heads last": Row(ALL, "*.q", kind="layout"),
    "DUMP-7:after the tokens": Row(ALL, "*.q", kind="layout"),
    "DUMP-8:-inf": Row(ALL, "*.scores", kind="layout"),
    "DUMP-8:-1e9": Row(ALL, "*.scores", kind="layout"),
    "DUMP-8:-65504": Row(ALL, "*.scores", kind="layout"),
}
ROWS = LOADING | DUMPS

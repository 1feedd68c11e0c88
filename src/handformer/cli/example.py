"""`handformer selfcheck` (being written)."""


def command() -> int:
    """Check everything."""
    return 0

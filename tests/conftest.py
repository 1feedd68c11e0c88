"""What every test shares: draws that don't depend on how busy the machine is, and a quick start."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`pytest -m smoke` doesn't even import the files that hold no smoke test."""
    if config.option.markexpr != "smoke" or not collection_path.name.startswith("test_"):
        return None
    return True if "mark.smoke" not in collection_path.read_text(encoding="utf-8") else None

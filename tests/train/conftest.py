"""What would take longer than the training of a small model: the sample and the picture."""

import json
from pathlib import Path

import pytest

from handformer.train import log, plot, sample


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The samples at evaluations are shorter still."""
    monkeypatch.setattr(sample, "SHORT", 4)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples are short, and the picture is a list of its points."""

    def points(log_path: Path, svg_path: Path) -> None:
        losses = [(e["step"], e.get("loss"), e.get("validation_loss")) for e in log.read(log_path)]
        svg_path.write_text(json.dumps(losses))

    monkeypatch.setattr(sample, "TOKENS", 10)
    monkeypatch.setattr(plot, "write_loss", points)

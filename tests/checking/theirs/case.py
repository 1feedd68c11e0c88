"""What somebody reads from a case file before he computes: numbers, weights and inputs."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A case without its answers.

    config
        the sizes of the model, or of a layer that stands alone
    numbers
        by the path of a layer, the bare numbers in its formulas: eps, scale, base, rate
    weights, inputs
        arrays by path; the same array under each of its paths
    also
        those paths that are another name of a weight, as of a tied one
    """

    config: dict[str, Any]
    numbers: dict[str, dict[str, float]] = field(default_factory=dict)
    weights: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    also: frozenset[str] = frozenset()

    @property
    def family(self) -> str:
        return str(self.config["family"])

    @property
    def heads(self) -> int:
        return int(self.config["n_heads"])

    @property
    def groups(self) -> int:
        return int(self.config.get("n_kv_heads") or self.heads)

    @property
    def width(self) -> int:
        """d_k, that of a head."""
        return int(self.config.get("d_k") or self.config["d_model"] // self.heads)


def read(trace: Any) -> Case:
    """The case of a trace."""
    manifest = trace.manifest
    found: dict[str, dict[str, Any]] = {"weight": {}, "input": {}}
    for value in manifest.values:
        if value.kind in found:
            array = np.array(trace[value.path])
            found[value.kind] |= dict.fromkeys((value.path, *value.also), array)
    numbers = {scope.path: dict(scope.scalars) for scope in manifest.scopes}
    if (manifest.config or {}).get("shared"):
        numbers["source_embedding"] = numbers["target_embedding"]
    also = [path for value in manifest.values for path in value.also if value.kind == "weight"]
    config = manifest.config or {"family": "attention", **numbers[""]}
    return Case(dict(config), numbers, found["weight"], found["input"], frozenset(also))

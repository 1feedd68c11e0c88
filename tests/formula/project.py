"""Every formula that the project states: the sheets of its ops, layers and models."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import pytest

import handformer.layers
import handformer.models
import handformer.ops
from handformer.formula import Formula, Sheet


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


def _sheets() -> Iterator[tuple[str, Sheet]]:
    for package in (handformer.ops, handformer.layers, handformer.models):
        for module in _modules(package):
            for holder in (module, *vars(module).values()):
                sheet = getattr(holder, "FORMULAS", None)
                if isinstance(sheet, Sheet):
                    yield module.__name__.removeprefix("handformer."), sheet


def _new() -> dict[str, list[Formula]]:
    """Formulas by the place where they are first met, each text once."""
    met: set[str] = set()
    places: dict[str, list[Formula]] = {}
    for place, sheet in _sheets():
        for formula in sheet:
            if formula.text not in met:
                met.add(formula.text)
                places.setdefault(place, []).append(formula)
    return places


PLACES = _new()
every_place = pytest.mark.parametrize("formulas", PLACES.values(), ids=PLACES)

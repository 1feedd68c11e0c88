"""Where one of their arrays belongs: our path, and how it becomes what stands there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from handformer.formula.names import gradient
from handformer.models.config import ModelConfig
from handformer.tracing.manifest import Value

AnyArray = NDArray[Any]
_GRADIENTS = (".grad", "_grad")


@dataclass(frozen=True)
class Case:
    """What names are looked up in: the values by all of their paths, and the model's sizes."""

    known: Mapping[str, Value]
    config: ModelConfig | None

    def has_layer(self, number: str) -> bool:
        """Whether there is a block of that number."""
        return self.config is not None and int(number) < self.config.n_layers


def whole(array: AnyArray) -> AnyArray:
    """An array as it is."""
    return array


@dataclass(frozen=True)
class Place:
    """One of our paths for one of their names, which may have several.

    path
        ours
    part
        takes our part out of a larger array of theirs: a layer, a third. Where there is none it
        raises IndexError or ValueError, and the array stays as it is
    axes, ours
        the order of axes of that part, and ours, as `arrange` reads them; both empty: as it is
    note
        how it was read, if that isn't plain
    masked
        whether what the mask hides means nothing in theirs
    inverse
        whether they keep one over our number
    """

    path: str
    part: Callable[[AnyArray], AnyArray] = whole
    axes: str = ""
    ours: str = ""
    note: str = ""
    masked: bool = False
    inverse: bool = False


@dataclass(frozen=True)
class Aside:
    """A name that is known and stands for nothing that the case has."""

    why: str


Found = tuple[Place, ...] | Aside | None


def without_gradient(name: str) -> tuple[str, bool]:
    """A name without the ending that makes it a gradient's, and whether it had one."""
    for ending in _GRADIENTS:
        if name.endswith(ending):
            return name.removesuffix(ending), True
    return name, False


def path_of(path: str, is_gradient: bool) -> str:
    """The path of a value, or of its gradient."""
    return gradient(path) if is_gradient else path

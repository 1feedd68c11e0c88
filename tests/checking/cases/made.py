"""The cases that tests look at, each made once."""

from functools import cache

from handformer.checking.cases import CaseInfo, build, catalogue
from handformer.tracing.trace import Trace

LARGE = ("gpt2-small", "llama-135m")  # gigabytes
INFOS = {info.name: info for info in catalogue()}
SMALL = [name for name in INFOS if name not in LARGE]
MODELS = [n for n in SMALL if INFOS[n].family in ("gpt2", "llama", "bert", "transformer")]


@cache
def made(name: str) -> Trace:
    """The case of this name."""
    return build(name)


def info(name: str) -> CaseInfo:
    """What the catalogue says of it."""
    return INFOS[name]

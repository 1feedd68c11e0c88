"""What is said of a mistake: where it can be made, and what it changes first."""

from dataclasses import dataclass
from fnmatch import fnmatch


@dataclass(frozen=True)
class Row:
    """One form of a row of the catalogue.

    families
        the models in which it can be made
    first
        the path of the first value that is wrong, in the order of the computation, as a pattern;
        several with bars between them, where models call it otherwise
    probe
        the special case on which it shows, by its name in `probes`; none: the ordinary one
    kind
        what is wrong with that value: its numbers ("values"), its shape ("shape"), or no more than
        the order in which it was written ("layout")
    dtype
        in which it shows
    weights
        whether it shows in weights and inputs alone, and they have to be written
    alike
        other rows that make the same numbers, and may be named in its place
    """

    families: tuple[str, ...]
    first: str
    probe: str = ""
    kind: str = "values"
    dtype: str = "float64"
    weights: bool = False
    alike: tuple[str, ...] = ()

    @property
    def backward(self) -> bool:
        """Whether the mistake is made on the way back."""
        return self.first.rpartition(".")[2].startswith("d_")

    def begins(self, path: str) -> bool:
        """Whether the mistake may show at this path first."""
        return any(fnmatch(path, pattern) for pattern in self.first.split("|"))


GPT2, LLAMA, BERT, BOTH_SIDES = "gpt2", "llama", "bert", "transformer"
DECODERS = (GPT2, LLAMA)
LAYER_NORMS = (GPT2, BERT, BOTH_SIDES)
BIASED = LAYER_NORMS
ALL = (GPT2, LLAMA, BERT, BOTH_SIDES)

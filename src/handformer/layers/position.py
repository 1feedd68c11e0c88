"""How positions enter attention itself: by turning q and k, or by a bias on the scores."""

from dataclasses import dataclass

from handformer.layers.layer import one_of


@dataclass(frozen=True)
class Rotary:
    """q and k are turned by an angle that grows with the position, pair by pair.

    `base` sets the slowest turn. `pairs` names the op that says which places form a pair: "rotary"
    takes (c, c + d_k/2), as Hugging Face's Llama weights expect, "rotary_interleaved" takes (2c, 2c
    + 1).

    Source: Su et al. 2021, "RoFormer", section 3.2.
    """

    base: float = 10000.0
    pairs: str = "rotary"

    def __post_init__(self) -> None:
        """Only a rotation may stand in its place."""
        one_of("pairs", self.pairs, ("rotary", "rotary_interleaved"))


@dataclass(frozen=True)
class Alibi:
    """Scores fall linearly with the distance between query and key, each head at its own slope.

    Source: Press, Smith, Lewis 2022, "Train short, test long".
    """

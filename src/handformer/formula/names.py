"""Names: that of a gradient, the one that was meant, and the parts in which one is shown."""

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

from handformer.axes import SIZES

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "epsilon": "ε", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π",
    "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
}  # fmt: skip
_PREFIX = "d_"
_MOST = 12


def gradient(name: str) -> str:
    """The name of dL/d`name`: `d_` before the last part of the path."""
    path, dot, last = name.rpartition(".")
    return f"{path}{dot}{_PREFIX}{last}"


def is_gradient(name: str) -> bool:
    """Whether an array's name is that of a gradient; a bare name may be a width."""
    return name.rpartition(".")[2].startswith(_PREFIX)


def is_width(name: str) -> bool:
    """Whether a bare name is `d_model`, `d_k` or `d_ff`; all else in `d_` is a gradient."""
    return name.startswith(_PREFIX) and name in SIZES.values()


def unknown(kind: str, name: str, known: Collection[str]) -> str:
    """The message for a name that isn't there: the near ones, or else what there is."""
    near = get_close_matches(name, known, n=3)
    if near:
        return f"unknown {kind} {name}; did you mean {' or '.join(near)}?"
    listed = sorted(known)
    more = ["..."] if len(listed) > _MOST else []
    return f"unknown {kind} {name}; there are {', '.join(listed[:_MOST] + more) or 'none'}"


@dataclass(frozen=True)
class Shown:
    """A name as it is typeset: d (upright) for a gradient, a letter or word, a hat, a subscript."""

    path: str
    gradient: bool
    base: str
    hat: bool
    low: str

    @property
    def is_word(self) -> bool:
        """Whether it is neither a letter nor a Greek one."""
        return len(self.base) > 1 and self.base not in GREEK


def shown(name: str, *, bare: bool) -> Shown:
    """Take a name apart: `d_w_q` is the gradient of w with the subscript q; `vocab_size` one word.

    `bare` says that it stands without places: then `d_k` is a width, d with the subscript k.
    """
    path, dot, last = name.rpartition(".")
    is_d = is_gradient(name) and not (bare and is_width(name))
    last = last.removeprefix(_PREFIX) if is_d else last
    base, _, low = last.partition("_")
    if low == "hat":
        return Shown(path + dot, is_d, base, True, "")
    if not (len(base) == 1 or base in GREEK or low.isdigit()):
        base, low = last, ""
    return Shown(path + dot, is_d, base, False, low)

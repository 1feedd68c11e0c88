"""The gradients of weights: what is summed for each, and over which letters."""

from dataclasses import dataclass

from handformer.checking.mistakes.lines import ALONE, FLASH, HEADS
from handformer.checking.mistakes.mistake import Edit

_ALL = (*HEADS, *FLASH)
_MLPS = ("MLP", "GatedMLP")


@dataclass(frozen=True)
class Summed:
    """The gradient of a weight: a sum over all places.

    line, axes
        its name, and its letters
    place
        the letter of a place: t, or s on the keys' side
    term
        what is summed
    """

    line: str
    axes: str
    place: str
    term: str
    layers: tuple[str, ...]

    def edit(self, change: str, says: str = "", axes: str = "") -> Edit:
        """Another line: `@` stands for the term, `p` for the place; `axes` come before its own."""
        made = change.replace("p,", f"{self.place},").replace("@", self.term)
        before = axes.replace("p,", f"{self.place},")
        return Edit(self.line, f"{self.line}[{before}{self.axes}] = {made}", self.layers, says)

    def first(self, says: str = "") -> Edit:
        """The sum over the first row of the batch only."""
        term = self.term.replace("[b,", "[0,")
        return Edit(
            self.line, f"{self.line}[{self.axes}] = sum({self.place}, {term})", self.layers, says
        )


def _projected(name: str, place: str, source: str, layers: tuple[str, ...]) -> Summed:
    term = f"{source}[b,{place},i] * d_{name}[b,j // d_k,{place},j % d_k]"
    return Summed(f"d_w_{name}", "i,j", place, term, layers)


def _bias_of(name: str, place: str) -> Summed:
    return Summed(f"d_b_{name}", "j", place, f"d_{name}[b,j // d_k,{place},j % d_k]", _ALL)


OWN = ("MultiHeadAttention", *FLASH)
MATRICES = (
    _projected("q", "t", "x", _ALL),
    *(_projected(name, "s", "x", OWN) for name in "kv"),
    *(_projected(name, "s", "memory", ("CrossAttention",)) for name in "kv"),
    Summed("d_w_o", "j,i", "t", "context[b,j // d_k,t,j % d_k] * d_out[b,t,i]", _ALL),
    Summed("d_w_up", "i,f", "t", "x[b,t,i] * d_pre[b,t,f]", ("MLP",)),
    Summed("d_w_up", "i,f", "t", "x[b,t,i] * d_up[b,t,f]", ("GatedMLP",)),
    Summed("d_w_gate", "i,f", "t", "x[b,t,i] * d_gate[b,t,f]", ("GatedMLP",)),
    Summed("d_w_down", "f,i", "t", "post[b,t,f] * d_out[b,t,i]", _MLPS),
    Summed("d_w", "i,n", "t", "x[b,t,i] * d_out[b,t,n]", ("Head",)),
    Summed("d_table", "n,i", "t", "x[b,t,i] * d_out[b,t,n]", ("TiedHead",)),
    Summed("d_table", "n,i", "t", "norm.out[b,t,i] * d_out[b,t,n]", ("MaskedTokenHead",)),
    Summed("d_w", "i,j", "t", "x[b,t,i] * d_pre[b,t,j]", ("MaskedTokenHead",)),
)
BIASES = (
    _bias_of("q", "t"), _bias_of("k", "s"), _bias_of("v", "s"),
    Summed("d_b_o", "i", "t", "d_out[b,t,i]", _ALL),
    Summed("d_b_up", "f", "t", "d_pre[b,t,f]", ("MLP",)),
    Summed("d_b_down", "i", "t", "d_out[b,t,i]", ("MLP",)),
    Summed("d_b", "j", "t", "d_pre[b,t,j]", ("MaskedTokenHead",)),
    Summed("d_bias", "n", "t", "d_out[b,t,n]", ("MaskedTokenHead",)),
)  # fmt: skip
OF_ONE_HEAD = (
    *(
        Summed(f"d_w_{name}", "i,c", place, f"x[{place},i] * d_{name}[{place},c]", ALONE)
        for name, place in (("q", "t"), ("k", "s"), ("v", "s"))
    ),
    Summed("d_w_o", "c,i", "t", "context[t,c] * d_out[t,i]", ALONE),
)
# The gradient of what a matrix was multiplied with: line, matrix, its gradient's line, layers.
INPUTS = (
    ("d_x_q", "w_q[i,h * d_k + c]", _ALL),
    ("d_x", "w_q[i,h * d_k + c]", ("CrossAttention",)),
    *((f"d_x_{name}", f"w_{name}[i,g * d_k + c]", OWN) for name in "kv"),
    *((f"d_memory_{name}", f"w_{name}[i,g * d_k + c]", ("CrossAttention",)) for name in "kv"),
    ("d_context", "w_o[h * d_k + c,i]", _ALL),
    ("d_x", "w_up[i,f]", ("MLP",)),
    ("d_x_up", "w_up[i,f]", ("GatedMLP",)),
    ("d_x_gate", "w_gate[i,f]", ("GatedMLP",)),
    ("d_post", "w_down[f,i]", _MLPS),
    ("d_x", "w[i,n]", ("Head",)),
    ("d_x", "table[n,i]", ("TiedHead",)),
    ("norm.d_out", "table[n,i]", ("MaskedTokenHead",)),
    ("d_x", "w[i,j]", ("MaskedTokenHead",)),
)  # fmt: skip

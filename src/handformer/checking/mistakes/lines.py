"""Formulas that edits of several parts of the catalogue write: softmax, rounding, activations."""

from handformer.checking.mistakes.mistake import Edit

HEADS = ("MultiHeadAttention", "CrossAttention")
ALONE = ("SingleHeadAttention",)
FLASH = ("FlashAttention",)
ATTENTION = (*HEADS, *ALONE, *FLASH)
LAYER, RMS = ("LayerNorm",), ("RMSNorm",)
NORMS = (*LAYER, *RMS)
_OF_HEADS = ("b,h // group,", "b,h,", "b,g,", "b,")


def without_heads(change: str) -> str:
    """A change of attention with several heads as one of a single head, without a batch."""
    for places in _OF_HEADS:
        change = change.replace(f"[{places}", "[")
    return change


def attention(line: str, change: str, says: str = "") -> tuple[Edit, ...]:
    """An edit of attention, with several heads and with a single one."""
    return (
        Edit(line, change, (*HEADS, *FLASH), says),
        Edit(line, without_heads(change), ALONE, says),
    )


def each(layers: tuple[str, ...], *changes: tuple[str, str], says: str = "") -> tuple[Edit, ...]:
    """Edits of several lines that are made at once."""
    return tuple(Edit(line, change, layers, says) for line, change in changes)


def softmax(score: str, over: str = "s") -> str:
    """The softmax of `score` along the letter `over`, whose places other letters stand for.

    `score` is text in which that letter is written `@`.
    """
    one, first, second = (score.replace("@", letter) for letter in (over, "r", "u"))
    top = f"max(u, {second})"
    return f"exp({one} - {top}) / sum(r, exp({first} - {top}))"


def filled(value: str, mask: str = "mask[b,h,t,@]", score: str = "scores[b,h,t,@]") -> str:
    """Scores in which the hidden ones are another value, for `softmax`."""
    return f"where({mask}, {score}, {value})"


def rounded(value: str, bits: int) -> str:
    """A positive value with so many bits behind the leading one, ties to even."""
    step = f"2 ** (log({value}) / log(2) // 1 - {bits})"
    near = f"(({value}) / {step} + 0.5)"
    even = f"where({near} % 1 == 0 and {near} // 1 % 2 == 1, {near} // 1 - 1, {near} // 1)"
    return f"where({value} > 0, {even} * {step}, 0)"


def rounded_of_any_sign(value: str, bits: int) -> str:
    """The same of a value that may be negative."""
    return f"where({value} < 0, -1, 1) * {rounded(f'sqrt({value} ** 2)', bits)}"


def gelu(x: str) -> str:
    """GELU by erf."""
    return f"{x} * (1 + erf({x} / sqrt(2))) / 2"


def gelu_tanh(x: str) -> str:
    """GELU by tanh."""
    return f"{x} * (1 + tanh({inner(x)})) / 2"


def inner(x: str) -> str:
    """What GELU takes tanh of."""
    return f"sqrt(2 / pi) * ({x} + 0.044715 * {x} ** 3)"


def sigmoid(x: str, factor: str = "") -> str:
    """The logistic function."""
    return f"1 / (1 + exp(-{factor}{x}))"


def relu(x: str) -> str:
    """What is positive of x."""
    return f"where({x} > 0, {x}, 0)"


def gelu_slope(x: str) -> str:
    """The derivative of GELU by erf."""
    return f"((1 + erf({x} / sqrt(2))) / 2 + {x} * exp(-{x} ** 2 / 2) / sqrt(2 * pi))"


def gelu_tanh_slope(x: str) -> str:
    """The derivative of GELU by tanh."""
    tanh = f"tanh({inner(x)})"
    slope = f"sqrt(2 / pi) * (1 + 3 * 0.044715 * {x} ** 2)"
    return f"((1 + {tanh}) / 2 + {x} / 2 * (1 - {tanh} ** 2) * {slope})"


def silu_slope(x: str) -> str:
    """The derivative of SiLU."""
    return f"({sigmoid(x)} * (1 + {x} * (1 - {sigmoid(x)})))"

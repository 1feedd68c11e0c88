"""Somebody else's cached generation, with the mistakes of section 19 on demand.

A step reads some tokens after those that were read before. A mistake is named by its row and form.
"""

from typing import Any

import numpy as np

# Where each shows first (a pattern of paths), by form, and which other rows say the same.
AT = "step_{}.blocks.0.attention."
ROWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "KV-1:stays 0": ("step_1.positions", ("POS-13", "POS-10")),
    "KV-1:one more": ("step_1.positions", ()),
    "KV-1:one less": ("step_1.positions", ()),
    "KV-1:the prompt twice": ("step_1.positions", ()),
    "KV-3": ("step_4.positions", ()),
    "KV-3:only keys": ("step_4.mask", ()),
    "KV-4:on reading": (AT.format(1) + "k_all", ()),
    "KV-4:again and again": (AT.format(1) + "k_all", ()),
    "KV-4:unseen": (AT.format(1) + "scores", ()),
    "KV-5:cut": (AT.format(0) + "k_all", ()),
    "KV-5:wide": (AT.format(0) + "k_all", ()),
    "KV-6": (AT.format(2) + "cos", ()),
    "KV-7:slots": ("step_3.positions", ("KV-1", "POS-10")),
    "KV-7:newest": (AT.format(3) + "k_all", ()),
    "KV-8": ("step_1.mask", ("MASK-12",)),
    "MASK-12": ("step_1.mask", ("KV-8",)),
    "KV-9": (AT.format(1) + "k_all", ()),
}
# In which forms of the case a row can show; all others show in each.
ONLY = {
    "KV-3": ("llama", "gpt2"), "KV-3:only keys": ("llama", "gpt2"),
    "KV-4:on reading": ("llama", "window"), "KV-4:again and again": ("llama", "window"),
    "KV-4:unseen": ("llama", "window"), "KV-5:cut": ("llama",), "KV-5:wide": ("llama",),
    "KV-6": ("llama", "window"), "KV-7:slots": ("window",), "KV-7:newest": ("window",),
    "KV-9": ("llama", "gpt2"),
}  # fmt: skip
CANNOT = {"KV-2": "it isn't a formula but that two ways agree: --kv-cache asks the model itself"}


class Program:
    """A decoder with a store of keys and values a block."""

    def __init__(
        self,
        config: dict[str, Any],
        weights: dict[str, Any],
        width: int | None,
        wrong: tuple[str, ...] = (),
    ) -> None:
        self.config, self.w, self.width, self.wrong = config, weights, width, wrong
        self.rotary = config["family"] == "llama"
        self.heads = config["n_heads"]
        self.groups = config.get("n_kv_heads") or self.heads
        self.clear()
        self.turns: dict[int, Any] = {}

    def clear(self) -> None:
        self.store: list[Any] = [None] * self.config["n_layers"]
        self.seen, self.prompt = 0, 0

    def step(self, tokens: Any, at: str) -> dict[str, Any]:
        """All values of the new tokens (b, t), by path."""
        self.out: dict[str, Any] = {}
        size = tokens.shape[1]
        positions = np.broadcast_to(self._offset(size) + np.arange(size), tokens.shape)
        self.positions = positions
        self._put(f"{at}.positions", positions)
        old = 0 if self.store[0] is None else self.store[0][0].shape[2]
        if self.width is not None:
            old = min(old, self.width - size)
        mask = np.arange(old + size) <= np.arange(size)[:, None] + old
        if "MASK-12" in self.wrong or ("KV-8" in self.wrong and size == 1):
            mask = np.tri(size, old + size, dtype=bool)
        self._put(f"{at}.mask", np.broadcast_to(mask, (len(tokens), *mask.shape)))
        x = self._put(f"{at}.embedding.out", self.w["embedding.table"][tokens])
        if not self.rotary:
            table = self.w["position_embedding.table"]
            placed = self._put(f"{at}.position_embedding.out", table[positions])
            x = self._put(f"{at}.x", x + placed)
        for number in range(self.config["n_layers"]):
            x = self._block(x, mask, number, f"{at}.blocks.{number}")
        x = self._norm(x, "norm", f"{at}.norm")
        table = self.w["head.w"] if "head.w" in self.w else self.w["embedding.table"].T
        logits = self._put(f"{at}.head.out", x @ table)
        self._put(f"{at}.next", logits[:, -1].argmax(axis=-1))
        if not self.seen:
            self.prompt = size
        self.seen += size
        return self.out

    def _put(self, path: str, array: Any) -> Any:
        self.out[path] = np.array(array)
        return array

    def _offset(self, size: int) -> int:
        stored = self.seen
        if not stored:
            return 0
        if "KV-7:slots" in self.wrong:
            return stored % self.width if self.width else stored
        wrong = {
            "KV-1:stays 0": 0,
            "KV-1:one more": stored + 1,
            "KV-1:one less": stored - 1,
            "KV-1:the prompt twice": stored + self.prompt,
        }
        return next((place for name, place in wrong.items() if name in self.wrong), stored)

    def _block(self, x: Any, mask: Any, number: int, at: str) -> Any:
        here = f"blocks.{number}"
        normed = self._norm(x, f"{here}.norm_1", f"{at}.norm_1")
        mid = self._put(f"{at}.mid", x + self._attention(normed, mask, number, f"{at}.attention"))
        normed = self._norm(mid, f"{here}.norm_2", f"{at}.norm_2")
        return self._put(f"{at}.out", mid + self._mlp(normed, f"{here}.mlp", f"{at}.mlp"))

    def _norm(self, x: Any, here: str, at: str) -> Any:
        eps = 1e-5
        if self.rotary:
            scale = self._put(f"{at}.rrms", ((x * x).mean(axis=-1) + eps) ** -0.5)
            hat = self._put(f"{at}.x_hat", x * scale[..., None])
            return self._put(f"{at}.out", hat * self.w[f"{here}.gamma"])
        mean = self._put(f"{at}.mean", x.mean(axis=-1))
        scale = self._put(f"{at}.rstd", (x.var(axis=-1) + eps) ** -0.5)
        hat = self._put(f"{at}.x_hat", (x - mean[..., None]) * scale[..., None])
        return self._put(f"{at}.out", hat * self.w[f"{here}.gamma"] + self.w[f"{here}.beta"])

    def _mlp(self, x: Any, here: str, at: str) -> Any:
        if self.rotary:
            gate = self._put(f"{at}.gate", x @ self.w[f"{here}.w_gate"])
            up = self._put(f"{at}.up", x @ self.w[f"{here}.w_up"])
            act = self._put(f"{at}.act", gate / (1 + np.exp(-gate)))
            post = self._put(f"{at}.post", act * up)
            return self._put(f"{at}.out", post @ self.w[f"{here}.w_down"])
        pre = self._put(f"{at}.pre", x @ self.w[f"{here}.w_up"] + self.w[f"{here}.b_up"])
        bent = np.tanh((2 / np.pi) ** 0.5 * (pre + 0.044715 * pre**3))
        post = self._put(f"{at}.post", pre / 2 * (1 + bent))
        down = post @ self.w[f"{here}.w_down"] + self.w[f"{here}.b_down"]
        return self._put(f"{at}.out", down)

    def _attention(self, x: Any, mask: Any, number: int, at: str) -> Any:
        here = f"blocks.{number}.attention"
        q, k, v = (
            self._put(f"{at}.{name}", self._split(x, here, name, count))
            for name, count in (("q", self.heads), ("k", self.groups), ("v", self.groups))
        )
        if self.rotary:
            cos, sin = self._turns(x.shape[1], q.shape[-1])
            self._put(f"{at}.cos", np.broadcast_to(cos, (len(x), *cos.shape[-2:])))
            self._put(f"{at}.sin", np.broadcast_to(sin, (len(x), *sin.shape[-2:])))
            q = self._put(f"{at}.q_rot", _turned(q, cos, sin))
            k = self._put(f"{at}.k_rot", _turned(k, cos, sin))
        keys, values = self._remember(k, v, number)
        self._put(f"{at}.k_all", keys)
        self._put(f"{at}.v_all", values)
        if "KV-4:unseen" in self.wrong:
            keys = self._again(keys, k.shape[2])
        each = keys.shape[1] // self.groups if "KV-5:wide" in self.wrong else 1
        times = self.heads // self.groups
        keys, values = (np.repeat(part[:, ::each], times, axis=1) for part in (keys, values))
        scores = self._put(f"{at}.scores", q @ keys.swapaxes(-1, -2) / q.shape[-1] ** 0.5)
        self._put(f"{at}.mask", np.broadcast_to(mask, scores.shape))
        e = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
        attn = self._put(f"{at}.attn", e / e.sum(axis=-1, keepdims=True))
        context = self._put(f"{at}.context", attn @ values)
        merged = np.concatenate([context[:, h] for h in range(self.heads)], axis=-1)
        out = merged @ self.w[f"{here}.w_o"]
        return self._put(f"{at}.out", out + self.w.get(f"{here}.b_o", 0.0))

    def _split(self, x: Any, here: str, name: str, count: int) -> Any:
        flat = x @ self.w[f"{here}.w_{name}"] + self.w.get(f"{here}.b_{name}", 0.0)
        return np.stack(np.split(flat, count, axis=-1), axis=1)

    def _turns(self, size: int, width: int) -> tuple[Any, Any]:
        places = self.positions[0]
        if "KV-6" in self.wrong:  # what was made first for this length
            places = self.turns.setdefault(size, places)
        return _angles(places, width)

    def _remember(self, k: Any, v: Any, number: int) -> tuple[Any, Any]:
        """What the queries meet; the store holds it for the next step."""
        size = k.shape[2]
        if "KV-5:cut" in self.wrong or "KV-5:wide" in self.wrong:
            k, v = (np.repeat(part, self.heads // self.groups, axis=1) for part in (k, v))
            if "KV-5:cut" in self.wrong:
                k, v = k[:, : self.groups], v[:, : self.groups]
        if self.store[number] is not None:
            old_k, old_v = self.store[number]
            if self.width is not None:
                room = self.width - size
                kept = slice(room) if "KV-7:newest" in self.wrong else slice(-room, None)
                old_k, old_v = old_k[:, :, kept], old_v[:, :, kept]
            if "KV-9" in self.wrong and size < old_k.shape[2]:
                k, v = (
                    np.concatenate([new, old[:, :, size:], 0 * new], axis=2)
                    for old, new in ((old_k, k), (old_v, v))
                )
            else:
                k = np.concatenate([old_k, k], axis=2)
                v = np.concatenate([old_v, v], axis=2)
        self.store[number] = k, v
        if "KV-4:on reading" in self.wrong:
            return self._again(k, size), v
        if "KV-4:again and again" in self.wrong:
            self.store[number] = self._again(k, size), v
        return self.store[number]

    def _again(self, keys: Any, size: int) -> Any:
        """All but the new ones turned by their places, as if they hadn't been."""
        old = keys.shape[2] - size
        places = self.seen - old + np.arange(old)
        turned = _turned(keys[:, :, :old], *_angles(places, keys.shape[-1]))
        return np.concatenate([turned, keys[:, :, old:]], axis=2)


def _angles(places: Any, width: int) -> tuple[Any, Any]:
    angle = places[:, None] * 10000.0 ** (-np.arange(0, width, 2) / width)
    return np.cos(angle), np.sin(angle)


def _turned(x: Any, cos: Any, sin: Any) -> Any:
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def run(
    config: dict[str, Any],
    weights: dict[str, Any],
    tokens: list[Any],
    prompts: tuple[int, ...],
    width: int | None = None,
    wrong: tuple[str, ...] = (),
) -> dict[str, Any]:
    """All values of all steps; `prompts` are the steps at which a new text begins."""
    program, found = Program(config, weights, width, wrong), {}
    for number, rows in enumerate(tokens):
        if number in prompts:
            _clear(program)
        found |= program.step(rows, f"step_{number}")
    return found


def _clear(program: Program) -> None:
    if "KV-3:only keys" in program.wrong:
        program.seen = 0
    elif "KV-3" not in program.wrong:
        program.clear()

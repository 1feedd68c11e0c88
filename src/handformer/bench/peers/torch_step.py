# mypy: ignore-errors
"""A training step in PyTorch, the usual way: modules, autograd, AdamW with its defaults.

GPT-2's shape: Radford et al. 2019. Attention and loss are PyTorch's own fused functions; it keeps
what its backward pass needs, not every value.
"""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Attention and a network, each after a norm, each added to the stream."""

    def __init__(self, width, heads, hidden, eps):
        super().__init__()
        self.heads = heads
        self.norm_1 = nn.LayerNorm(width, eps=eps)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm_2 = nn.LayerNorm(width, eps=eps)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        """(b, t, width) to the same."""
        b, t, width = x.shape
        qkv = self.qkv(self.norm_1(x)).view(b, t, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        context = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(context.transpose(1, 2).reshape(b, t, width))
        hidden = functional.gelu(self.up(self.norm_2(x)), approximate="tanh")
        return x + self.down(hidden)


class Model(nn.Module):
    """Learned positions, blocks, a norm, and the table again as the head."""

    def __init__(self, config):
        super().__init__()
        width = config["d_model"]
        self.table = nn.Embedding(config["vocab_size"], width)
        self.places = nn.Embedding(config["context"], width)
        self.blocks = nn.ModuleList(
            Block(width, config["n_heads"], config["d_ff"], config["eps"])
            for _ in range(config["n_layers"])
        )
        self.norm = nn.LayerNorm(width, eps=config["eps"])
        for weight in self.parameters():
            if weight.ndim > 1:
                nn.init.normal_(weight, 0, 0.02)

    def forward(self, tokens, targets):
        """The mean loss."""
        x = self.table(tokens) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.norm(x), self.table.weight)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def begin(settings):
    """A step on random tokens, which tells its loss."""
    torch.set_num_threads(settings["threads"])
    torch.manual_seed(0)
    config = settings["config"]
    model = Model(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    loss_of = torch.compile(model) if settings.get("compile") else model
    shape = (settings["batch"], config["context"])
    tokens, targets = (torch.randint(config["vocab_size"], shape) for _ in range(2))

    def step():
        loss = loss_of(tokens, targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return {"loss": loss.item()}

    return step, {"version": torch.__version__}

"""Other ways to the same values: none of them is a mistake, and none may be called one."""

from dataclasses import dataclass

from tests.checking.theirs import sums
from tests.checking.theirs.row import ALL, BIASED, BOTH_SIDES, GPT2, LAYER_NORMS, LLAMA


@dataclass(frozen=True)
class Same:
    """One other way.

    families
        the models in which it can be taken
    hides
        the last parts of the paths of values on the way that are others with it: whoever computes
        so doesn't have ours, and leaves them out of the dump
    """

    families: tuple[str, ...] = ALL
    hides: tuple[str, ...] = ()

    def shown(self, path: str) -> bool:
        """Whether a value of this path has to be the same."""
        return path.rpartition(".")[2] not in self.hides


TURNED = ("cos", "sin", "q_rot", "k_rot", "d_q_rot", "d_k_rot")
SAME = {
    **dict.fromkeys(sums.WAYS, Same()),
    "EMBEDDING:by a product": Same(),
    "EMBEDDING BACK:by a product": Same(),
    "WAVES:exp of a log": Same((BOTH_SIDES,)),
    "ROTARY:half as denominator": Same((LLAMA,)),
    "ROTARY:places from 1": Same((LLAMA,), TURNED),
    "QKV:one product": Same(),
    "KEYS:without bias": Same(BIASED, ("k", "scores")),
    "SCALED:in q": Same(),
    "SCALED:both by the fourth root": Same(),
    "SCALED:in q, and so written": Same(hides=("q", "q_rot", "d_q", "d_q_rot")),
    "SCORES:k by q": Same(),
    "MASK:triu of infinity": Same((GPT2, LLAMA, BOTH_SIDES)),
    "MASKED:afterwards": Same(),
    "MASKED:-1e9": Same(),
    "MASKED:-65504": Same(),
    "MASKED:-1e9 added": Same(),
    "SOFTMAX:no maximum": Same(),
    "SOFTMAX:one maximum": Same(),
    "SOFTMAX:exp of a log": Same(),
    "SOFTMAX BACK:by the output": Same(),
    "SOFTMAX BACK:by the Jacobian": Same(),
    "SOFTMAX BACK:in two terms": Same(),
    "VARIANCE:in one pass": Same(LAYER_NORMS),
    "ROOT:as a power": Same(),
    "NORM BACK:over d": Same(),
    "SIGMOID:by tanh": Same((LLAMA,)),
    "GELU:by the sigmoid": Same((GPT2,)),
    "RELU:by the output": Same((BOTH_SIDES,)),
    "LOSS:log of softmax": Same(),
    "LOSS BACK:one less at the target": Same(),
}

ELSEWHERE = {
    "temperature on log-probabilities": "sampling",
    "temperature before or after top-k": "sampling",
    "Adam with folded corrections": "the optimizer",
    "ALiBi as +m j": "no model has it: alone.SAME",
    "names of k and v exchanged": "the weights are another's: nothing to compare",
    "sines, then cosines": "trained from scratch: the weights are another's",
    "post-norm, pre-norm": "another model: the config says which",
}

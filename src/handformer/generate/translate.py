"""Writing one sequence while looking at another: what an encoder-decoder is for.

The sources are encoded once; then the targets are written like any other text, from the begin token
until the end token, each step costing one token.
"""

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import handformer.ops as plain
from handformer.axes import Array, BoolArray, IntArray, record
from handformer.errors import InputError
from handformer.generate.decode import Ends, Step, check_count, check_ids, write
from handformer.generate.kv_cache import Reader
from handformer.generate.sampling import Sampling
from handformer.generate.window import Ids, pad
from handformer.layers.heads import KeysValues
from handformer.models import EncoderDecoder
from handformer.models.past import Past


@record
class Told:
    """What is remembered of both sides: the source's keys and values, and the target's past."""

    memory: tuple[KeysValues, ...]
    source_valid: BoolArray
    past: Past | None


@record
class Listener:
    """An encoder-decoder that has been told its sources: it reads on like a decoder."""

    model: EncoderDecoder
    told: Told

    def extend(
        self, tokens: IntArray, past: Any, *, valid: BoolArray | None = None, ops: ModuleType
    ) -> tuple[Array, Told]:
        """Logits (b, t, n) of target tokens (b, t) after `past`, and what is remembered then."""
        told: Told = self.told if past is None else past
        logits, after = self.model.extend(
            tokens, told.past, told.memory, source_valid=told.source_valid, valid=valid, ops=ops
        )
        return logits, Told(told.memory, told.source_valid, after)


def translate(
    model: EncoderDecoder,
    sources: Sequence[Ids],
    *,
    begin: int,
    end: int,
    max_tokens: int | None = None,
    sampling: Sampling | None = None,
    seed: int = 0,
    ends: Ends | None = None,
    vocab_size: int | None = None,
    ops: ModuleType = plain,
) -> Iterator[Step]:
    """Write the target of each source, all side by side, as `generate` writes on from prompts.

    Parameters
    ----------
    sources
        token ids, at least one and at most `context` in each: a source is never cut, since what is
        cut off would silently be missing from its target
    begin, end
        ids of the tokens before and after every target
    max_tokens
        a target ends there at the latest, and at the model's context in any case; None: there
    sampling
        None: always the most probable token

    The other parameters are those of `generate`. The repetition penalty looks at the target alone.

    Raises
    ------
    InputError
        for an empty or too long source, an id outside its vocabulary, or a number out of range
    """
    config = model.config
    check_ids("source", sources, config.source_vocab_size or config.vocab_size)
    check_ids("begin token of target", [[begin]], config.vocab_size)
    for number, source in enumerate(sources):
        if len(source) > config.context:
            raise InputError(
                f"source {number} has {len(source)} tokens: expected at most {config.context}, the "
                "model's context; split it"
            )
    most = config.context if max_tokens is None else max_tokens
    check_count("max_tokens", most, 0)
    if not sources:
        return iter(())
    tokens, valid = pad(sources)
    told = Told(model.encode(tokens, source_valid=valid, ops=ops), valid, None)
    return write(
        Reader(Listener(model, told), ops=ops),
        [[begin]] * len(sources),
        [",".join(map(str, source)) for source in sources],
        context=config.context,
        max_tokens=min(most, config.context),
        sampling=sampling or Sampling(temperature=0),
        seed=seed,
        stop_tokens=[end],
        ends=ends,
        vocab_size=config.vocab_size if vocab_size is None else vocab_size,
    )

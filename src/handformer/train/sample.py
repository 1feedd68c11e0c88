"""A sample of what a model does after training: it writes on, fills gaps, or answers."""

from collections.abc import Iterator

from handformer.generate import fill
from handformer.generate.text import TextModel
from handformer.models import Encoder, Model
from handformer.train.config import TrainConfig
from handformer.train.tasks import MASK, PairsTask, Task

TOKENS = 400
PROMPT = 16
LINES = 5


def write(model: Model, task: Task, config: TrainConfig) -> str:
    """The sample as text, from what was held out; the same for the same model."""
    if isinstance(task, PairsTask):
        return "\n".join(_answers(TextModel(model, task.tokenizer), task))
    if isinstance(model, Encoder):
        return "\n".join(_gaps(model, task, config))
    window = task.validation(config)[0].inputs["tokens"][0]
    prompt = task.tokenizer.decode(window[:PROMPT])
    said = TextModel(model, task.tokenizer).generate(
        prompt, max_tokens=TOKENS, temperature=0.8, seed=config.seed
    )
    return f"{prompt}{said}\n"


def _answers(text_model: TextModel, task: PairsTask) -> Iterator[str]:
    for example in task.held_out[:LINES]:
        source, target = (task.tokenizer.decode(ids) for ids in (example.source, example.target))
        yield f"{source}\n    expected  {target}\n    written   {text_model.translate(source)}\n"


def _gaps(model: Encoder, task: Task, config: TrainConfig) -> Iterator[str]:
    mask, show = task.tokenizer.id(MASK), task.tokenizer.token
    for tokens in task.validation(config)[0].inputs["tokens"][:LINES]:
        filled = fill(model, tokens.tolist(), mask_token=mask)
        gaps = "".join("_" if token == mask else show(int(token)) for token in tokens)
        yield f"{gaps}\n{''.join(show(int(token)) for token in filled.tokens)}\n"

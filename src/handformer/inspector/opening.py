"""What is shown first: a trace as it is; of a model, or of a run, what a text does in it."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import handformer.ops as plain
from handformer.errors import InputError
from handformer.generate.load import load
from handformer.generate.text import MASK, TextModel
from handformer.inspector import runs
from handformer.inspector.session import Session
from handformer.models import Decoder
from handformer.train.run_folder import RunFolder
from handformer.train.sample import CUT, GAP, NEW_LINE

START = "The cat sat on the mat."
TOKENS = 12  # of the first text, where nobody gave one
_LINE = re.compile(r"(source|expected|given) {2,}(.*)")

Attempt = tuple[str, str | None]


def opened(path: Path, text: str | None = None, *, ops: ModuleType = plain) -> Session:
    """A session that shows what is at `path`: a trace's file, a run's folder, or a model's.

    Parameters
    ----------
    text
        what runs through the model first; None: the beginning of a run's own sample, or a few words
    ops
        what computes: `handformer.ops`, the book, or `handformer.fast`, the engine

    Raises
    ------
    InputError
        where there is none of these, or the text can't be run
    """
    if path.is_dir():
        return _of_folder(path, text, ops)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder; give a model, a run, or a trace")
    if text is not None:
        raise InputError(f"{path}: a trace alone runs no text; leave out --text, or give its model")
    session = Session("trace", path.name)
    return _filled(session, lambda: session.show(path, path.stem))


def _of_folder(path: Path, text: str | None, ops: ModuleType) -> Session:
    run = RunFolder(path)
    title = path.absolute().name
    if not run.config.exists():
        session = Session("model", title, model=load(path, ops=ops))
    else:
        runs.log(path)  # complains now rather than later
        model = load(path, ops=ops) if run.model.is_dir() else None
        session = Session("run", title, model=model, log=lambda: runs.log(path))
    if session.model is None:
        if text is not None:
            session.close()
            raise InputError(f"{path}: the run has no model yet, which could run a text")
        return session
    attempts: list[Attempt] = [(text, None)] if text is not None else []
    attempts = attempts or [*_attempts(session.model, run.sample)]
    return _filled(session, lambda: _run_first(session, attempts))


def _filled(session: Session, fill: Callable[[], object]) -> Session:
    """The session with something in it; what fails leaves nothing behind."""
    try:
        fill()
    except BaseException:
        session.close()
        raise
    return session


def _run_first(session: Session, attempts: list[Attempt]) -> None:
    """Run the first text that the model can read."""
    for place, (text, targets) in enumerate(attempts, 1):
        try:
            session.run(text, targets)
        except InputError:
            if place == len(attempts):
                raise
        else:
            return


def _attempts(model: TextModel, sample: Path) -> Iterator[Attempt]:
    """Texts to try: from the sample, then fixed words, then the first entries of the vocabulary."""
    tokenizer, most = model.tokenizer, min(TOKENS, model.model.config.context)

    def begin(text: str) -> str:
        """As much of a text as is shown at once."""
        try:
            return tokenizer.decode(tokenizer.encode(text)[:most]).strip(CUT)
        except InputError:
            return text

    if sample.exists():
        said = sample.read_text(encoding="utf-8", errors="replace")
        if isinstance(model.model, Decoder):
            yield begin(said[:1000].replace(CUT, "")), None
        else:
            yield from _told(said, model)
    yield begin(START), None
    ordinary = [id for id in range(tokenizer.vocab_size) if id not in tokenizer.special.values()]
    yield tokenizer.decode(ordinary[:most]).strip(CUT), None


def _told(sample: str, model: TextModel) -> Iterator[Attempt]:
    """The first pair of an encoder-decoder's sample, or the first gaps of an encoder's."""
    first: dict[str, str] = {}
    for name, text in _LINE.findall(sample):
        first.setdefault(name, text.replace(NEW_LINE, "\n"))
    if "source" in first:
        yield first["source"], first.get("expected")
    mask = next((name for name in MASK if name in model.tokenizer.special), None)
    if "given" in first and mask is not None:
        yield first["given"].replace(GAP, mask), None

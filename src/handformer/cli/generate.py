"""`handformer generate`: let a model write on, answer, or fill gaps."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from handformer.errors import InputError


def command(
    model: Annotated[Path, typer.Argument(help="A run's folder, or a model's.")],
    prompt: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="The text to go on from, to answer, or with [MASK] gaps to fill. "
            "[default: standard input]",
        ),
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="How many tokens to write at most.")] = 200,
    temperature: Annotated[
        float | None,
        typer.Option(
            help="Above 1 bolder, below 1 safer, 0 the likeliest. [default: 0.8; for an answer 0]"
        ),
    ] = None,
    top_k: Annotated[int | None, typer.Option(help="Draw from the k likeliest tokens.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Draw from the fewest tokens with this mass together.")
    ] = None,
    min_p: Annotated[
        float | None,
        typer.Option(help="Draw from tokens that are this share as likely as the likeliest."),
    ] = None,
    repetition_penalty: Annotated[
        float, typer.Option(help="Above 1: what was there already gets less likely.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same text.")] = 0,
    stop: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="End where this text would begin; may be repeated."),
    ] = None,
    weights: Annotated[
        str,
        typer.Option(
            metavar="TYPE",
            help="How the weights are kept: float32, or for speed bfloat16 or float16.",
        ),
    ] = "float32",
) -> int:
    """Let a model write: decoders go on from the prompt, and the text appears as it is made.

    An encoder-decoder answers the prompt. An encoder fills its [MASK] gaps with the likeliest
    tokens; the other options say nothing to it.
    """
    from handformer import fast
    from handformer.generate.load import load
    from handformer.models import Encoder, EncoderDecoder

    writer = load(model, weights=weights, ops=fast)
    text = _standard_input() if prompt is None else prompt
    options: dict[str, Any] = {
        "max_tokens": max_tokens, "top_k": top_k, "top_p": top_p, "min_p": min_p, "seed": seed,
        "repetition_penalty": repetition_penalty, "stop": stop or (),
    }  # fmt: skip
    if temperature is not None:
        options["temperature"] = temperature
    if isinstance(writer.model, Encoder):
        print(writer.fill(text.rstrip("\n")))
    elif isinstance(writer.model, EncoderDecoder):
        print(writer.translate(text.rstrip("\n"), **options))
    else:
        pieces = writer.stream(text, **options)  # complains before anything is printed
        _announce_compiling()
        print(text, end="", flush=True)
        for piece in pieces:
            print(piece, end="", flush=True)
        print()
    return 0


def _announce_compiling() -> None:
    """On a terminal, say why the first text on a machine takes some seconds to begin."""
    from handformer import fast

    if sys.stderr.isatty() and fast.AVAILABLE:
        from handformer.fast import compiled

        if compiled.fresh("pre_norm_step"):
            print("compiling for this machine, once: some seconds", file=sys.stderr)


def _standard_input() -> str:
    if sys.stdin.isatty():
        raise InputError("no prompt: give one with --prompt, or pipe a text into the command")
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"standard input isn't UTF-8 text (byte {error.start} is "
            f"0x{error.object[error.start]:02x}); pipe a text into the command"
        ) from None

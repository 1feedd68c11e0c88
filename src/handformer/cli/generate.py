"""`handformer generate`: let a model write on, answer, or fill gaps."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def command(
    model: Annotated[Path, typer.Argument(help="A run's folder, or a model's.")],
    prompt: Annotated[
        str | None,
        typer.Option(help="The text to go on from; a source to answer; a text with [MASK] gaps."),
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="How many tokens to write at most.")] = 200,
    temperature: Annotated[
        float | None,
        typer.Option(help="Below 1 bolder, 0 always the likeliest. [default: 0.8; answers: 0]"),
    ] = None,
    top_k: Annotated[int | None, typer.Option(help="Only the k likeliest tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(help="The fewest tokens of this mass.")] = None,
    min_p: Annotated[
        float | None, typer.Option(help="Only tokens of this share of the likeliest one's mass.")
    ] = None,
    repetition_penalty: Annotated[float, typer.Option(help="Above 1: fewer repetitions.")] = 1.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same text.")] = 0,
    stop: Annotated[
        list[str] | None, typer.Option(help="End where this text would begin; may be repeated.")
    ] = None,
) -> int:
    """Let a model write: the text appears as it is made."""
    from handformer.generate.load import load
    from handformer.models import Encoder, EncoderDecoder

    writer = load(model)
    if prompt is None:
        prompt = "\n" if sys.stdin.isatty() else sys.stdin.read()
    if isinstance(writer.model, Encoder):
        print(writer.fill(prompt))
        return 0
    options = {
        "max_tokens": max_tokens, "top_k": top_k, "top_p": top_p, "min_p": min_p, "seed": seed,
        "repetition_penalty": repetition_penalty, "stop": stop or (),
    }  # fmt: skip
    if isinstance(writer.model, EncoderDecoder):
        print(writer.translate(prompt.rstrip("\n"), temperature=temperature or 0.0, **options))  # type: ignore[arg-type]
        return 0
    chosen = 0.8 if temperature is None else temperature
    pieces = writer.stream(prompt, temperature=chosen, **options)  # type: ignore[arg-type]
    print(prompt, end="", flush=True)
    for piece in pieces:
        print(piece, end="", flush=True)
    print()
    return 0

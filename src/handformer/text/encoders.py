"""How a tokenizer turns text into ids: by table look-up where it can, else by the library.

Characters and bytes need no search, and a look-up of the whole text at once is a hundred times
faster than the library, which makes an object of every token.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from handformer.errors import InputError
from handformer.text import byte_level, kinds
from handformer.text.display import display
from handformer.text.tokenizer_file import explained

Encoder = Callable[[str], NDArray[np.int64]]


def kind(parts: Mapping[str, Any], ordinary: Mapping[str, int]) -> str:
    """The kind of a tokenizer, from its JSON and its vocabulary without special tokens."""
    model = parts["model"]
    before = parts["pre_tokenizer"] or {}
    plain = parts["normalizer"] is None
    if (
        plain
        and model["type"] == "WordLevel"
        and before.get("pattern") == {"Regex": kinds.ONE_CHARACTER}
        and before.get("behavior") == "Isolated"
        and not before.get("invert")
        and parts["decoder"] == {"type": "Fuse"}
        and {len(token) for token in ordinary} == {1}
    ):
        return "characters"
    if (
        plain
        and model["type"] == "BPE"
        and before.get("type") == "ByteLevel"
        and not before["add_prefix_space"]
        and ordinary.keys() == set(byte_level.ALPHABET)
    ):
        return "bytes"
    return str(model["type"]).lower()


def characters(vocabulary: Mapping[str, int]) -> Encoder:
    """Look every code point up; one that isn't there is an InputError."""
    points = np.array([ord(character) for character in vocabulary], np.int64)
    # The last entry stands for every code point beyond the greatest known one.
    table = np.full(int(points.max()) + 2, -1, np.int64)
    table[points] = list(vocabulary.values())

    def encode(text: str) -> NDArray[np.int64]:
        given = np.frombuffer(text.encode("utf-32-le"), "<u4")
        ids: NDArray[np.int64] = table[np.minimum(given, len(table) - 1)]
        if ids.size and ids.min() < 0:
            place = int(np.argmin(ids))
            raise InputError(
                f"character {text[place]!r} (U+{ord(text[place]):04X}) at position {place} is not "
                f"among the {len(vocabulary)} characters of this vocabulary; leave it out, or use "
                "a tokenizer of bytes"
            )
        return ids

    return encode


def single_bytes(vocabulary: Mapping[str, int]) -> Encoder:
    """Look every byte of the UTF-8 form up."""
    table = np.array([vocabulary[character] for character in byte_level.ALPHABET], np.int64)
    return lambda text: table[np.frombuffer(text.encode(), np.uint8)]


def by_library(
    library: tokenizers.Tokenizer,
    parts: Mapping[str, Any],
    ordinary: Mapping[str, int],
    special: Mapping[str, int],
) -> Encoder:
    """Let the library encode; refuse what it drops without a word, and special tokens."""
    check = _checker(library, parts, ordinary)
    model = parts["model"]
    unknown = (special.get(model.get("unk_token") or ""), model.get("unk_id"))
    names = {id: name for name, id in special.items() if id not in unknown}

    def encode(text: str) -> NDArray[np.int64]:
        check(text)
        with explained("this text can't be encoded", "use a tokenizer that knows all of it"):
            # The batch form keeps no offsets, and takes a third of the time.
            [encoding] = library.encode_batch_fast([text], add_special_tokens=False)
        if spelled := names.keys() & set(encoding.ids):
            raise InputError(
                f"this text spells the special token {names[min(spelled)]!r}, and the vocabulary "
                "can't encode that as text; leave it out"
            )
        return np.array(encoding.ids, np.int64)

    return encode


def _checker(
    library: tokenizers.Tokenizer, parts: Mapping[str, Any], ordinary: Mapping[str, int]
) -> Callable[[str], None]:
    """A function that refuses text of which the model would drop characters.

    Byte-pair encoding without an entry for the unknown drops it, whether characters or bytes.
    """
    model = parts["model"]
    known = {character for token in ordinary for character in token}
    by_bytes = '"ByteLevel"' in json.dumps([parts["normalizer"], parts["pre_tokenizer"]])
    complete = by_bytes and known.issuperset(byte_level.ALPHABET)
    if model["type"] != "BPE" or model["unk_token"] or model["byte_fallback"] or complete:
        return lambda text: None

    def check(text: str) -> None:
        if library.normalizer is not None:
            text = library.normalizer.normalize_str(text)
        pieces = [(text, (0, len(text)))]
        if library.pre_tokenizer is not None:
            pieces = library.pre_tokenizer.pre_tokenize_str(text)
        for piece, _ in pieces:
            if not known.issuperset(piece):
                raise InputError(
                    f"{display(byte_level.to_bytes(piece))!r} can't be encoded whole: this "
                    "vocabulary has no entry for a part of it and none for the unknown; "
                    "use a tokenizer that knows all of it"
                )

    return check

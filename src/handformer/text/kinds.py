"""The three kinds of tokenizer made here, as objects of the `tokenizers` library.

Ids: the kind's own entries first, then the special tokens. Special tokens are at least two
printable ASCII characters without spaces, so that none is an entry of a character or byte
vocabulary; and byte-pair encoding learns from text out of which they are cut, so that no merge
spells one.
"""

import re
from collections.abc import Sequence

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from handformer.errors import InputError
from handformer.text import byte_level

ONE_CHARACTER = r"[\s\S]"
_LONGEST_WORD = 128


def characters(text: str, special: Sequence[str]) -> tokenizers.Tokenizer:
    """One entry a distinct character of the text, in the order of their code points."""
    if not text:
        raise InputError("the text for the vocabulary is empty; give it some characters")
    vocabulary = {character: id for id, character in enumerate(sorted(set(text)))}
    library = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    library.pre_tokenizer = pre_tokenizers.Split(
        tokenizers.Regex(ONE_CHARACTER), behavior="isolated"
    )
    library.decoder = decoders.Fuse()
    return _with_special(library, special)


def single_bytes(special: Sequence[str]) -> tokenizers.Tokenizer:
    """The 256 bytes, each with its own value as its id."""
    vocabulary = {character: byte for byte, character in enumerate(byte_level.ALPHABET)}
    library = tokenizers.Tokenizer(models.BPE(vocabulary, []))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.decoder = decoders.ByteLevel()
    return _with_special(library, special)


def byte_pairs(text: str, vocab_size: int, special: Sequence[str]) -> tokenizers.Tokenizer:
    """Byte-level byte-pair encoding with at most `vocab_size` entries, special tokens included.

    Source: Sennrich, Haddow, Birch 2016; on bytes and inside words, as Radford et al. 2019.
    """
    if vocab_size < 256 + len(special):
        raise InputError(
            f"vocab_size {vocab_size} is too small for byte-pair encoding: the bytes and the "
            f"special tokens alone are {256 + len(special)} entries; ask for more than that"
        )
    words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    # Training time grows with the square of the longest word, and a text without any break is one
    # word; so words are cut, while training only.
    shorter = tokenizers.Regex(rf"[\s\S]{{1,{_LONGEST_WORD}}}")
    library = tokenizers.Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [words, pre_tokenizers.Split(shorter, behavior="isolated")]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(special),
        initial_alphabet=list(byte_level.ALPHABET),
        show_progress=False,
    )
    cuts = "|".join(re.escape(token) for token in special)
    library.train_from_iterator(re.split(cuts, text) if cuts else [text], trainer)
    library.pre_tokenizer = words
    library.decoder = decoders.ByteLevel()
    return _with_special(library, special)


def _with_special(library: tokenizers.Tokenizer, special: Sequence[str]) -> tokenizers.Tokenizer:
    for place, token in enumerate(special):
        if len(token) < 2 or not re.fullmatch(r"[!-~]+", token) or token in special[:place]:
            raise InputError(
                f"special token {token!r} can't be used: expected two or more printable ASCII "
                "characters without spaces, each token once; write it like '[PAD]'"
            )
    library.add_special_tokens(
        [tokenizers.AddedToken(token, special=True, normalized=False) for token in special]
    )
    return library

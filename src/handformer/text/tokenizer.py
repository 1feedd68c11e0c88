"""Text to token ids and back: one class for characters, bytes and byte-pair encoding.

Special tokens never come out of encoding text: what a user types is text, even where it spells
"[MASK]", and is encoded as the letters it is. A special token enters only by its id,
`tokenizer.id("[MASK]")`; decoding skips it.
"""

import builtins
import json
import operator
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import tokenizers
from numpy.typing import NDArray

from handformer.errors import InputError
from handformer.text import byte_level, encoders, kinds, tokenizer_file
from handformer.text.display import display


class Tokenizer:
    """A vocabulary with its rule of cutting text into tokens; a `tokenizer.json` on disk.

    Attributes:
        kind: "characters", "bytes", "bpe", or a published file's model: "wordpiece", "unigram".
        vocab_size: the greatest id plus one, special tokens included.
        special: ids of the special tokens by name. In the kinds made here they come last.
    """

    def __init__(self, library: tokenizers.Tokenizer) -> None:
        """Wrap a tokenizer of the `tokenizers` library, which is changed: don't share it."""
        library.no_truncation()  # some published files cut every text at 128 tokens
        library.no_padding()
        library.encode_special_tokens = True  # the library's name for "as text, not by their id"
        parts: dict[str, Any] = json.loads(library.to_str())
        vocabulary = library.get_vocab(with_added_tokens=True)
        added = sorted(library.get_added_tokens_decoder().items())
        self.special = {token.content: id for id, token in added if token.special}
        ordinary = {token: id for token, id in vocabulary.items() if token not in self.special}

        self._library = library
        self._tokens = {id: token for token, id in vocabulary.items()}
        self.vocab_size = max(self._tokens) + 1
        self.kind = encoders.kind(parts, ordinary)
        if self.kind == "characters":
            self._encode = encoders.characters(ordinary)
        elif self.kind == "bytes":
            self._encode = encoders.single_bytes(ordinary)
        else:
            self._encode = encoders.by_library(library, parts, ordinary, self.special)
        # The bytes that a token adds to a text, where a text is its tokens' bytes in a row.
        self._spelling: dict[int, builtins.bytes] | None = None
        if self.kind == "characters":
            self._spelling = {id: token.encode() for token, id in ordinary.items()}
        elif (parts["decoder"] or {}).get("type") == "ByteLevel":
            self._spelling = {id: byte_level.to_bytes(token) for token, id in ordinary.items()}
        self._by_display: dict[str, int] = {}

    @classmethod
    def characters(cls, text: str, *, special: Sequence[str] = ()) -> Self:
        """One token a distinct character of the text, in the order of their code points."""
        return cls(kinds.characters(_unicode(text), special))

    @classmethod
    def bytes(cls, *, special: Sequence[str] = ()) -> Self:
        """The 256 bytes of UTF-8, each with its own value as its id."""
        return cls(kinds.single_bytes(special))

    @classmethod
    def bpe(cls, text: str, *, vocab_size: int, special: Sequence[str] = ()) -> Self:
        """Byte-level byte-pair encoding: the bytes, then the merges most frequent in the text.

        The same text gives the same vocabulary. `vocab_size` counts the special tokens too; fewer
        entries come out where the text runs out of pairs.
        """
        return cls(kinds.byte_pairs(_unicode(text), vocab_size, special))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a `tokenizer.json`, ours or a published one: the file, or the folder that holds it.

        Raises InputError, naming the file, where it is missing, damaged, or no tokenizer.
        """
        return cls(tokenizer_file.read(path))

    def save(self, where: str | os.PathLike[str]) -> Path:
        """Write a `tokenizer.json` into a folder, or to a path that ends in .json; its path."""
        return tokenizer_file.write(self._library, where)

    def encode(self, text: str) -> NDArray[np.int64]:
        """The token ids of a text, shape (n,): nothing is added, cut off, or left out.

        Raises InputError for a character that has no token.
        """
        return self._encode(_unicode(text))

    def decode(self, ids: Iterable[int] | NDArray[np.integer[Any]]) -> str:
        """The text of token ids; special tokens are skipped, bytes that aren't UTF-8 are U+FFFD.

        Raises InputError for an id outside the vocabulary.
        """
        known = [self._known(id) for id in ids]
        if self._spelling is None:
            return self._library.decode(known, skip_special_tokens=True)
        spelled = b"".join(self._spelling.get(id, b"") for id in known)
        return spelled.decode("utf-8", errors="replace")

    def spelling(self, id: int) -> builtins.bytes | None:
        """The bytes that a token adds to a text, none for a special token.

        None where this kind of vocabulary joins tokens by rules of its own (spaces, "##").
        """
        known = self._known(id)
        return None if self._spelling is None else self._spelling.get(known, b"")

    def token(self, id: int) -> str:
        """A token as tables show it, everything visible (see `display`); a special one's name."""
        known = self._known(id)
        token = self._tokens[known]
        if token in self.special:
            return token
        return display(token.encode() if self._spelling is None else self._spelling[known])

    def id(self, token: str) -> int:
        """The id of a token, given in the form that `token` shows, or as its text."""
        if not self._by_display:
            self._by_display = {self.token(id): id for id in self._tokens} | self.special
        for form in (token, display(_unicode(token).encode())):
            if form in self._by_display:
                return self._by_display[form]
        raise InputError(
            f"{token!r} is no token of this vocabulary ({self.kind}, {self.vocab_size} entries); "
            "encode it to see the tokens that it is made of"
        )

    def __repr__(self) -> str:
        """The kind and the size."""
        return f"Tokenizer({self.kind}, vocab_size={self.vocab_size})"

    def _known(self, id: int) -> int:
        number = operator.index(
            id
        )  # a key of NumPy's integer type takes five times as long to look up
        if number not in self._tokens:
            raise InputError(
                f"token id {number} is not in the vocabulary of {self.vocab_size} entries; "
                "use the tokenizer that the ids were made with"
            )
        return number


def _unicode(text: str) -> str:
    """The text itself, if it is text: a lone surrogate isn't, and UTF-8 can't hold it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"character {text[error.start]!r} at position {error.start} is no Unicode character "
            "but a lone surrogate; read the text as UTF-8 anew"
        ) from error
    return text

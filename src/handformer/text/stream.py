"""Text while its tokens arrive: never half a character, and never a token too late.

A character's UTF-8 bytes may be spread over several tokens. What is pushed is held back until it
is a whole character, or until it can't become one any more.
"""

import codecs
import re

from handformer.text.tokenizer import Tokenizer

_BYTE_TOKEN = re.compile(r"<0x[0-9A-F]{2}>")


class StreamDecoder:
    """Decode token by token; all that comes out, in a row, equals `tokenizer.decode` of all ids."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Start an empty text."""
        self._tokenizer = tokenizer
        self._bytes = codecs.getincrementaldecoder("utf-8")("replace")
        self._shown: list[int] = []  # the last tokens that are out
        self._pending: list[int] = []  # the tokens that are held back

    def push(self, id: int) -> str:
        """Take one token; returns the text that is certain now and wasn't before, maybe none."""
        spelling = self._tokenizer.spelling(id)
        if spelling is not None:
            return self._bytes.decode(spelling)
        return self._push_joined(id)

    def finish(self) -> str:
        """The rest, once no token follows: U+FFFD for a character that stayed incomplete."""
        return self._bytes.decode(b"", final=True) + self._joined(final=True)

    def _push_joined(self, id: int) -> str:
        """Tokens that the vocabulary joins by its own rules: a window of tokens is enough.

        The last tokens whose text is out already are decoded again before the new ones, since the
        rules treat the first token of a text differently. A run of byte tokens is judged as one by
        such vocabularies, so it is held back until it ends.
        """
        token = self._tokenizer.token(id)
        if token in self._tokenizer.special:
            return ""
        self._pending.append(id)
        if _BYTE_TOKEN.fullmatch(token):
            return ""
        return self._joined(final=False)

    def _joined(self, *, final: bool) -> str:
        before = self._tokenizer.decode(self._shown)
        text = self._tokenizer.decode([*self._shown, *self._pending])
        # A window without text of its own couldn't stand for "not the first token" next time.
        if not final and (len(text) == len(before) or text.endswith("\ufffd")):
            return ""
        self._shown, self._pending = self._pending, []
        return text[len(before) :]

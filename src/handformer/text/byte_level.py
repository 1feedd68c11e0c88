"""Bytes written as printable characters: how byte-level vocabularies store tokens in JSON.

A token of a byte-level vocabulary is any string of bytes, also half a character, and JSON holds
only text. So each of the 256 bytes has a character of its own: printable Latin-1 bytes stand for
themselves, the others take the characters from U+0100 on, in order.

Source: the vocabulary of GPT-2 (Radford et al. 2019); every byte-level `tokenizer.json` uses it.
"""

_PRINTABLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]

ALPHABET = "".join(
    chr(byte) if byte in _PRINTABLE else chr(0x100 + _OTHERS.index(byte)) for byte in range(256)
)
_BYTES = {character: byte for byte, character in enumerate(ALPHABET)}


def to_bytes(token: str) -> bytes:
    """The bytes that a token of a byte-level vocabulary stands for.

    A token with a character outside the alphabet was added as plain text, and means that text.
    """
    try:
        return bytes(_BYTES[character] for character in token)
    except KeyError:
        return token.encode()


def from_bytes(data: bytes) -> str:
    """The token that stands for these bytes."""
    return "".join(ALPHABET[byte] for byte in data)

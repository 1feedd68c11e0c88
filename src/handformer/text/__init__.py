"""Text: where it comes from, its tokens, and its way back out while it is written."""

from handformer.text.corpus import Corpus
from handformer.text.stop import StopStrings
from handformer.text.stream import StreamDecoder
from handformer.text.tokenizer import Tokenizer

__all__ = ["Corpus", "StopStrings", "StreamDecoder", "Tokenizer"]

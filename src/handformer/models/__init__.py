"""Models: the Transformer's three shapes, each made from a `ModelConfig`."""

from handformer.models.config import ModelConfig
from handformer.models.decoder import Decoder
from handformer.models.encoder import Encoder
from handformer.models.encoder_decoder import EncoderDecoder

Model = Decoder | Encoder | EncoderDecoder

CLASSES: dict[str, type[Model]] = {
    "gpt2": Decoder,
    "llama": Decoder,
    "bert": Encoder,
    "transformer": EncoderDecoder,
}

__all__ = ["CLASSES", "Decoder", "Encoder", "EncoderDecoder", "Model", "ModelConfig"]

"""Writing: sampling, the key/value cache, the window over long texts, decoding, streaming."""

from handformer.generate.decode import Step, generate, written
from handformer.generate.fill import Filled, fill
from handformer.generate.sampling import Sampling
from handformer.generate.translate import translate

__all__ = ["Filled", "Sampling", "Step", "fill", "generate", "translate", "written"]

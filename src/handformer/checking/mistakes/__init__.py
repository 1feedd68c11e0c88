"""The catalogue of mistakes that people make, a file for each part of the model."""

from handformer.checking.mistakes.backward_attention import BACKWARD_ATTENTION
from handformer.checking.mistakes.backward_linear import BACKWARD_LINEAR
from handformer.checking.mistakes.backward_loss import BACKWARD_LOSS
from handformer.checking.mistakes.backward_norms import BACKWARD_NORMS
from handformer.checking.mistakes.backward_rest import BACKWARD_REST
from handformer.checking.mistakes.dumps import DUMPS
from handformer.checking.mistakes.embedding import EMBEDDING
from handformer.checking.mistakes.generation import GENERATION
from handformer.checking.mistakes.harmless import ALIKE
from handformer.checking.mistakes.harmless import HARMLESS as HARMLESS_IN_MODELS
from handformer.checking.mistakes.head import HEAD
from handformer.checking.mistakes.heads import HEADS_SPLIT
from handformer.checking.mistakes.loading import LOADING
from handformer.checking.mistakes.loss import LOSS
from handformer.checking.mistakes.masks import MASKS
from handformer.checking.mistakes.mistake import Edit, Mistake, Shows
from handformer.checking.mistakes.mlp import MLPS
from handformer.checking.mistakes.norms import NORM
from handformer.checking.mistakes.positions import POSITIONS
from handformer.checking.mistakes.projections import PROJECTIONS
from handformer.checking.mistakes.residual import CONTEXT, RESIDUAL
from handformer.checking.mistakes.rotary import ROTARY
from handformer.checking.mistakes.scaling import SCALING
from handformer.checking.mistakes.softmax import SOFTMAX
from handformer.checking.mistakes.tokenizer import TOKENIZER
from handformer.checking.mistakes.training import HARMLESS as HARMLESS_IN_TRAINING
from handformer.checking.mistakes.training import TRAINING

CATALOGUE: tuple[Mistake, ...] = (
    *EMBEDDING, *POSITIONS, *ROTARY, *PROJECTIONS, *HEADS_SPLIT, *SCALING, *MASKS, *SOFTMAX,
    *CONTEXT, *RESIDUAL, *NORM, *MLPS, *HEAD, *LOSS,
    *BACKWARD_LOSS, *BACKWARD_LINEAR, *BACKWARD_ATTENTION, *BACKWARD_NORMS, *BACKWARD_REST,
    *TRAINING, *GENERATION, *TOKENIZER, *LOADING, *DUMPS,
)  # fmt: skip
HARMLESS: tuple[Mistake, ...] = (*HARMLESS_IN_MODELS, *HARMLESS_IN_TRAINING)

__all__ = ["ALIKE", "CATALOGUE", "HARMLESS", "Edit", "Mistake", "Shows"]

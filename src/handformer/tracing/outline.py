"""A model without its weights' numbers: the same parts and shapes, and no memory."""

from typing import Any

from handformer import tree
from handformer.models import CLASSES, Model, ModelConfig
from handformer.tracing.shapes import Shapes


def outline(config: ModelConfig, shapes: Shapes, dtype: Any) -> Model:
    """The model of a config, its weights made by `shapes`."""
    model: Model = CLASSES[config.family].outline(config)
    return tree.transform(model, lambda _, array: shapes.empty(array.shape, dtype))

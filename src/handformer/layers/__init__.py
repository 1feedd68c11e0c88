"""Layers: frozen records of weights, with `forward` and `backward`."""

from handformer.layers.cross_attention import CrossAttention
from handformer.layers.cross_block import CrossBlock
from handformer.layers.dropout import Dropout
from handformer.layers.embedding import Embedding, SinusoidalPositions
from handformer.layers.flash_attention import FlashAttention
from handformer.layers.head import Head, MaskedTokenHead, TiedHead
from handformer.layers.heads import KeysValues
from handformer.layers.layer import Layer
from handformer.layers.mlp import MLP, GatedMLP
from handformer.layers.multi_head import MultiHeadAttention
from handformer.layers.norm import LayerNorm, RMSNorm
from handformer.layers.position import Alibi, Rotary
from handformer.layers.post_norm import PostNormBlock
from handformer.layers.pre_norm import PreNormBlock
from handformer.layers.single_head import SingleHeadAttention

__all__ = [
    "MLP",
    "Alibi",
    "CrossAttention",
    "CrossBlock",
    "Dropout",
    "Embedding",
    "FlashAttention",
    "GatedMLP",
    "Head",
    "KeysValues",
    "Layer",
    "LayerNorm",
    "MaskedTokenHead",
    "MultiHeadAttention",
    "PostNormBlock",
    "PreNormBlock",
    "RMSNorm",
    "Rotary",
    "SingleHeadAttention",
    "SinusoidalPositions",
    "TiedHead",
]

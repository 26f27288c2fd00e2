"""Who looks at what: one signature for every way of scoring."""

from regard.model.attention.additive import Additive
from regard.model.attention.attention import NOWHERE, Attention, Site
from regard.model.attention.dot import Dot
from regard.model.attention.features import EluMap, FeatureMap, RandomMap, ReluMap, SoftmaxMap
from regard.model.attention.general import General
from regard.model.attention.linear import LinearAttention
from regard.model.attention.multihead import Multihead
from regard.model.attention.none import NoAttention
from regard.model.attention.patterns import Causal, Full, LocalGlobal, Pattern, Window

__all__ = [
    "NOWHERE",
    "Additive",
    "Attention",
    "Causal",
    "Dot",
    "EluMap",
    "FeatureMap",
    "Full",
    "General",
    "LinearAttention",
    "LocalGlobal",
    "Multihead",
    "NoAttention",
    "Pattern",
    "RandomMap",
    "ReluMap",
    "Site",
    "SoftmaxMap",
    "Window",
]

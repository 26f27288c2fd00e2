"""The menu of models: every slot, every choice. Adding one is a line here; `regard.menu()` is the whole menu."""

from regard.model.assembly import (
    Assembly,
    ImageClassifier,
    ImageRestorer,
    LanguageModel,
    Seq2Seq,
    SequenceRegressor,
)
from regard.model.attention import (
    Additive,
    Attention,
    Causal,
    Dot,
    EluMap,
    FeatureMap,
    Full,
    General,
    LinearAttention,
    LocalGlobal,
    Multihead,
    NoAttention,
    Pattern,
    RandomMap,
    ReluMap,
    SoftmaxMap,
    Window,
)
from regard.model.convolution import ConvolutionDecoder, ConvolutionEncoder
from regard.model.mlp import Experts, Gelu, Mlp, Relu, Swiglu
from regard.model.norms import LayerNorm, Norm, RmsNorm
from regard.model.positions import Alibi, Learned, Nowhere, Positions, Rotary, Sinusoidal
from regard.model.recurrent import Cell, Elman, Gru, Lstm, RecurrentDecoder, RecurrentEncoder
from regard.model.residual import NoResidual, Post, Pre, Residual
from regard.model.stack import Decoder, Encoder
from regard.model.transformer import TransformerDecoder, TransformerEncoder
from regard.model.vision import ImageBody, Patches, Resnet
from regard.recipe import Menu, Slot

MENU = Menu(
    Slot("model", Assembly, "the whole: what goes in, what comes out", {
        "seq2seq": Seq2Seq,
        "language_model": LanguageModel,
        "sequence_regressor": SequenceRegressor,
        "image_classifier": ImageClassifier,
        "image_restorer": ImageRestorer,
    }),
    Slot("encoder", Encoder, "reads a whole sequence", {
        "recurrent": RecurrentEncoder,
        "convolution": ConvolutionEncoder,
        "transformer": TransformerEncoder,
    }),
    Slot("decoder", Decoder, "writes a sequence from left to right", {
        "recurrent": RecurrentDecoder,
        "convolution": ConvolutionDecoder,
        "transformer": TransformerDecoder,
    }),
    Slot("body", ImageBody, "turns an image into one vector", {
        "patches": Patches,
        "resnet": Resnet,
    }),
    Slot("cell", Cell, "one step of a recurrent network", {
        "elman": Elman,
        "lstm": Lstm,
        "gru": Gru,
    }),
    Slot("attention", Attention, "how queries and keys are compared", {
        "none": NoAttention,
        "additive": Additive,
        "dot": Dot,
        "general": General,
        "multihead": Multihead,
        "linear": LinearAttention,
    }),
    Slot("feature", FeatureMap, "what linear attention has for a softmax", {
        "elu": EluMap,
        "relu": ReluMap,
        "softmax": SoftmaxMap,
        "random": RandomMap,
    }),
    Slot("pattern", Pattern, "which positions see which", {
        "full": Full,
        "causal": Causal,
        "window": Window,
        "local_global": LocalGlobal,
    }),
    Slot("positions", Positions, "how order is told", {
        "none": Nowhere,
        "sinusoidal": Sinusoidal,
        "learned": Learned,
        "rotary": Rotary,
        "alibi": Alibi,
    }),
    Slot("norm", Norm, "brings vectors to one scale", {
        "layer": LayerNorm,
        "rms": RmsNorm,
    }),
    Slot("residual", Residual, "the way around a sub-layer", {
        "pre": Pre,
        "post": Post,
        "none": NoResidual,
    }),
    Slot("mlp", Mlp, "what happens to each vector alone", {
        "relu": Relu,
        "gelu": Gelu,
        "swiglu": Swiglu,
        "experts": Experts,
    }),
)  # fmt: skip

"""Whole models built from a recipe equal those of `transformers`: logits, and the gradient of every weight."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from copying import Tensors, copy, from_gpt2, from_llama, from_marian, from_mixtral, from_vit
from torch import Tensor, nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MarianConfig,
    MarianMTModel,
    MixtralConfig,
    MixtralForCausalLM,
    PreTrainedConfig,
    Qwen2Config,
    Qwen2ForCausalLM,
    ViTConfig,
    ViTForImageClassification,
)

from regard.model.build import build
from regard.model.mask import Mask
from regard.model.positions.sinusoidal import encode

TOLERANCE = 1e-4
VOCABULARY, WIDTH, HEADS, GROUPS, HIDDEN, LAYERS = 31, 24, 4, 2, 20, 2
ROWS, STEPS, SOURCE, BASE, EPS = 3, 9, 7, 700.0, 1e-3
LENGTHS, SOURCE_LENGTHS = torch.tensor([9, 4, 6]), torch.tensor([2, 7, 5])

Translate = Callable[[Tensors], Tensors]

with_and_without_padding = pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "padded"])


def shaken(kind: type[nn.Module], config: PreTrainedConfig) -> nn.Module:
    """A model in which no weight has a value that hides a mistake, such as a bias of zero."""
    torch.manual_seed(1)
    config._attn_implementation = config._experts_implementation = "eager"
    model = kind(config).train()
    with torch.no_grad():
        for weight in trained(model).values():
            weight.add_(0.2 * torch.randn_like(weight))
    return model


def trained(model: nn.Module) -> Tensors:
    """All that learns; Marian's bias of the logits would if it were a parameter."""
    found = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    if isinstance(model, MarianMTModel):
        found["final_logits_bias"] = model.final_logits_bias.requires_grad_()
    return found


def words(steps: int, seed: int) -> Tensor:
    """Never the last word of the vocabulary, which stands for padding."""
    return torch.randint(VOCABULARY - 1, (ROWS, steps), generator=torch.Generator().manual_seed(seed))


def real(lengths: Tensor | None, steps: int) -> Tensor:
    return torch.arange(steps) < (torch.full((ROWS,), steps) if lengths is None else lengths)[:, None]


def agree(ours: nn.Module, theirs: nn.Module, logits: tuple[Tensor, Tensor], translate: Translate) -> None:
    """Logits [N V] of both, then the gradients of one loss."""
    found, wanted = logits
    assert wanted.std() > 0.1
    torch.testing.assert_close(found, wanted, rtol=TOLERANCE, atol=TOLERANCE)
    labels = torch.arange(len(found)) * 5 % found.shape[-1]
    for each in logits:
        F.cross_entropy(each, labels).backward()
    gradients = translate({name: weight.grad for name, weight in trained(theirs).items()})
    parameters = dict(ours.named_parameters())
    assert gradients.keys() == parameters.keys()
    for name, parameter in parameters.items():
        size = gradients[name].abs().max().item()
        assert size > 1e-6, f"{name} was not tried"
        difference = (parameter.grad - gradients[name]).abs().max().item()
        assert difference <= TOLERANCE * size + 1e-7, f"{name}: {difference} of {size}"


def language_model(norm: object, positions: object, mlp: object, **options: object) -> dict[str, object]:
    """The recipe of a pre-norm decoder."""
    attention = {"kind": "multihead", "heads": HEADS} | options.pop("attention", {})
    pattern = options.pop("pattern", "causal")
    decoder = {"kind": "transformer", "layers": LAYERS, "residual": "pre", "attention": attention, "pattern": pattern}
    decoder |= {"norm": norm, "positions": positions, "mlp": mlp}
    model = {"kind": "language_model", "vocab_size": VOCABULARY, "width": WIDTH, "decoder": decoder}
    return {"model": model | options}


def agree_on_text(recipe: dict[str, object], theirs: nn.Module, translate: Translate, lengths: Tensor | None) -> None:
    ours, tokens, here = build(recipe), words(STEPS, 2), real(lengths, STEPS)
    copy(translate(trained(theirs)), ours)
    found = ours(tokens, Mask(key_lengths=lengths))
    wanted = theirs(input_ids=tokens, attention_mask=here.long(), use_cache=False).logits
    agree(ours, theirs, (found[here], wanted[here]), translate)


@with_and_without_padding
def test_gpt2_equals_transformers(lengths: Tensor | None) -> None:
    config = GPT2Config(
        vocab_size=VOCABULARY, n_positions=16, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_inner=HIDDEN,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, layer_norm_epsilon=EPS,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    recipe = language_model(
        {"kind": "layer", "eps": EPS},
        {"kind": "learned", "limit": 16},
        {"kind": "gelu", "hidden": HIDDEN, "approximate": "tanh"},
        tie_embeddings="output",
    )
    agree_on_text(recipe, shaken(GPT2LMHeadModel, config), from_gpt2, lengths)


@with_and_without_padding
@pytest.mark.parametrize("tie", ["none", "output"])
def test_llama_with_grouped_heads_equals_transformers(lengths: Tensor | None, tie: str) -> None:
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=HIDDEN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=GROUPS, rms_norm_eps=EPS,
        rope_parameters={"rope_type": "default", "rope_theta": BASE}, tie_word_embeddings=tie == "output",
    )  # fmt: skip
    recipe = language_model(
        {"kind": "rms", "eps": EPS},
        {"kind": "rotary", "base": BASE},
        {"kind": "swiglu", "hidden": HIDDEN},
        attention={"kv_heads": GROUPS, "bias": False},
        tie_embeddings=tie,
    )
    theirs = shaken(LlamaForCausalLM, config)
    agree_on_text(recipe, theirs, lambda given: from_llama(given, WIDTH // HEADS), lengths)


@with_and_without_padding
def test_qwen2_with_biases_on_the_way_in_equals_transformers(lengths: Tensor | None) -> None:
    config = Qwen2Config(
        vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=HIDDEN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=GROUPS, rms_norm_eps=EPS,
        rope_parameters={"rope_type": "default", "rope_theta": BASE}, tie_word_embeddings=True,
    )  # fmt: skip
    recipe = language_model(
        {"kind": "rms", "eps": EPS},
        {"kind": "rotary", "base": BASE},
        {"kind": "swiglu", "hidden": HIDDEN},
        attention={"kv_heads": GROUPS, "bias": "inputs"},
        tie_embeddings="output",
    )
    theirs = shaken(Qwen2ForCausalLM, config)
    agree_on_text(recipe, theirs, lambda given: from_llama(given, WIDTH // HEADS), lengths)


def test_heads_of_any_width_equal_transformers() -> None:
    """As in Mistral Nemo, whose heads together are narrower than the model."""
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=HIDDEN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=GROUPS, head_dim=10, rms_norm_eps=EPS,
        rope_parameters={"rope_type": "default", "rope_theta": BASE},
    )  # fmt: skip
    recipe = language_model(
        {"kind": "rms", "eps": EPS},
        {"kind": "rotary", "base": BASE},
        {"kind": "swiglu", "hidden": HIDDEN},
        attention={"kv_heads": GROUPS, "bias": False, "head_width": 10},
        tie_embeddings="none",
    )
    agree_on_text(recipe, shaken(LlamaForCausalLM, config), lambda given: from_llama(given, 10), None)


@pytest.mark.parametrize(("active", "portions"), [(1, "active"), (2, "active")])
def test_experts_that_share_among_the_active_equal_transformers(active: int, portions: str) -> None:
    """Of one active expert all of it is taken, so that the router learns nothing from the loss."""
    config = MixtralConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=HIDDEN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=GROUPS, num_local_experts=5, num_experts_per_tok=active,
        rms_norm_eps=EPS, rope_parameters={"rope_type": "default", "rope_theta": BASE},
    )  # fmt: skip
    recipe = language_model(
        {"kind": "rms", "eps": EPS},
        {"kind": "rotary", "base": BASE},
        {"kind": "experts", "experts": 5, "active": active, "hidden": HIDDEN, "portions": portions},
        attention={"kv_heads": GROUPS, "bias": False},
        tie_embeddings="none",
    )
    theirs, tokens = shaken(MixtralForCausalLM, config), words(STEPS, 2)
    ours = build(recipe)
    copy(from_mixtral(trained(theirs), WIDTH // HEADS), ours)
    wanted = theirs(input_ids=tokens, use_cache=False).logits
    torch.testing.assert_close(ours(tokens), wanted, rtol=TOLERANCE, atol=TOLERANCE)


@with_and_without_padding
@pytest.mark.parametrize("window", [None, 3], ids=["causal", "window"])
@pytest.mark.parametrize("hidden", [HIDDEN, HIDDEN + 1], ids=["even", "odd"])
def test_mixtral_equals_transformers(lengths: Tensor | None, window: int | None, hidden: int) -> None:
    config = MixtralConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=hidden, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=GROUPS, num_local_experts=5, num_experts_per_tok=2,
        rms_norm_eps=EPS, rope_parameters={"rope_type": "default", "rope_theta": BASE}, sliding_window=window,
    )  # fmt: skip
    recipe = language_model(
        {"kind": "rms", "eps": EPS},
        {"kind": "rotary", "base": BASE},
        {"kind": "experts", "experts": 5, "active": 2, "hidden": hidden},
        attention={"kv_heads": GROUPS, "bias": False},
        pattern="causal" if window is None else {"kind": "window", "width": window},
        tie_embeddings="none",
    )
    theirs = shaken(MixtralForCausalLM, config)
    agree_on_text(recipe, theirs, lambda given: from_mixtral(given, WIDTH // HEADS), lengths)


def test_vit_equals_transformers() -> None:
    config = ViTConfig(
        hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=HIDDEN,
        image_size=12, patch_size=4, num_channels=2, num_labels=5, layer_norm_eps=1e-12,
    )  # fmt: skip
    encoder = {
        "kind": "transformer",
        "layers": LAYERS,
        "attention": {"kind": "multihead", "heads": HEADS},
        "positions": {"kind": "learned", "limit": 10},
        "norm": {"kind": "layer", "eps": 1e-12},
        "residual": "pre",
        "mlp": {"kind": "gelu", "hidden": HIDDEN},
    }
    body = {"kind": "patches", "width": WIDTH, "patch": 4, "pooling": "cls", "encoder": encoder}
    ours = build({"model": {"kind": "image_classifier", "classes": 5, "channels": 2, "size": 12, "body": body}})
    theirs = shaken(ViTForImageClassification, config)
    copy(from_vit(trained(theirs)), ours)
    pixels = torch.randn(ROWS, 2, 12, 12)
    agree(ours, theirs, (ours(pixels), theirs(pixels).logits), from_vit)


def marian(activation: str) -> MarianMTModel:
    last = VOCABULARY - 1
    config = MarianConfig(
        vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS,
        encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=HIDDEN, decoder_ffn_dim=HIDDEN,
        activation_function=activation, dropout=0.0, scale_embedding=True, max_position_embeddings=16,
        pad_token_id=last, decoder_start_token_id=last, eos_token_id=0, forced_eos_token_id=0,
    )  # fmt: skip
    return shaken(MarianMTModel, config)


@pytest.mark.parametrize("lengths", [None, SOURCE_LENGTHS], ids=["whole", "padded"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_marian_equals_transformers_when_the_waves_stand_in_one_order(lengths: Tensor | None, activation: str) -> None:
    theirs, attention = marian(activation), {"kind": "multihead", "heads": HEADS}
    stack = {
        "kind": "transformer",
        "layers": LAYERS,
        "attention": attention,
        "positions": "sinusoidal",
        "norm": {"kind": "layer", "eps": 1e-5},
        "residual": "post",
        "mlp": {"kind": activation, "hidden": HIDDEN},
    }
    model = {"kind": "seq2seq", "source_vocab_size": VOCABULARY, "target_vocab_size": VOCABULARY, "width": WIDTH}
    model |= {
        "tie_embeddings": "all",
        "embedding_scale": "root",
        "head_bias": True,
        "encoder": stack,
        "decoder": stack | {"cross": attention},
    }
    ours = build({"model": model})
    copy(from_marian(trained(theirs)), ours)
    for side in (theirs.model.encoder, theirs.model.decoder):
        side.embed_positions.weight.copy_(encode(torch.arange(16), WIDTH))
    source, target, here = words(SOURCE, 3), words(STEPS, 4), real(lengths, SOURCE)
    found = ours(source, target, lengths).flatten(0, 1)
    wanted = theirs(
        input_ids=source, attention_mask=here.long(), decoder_input_ids=target, use_cache=False
    ).logits.flatten(0, 1)
    agree(ours, theirs, (found, wanted), from_marian)


def test_the_waves_of_marian_are_ours_with_sines_before_cosines() -> None:
    waves = encode(torch.arange(16), WIDTH)
    wanted = marian("relu").model.encoder.embed_positions.weight
    torch.testing.assert_close(torch.cat([waves[:, 0::2], waves[:, 1::2]], 1), wanted, rtol=0, atol=1e-6)

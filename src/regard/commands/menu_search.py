"""regard menu WORD: where a word of the notes, of papers or of other libraries is on the menu, and how it is set."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from regard.recipe.cards import Cards
from regard.recipe.options import MUST, Option
from regard.recipe.synonyms import SYNONYMS

MOST, KEYS = 8, 3
WORDS = {
    "decoder recurrent context": "fixed-context context-vector thought-vector",
    "body resnet block": "bottleneck",
    "decoder recurrent order": "bahdanau luong input-feeding",
    "attention none": "bottleneck",
    "attention additive": "bahdanau concat mlp-attention",
    "attention general": "luong bilinear multiplicative",
    "attention dot": "luong",
    "attention multihead": "self-attention mha scaled-dot-product qkv",
    "attention multihead kv_heads": "gqa mqa grouped-query multi-query",
    "attention multihead kernel": "flash flash-attention sdpa",
    "attention linear": "performer kernel-attention",
    "decoder transformer cross": "cross-attention encoder-decoder-attention",
    "pattern window": "sliding sliding-window local-attention sparse sparse-attention",
    "pattern local_global": "longformer bigbird global-attention sparse sparse-attention",
    "pattern causal": "mask masking autoregressive",
    "positions rotary": "rope yarn",
    "positions sinusoidal": "sine cosine-positions",
    "encoder transformer positions": "positional-encoding position-embedding",
    "norm layer": "layernorm layer-norm",
    "norm rms": "rmsnorm rms-norm",
    "residual pre": "prenorm pre-norm pre-ln skip skip-connection",
    "residual post": "postnorm post-norm post-ln",
    "mlp experts": "moe mixture mixture-of-experts mixtral router",
    "mlp swiglu": "glu silu gated",
    "mlp relu": "ffn feed-forward feedforward",
    "cell elman": "rnn vanilla-rnn plain-rnn",
    "encoder recurrent direction": "bidirectional birnn bilstm",
    "body patches": "vit vision-transformer",
    "body resnet": "cnn",
    "model image_restorer": "unet u-net denoising",
    "tokenizer unigram": "sentencepiece",
    "tokenizer bpe": "sentencepiece subword sub-word",
    "task translation scheduled_sampling": "teacher-forcing exposure-bias",
    "training loop max_grad_norm": "clipping gradient-clipping exploding-gradients",
    "training loop ema": "averaging weight-averaging",
    "training loop optimizer": "adam",
    "optimizer adamw": "adam",
    "checkpoints best_and_last patience": "early-stopping",
    "machine torch precision": "bfloat16 half mixed-precision",
    "machine torch parallel": "ddp fsdp multi-gpu distributed",
    "machine torch threads": "cores cpu",
    "decoding sample top_p": "nucleus nucleus-sampling",
    "decoding sample": "sampling",
    "model language_model tie_embeddings": "weight-sharing",
}
"""Words that do not stand in the menu's own texts."""
VALUES = {("bottleneck", "body resnet block"): "bottleneck"}
"""What such a word sets an option to, where that is not its default."""


@dataclass(frozen=True)
class Hit:
    """A choice or an option of the menu, with what it is and how a recipe or the command line sets it."""

    name: str
    about: str
    set: list[str]
    rank: int


def search(cards: Cards, word: str) -> list[Hit]:
    """Where a word is found, best first: in a name or as a name from elsewhere, and then in what is said."""
    asked = _plain(word)
    wanted = {name for name, words in WORDS.items() if asked in map(_plain, words.split())}
    ends = [f".{end}" for end in SYNONYMS.get(asked.replace(" ", "_"), [])]
    places, hits = _places(cards), list[Hit]()
    for slot in cards.slots:
        for kind in slot.kinds:
            name = f"{slot.name} {kind.kind}"
            rank = 0 if name in wanted else _rank(asked, kind.kind, f"{kind.kind} {slot.name}", kind.about, kind.more)
            keys = [f"{place}.kind={kind.kind}" for place in places.get(slot.name, [])]
            hits += [Hit(name, kind.about, keys, rank)] if rank is not None else []
            for option in kind.options:
                above = [section for section in places.get(slot.name, []) if section != "task" or not option.slot]
                keys = [f"{place}.{option.name}" for place in above] or [option.name]
                known = f"{name} {option.name}" in wanted or any(f".{key}".endswith((*ends,)) for key in keys if ends)
                rank = 0 if known else _rank(asked, option.name, option.name, option.about)
                value = VALUES.get((asked, f"{name} {option.name}"))
                found = [f"{key}={value}" if value else f"{key}{_value(option)}" for key in keys]
                hits += [Hit(f"{name}: {option.name}", option.about, found, rank)] if rank is not None else []
    hits.sort(key=lambda hit: hit.rank)
    return [hit for hit in hits if hit.rank <= max(1, hits[0].rank)]  # names alone, where there are any


def _rank(asked: str, name: str, *texts: str) -> int | None:
    """0 for the name itself, and else the first of the texts with a word that begins so, or with all of several."""
    if asked == _plain(name):
        return 0
    for rank, text in enumerate(map(_plain, texts), 1):
        if all(re.search(rf"\b{re.escape(word)}", text) for word in asked.split()):
            return rank
    return None


def _plain(text: str) -> str:
    return re.sub(r"[-_ ]+", " ", text.lower()).strip()


def _value(option: Option) -> str:
    if option.slot:
        return f".kind={option.default}" if option.default != MUST else ".kind=…"
    return f"={option.default}" if option.default not in (MUST, '""') else "=…"


def _places(cards: Cards) -> dict[str, list[str]]:
    """The keys that choose from each slot, the least deep first: positions → model.encoder.positions, …"""
    found: dict[str, list[str]] = {}
    for place, slot in sorted(_below(cards), key=lambda one: one[0].count(".")):
        if place not in found.setdefault(slot, []):
            found[slot].append(place)
    return found


def _below(cards: Cards) -> Iterator[tuple[str, str]]:
    slots = {slot.name: slot for slot in cards.slots}
    roots = ("task", "model", "training", "from")
    waiting: list[tuple[str, str]] = [(name, name) for name in roots if name in slots]
    while waiting:
        place, slot = waiting.pop(0)
        yield place, slot
        inner = {(option.name, option.slot) for kind in slots[slot].kinds for option in kind.options if option.slot}
        above = "" if slot == "task" else f"{place}."  # what a task chooses are sections
        waiting += [(f"{above}{name}", below) for name, below in sorted(inner) if name not in place.split(".")]

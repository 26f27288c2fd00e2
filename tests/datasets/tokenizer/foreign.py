"""Small tokenizers built as other makers build theirs, with vocabularies of a few sentences."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

TEXTS = [
    "Ein Hund läuft über die grüne Wiese, und zwei Männer sehen ihm zu.",
    "A dog runs across the green meadow while two men are watching it.",
    "Two men are playing the guitar in front of a large audience!",
] * 3
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
END_OF_TEXT = "<|endoftext|>"


def gpt2() -> Engine:
    """Byte pairs of bytes written as letters; one special token, added."""
    engine = Engine(models.BPE())
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=320, initial_alphabet=alphabet, show_progress=False)
    engine.train_from_iterator(TEXTS, trainer)
    engine.add_special_tokens([END_OF_TEXT])
    return engine


def llama() -> Engine:
    """Byte pairs of characters, ▁ for the space, one put in front; what is unknown is spelt in bytes."""
    engine = Engine(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    engine.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    engine.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")  # only to learn: no piece ends in a space
    special = ["<unk>", "<s>", "</s>"]
    engine.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=400, special_tokens=[*special, *BYTES], show_progress=False)
    )
    table = json.loads(engine.to_str())
    table["added_tokens"] = table["added_tokens"][: len(special)]  # bytes are tokens like others
    engine = Engine.from_str(json.dumps(table | {"pre_tokenizer": None}))
    engine.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return engine


def llama_metaspace() -> Engine:
    """The same as newer files write it: no normalizer, a pre-tokenizer that puts ▁ before the first word only."""
    engine = llama()
    engine.normalizer = None
    engine.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return engine


def marian() -> Engine:
    """Unigram pieces and ▁, as SentencePiece cuts; no token that begins a text."""
    engine = Engine(models.Unigram())
    engine.pre_tokenizer = pre_tokenizers.Metaspace()
    engine.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=90, special_tokens=["</s>", "<unk>", "<pad>"], unk_token="<unk>", show_progress=False
    )
    engine.train_from_iterator(TEXTS, trainer)
    return engine


STYLES = {"gpt2": gpt2, "llama": llama, "llama_metaspace": llama_metaspace, "marian": marian}


@cache
def content(style: str) -> str:
    """What the tokenizer.json of a style holds."""
    return STYLES[style]().to_str()


def table(style: str) -> dict[str, Any]:
    """The same, parsed."""
    parsed: dict[str, Any] = json.loads(content(style))
    return parsed


def put(folder: Path, style: str, **changed: Any) -> str:
    """A tokenizer.json on the disk; gives back its name."""
    file = folder / "tokenizer.json"
    file.write_text(json.dumps(table(style) | changed))
    return str(file)

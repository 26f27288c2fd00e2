"""Hostile folders whose recipe, facts or tokenizer asks for what nobody can give."""

from typing import Any

from attack.spoil import Spoil, holds, large, recipe, said, tokenizer

BILLION, DEEP, DIGITS = 10**9, 3000, "9" * 5000
HEAVY: dict[str, Any] = {
    "model/width": [10**18, BILLION, 10**6, -1, 0, 7.5],
    "model/source_vocab_size": [BILLION, -1],
    "model/target_vocab_size": [BILLION, 0],
    "task/max_length": [BILLION, 10**18, -1],
    "task/batch_tokens": [10**18, 0],
    "data/train": [BILLION, -1],
    "data/test": [BILLION],
    "data/letters": [10**18],
    "data/max_length": [BILLION],
    "tokenizer/vocab_size": [BILLION],
    "training/steps": [10**18, -1],
    "training/epochs": [10**18],
    "training/accumulate": [BILLION],
    "training/ema": [2.0],
    "training/checkpoints/keep": [0, 10**18],
    "training/checkpoints/save_every": [-1],
    "training/seed": [-1, 10**30],
    "training/optimizer/learning_rate": [1e308, -1.0],
    "decoding/kind": [[1], {"kind": {}}],
    "model/kind": [[1], "language_model"],
    "model/encoder": ["recurrent", [[]], {"kind": "convolution", "layers": BILLION}],
}
LOOKING: dict[str, Any] = {
    "model/encoder/layers": [BILLION, 10**18, 100_000],
    "model/decoder/layers": [BILLION],
    "model/decoder/pattern/width": [BILLION, 10**18, 10**6, 0],
    "model/encoder/mlp/experts": [BILLION],
    "model/encoder/mlp/hidden": [BILLION],
    "model/encoder/mlp/active": [BILLION, 0],
    "model/encoder/attention/heads": [BILLION, 0],
    "model/decoder/attention/head_width": [BILLION],
    "model/decoder/positions": [{"kind": "learned", "length": BILLION}, {"kind": "alibi"}],
    "model/encoder/positions/base": [1e-308, float("inf")],
    "model/encoder/norm/eps": [1e308, -1.0],
    "decoding/beam_size": [BILLION, 10**18, 0],
    "decoding/n_best": [BILLION],
    "decoding/length_penalty": [1e308, -1e5, float("nan")],
    "decoding/no_repeat_ngram_size": [BILLION],
    "decoding/min_length": [BILLION],
    "decoding": [
        {"kind": "sample", "temperature": 1e-46},
        {"kind": "sample", "top_p": 1e-46},
        {"kind": "sample", "top_k": 10**18},
    ],
}
SEQUENCES = '{"type": "Sequence", "normalizers": [' * 900 + '{"type": "Lowercase"}' + "]}" * 900
REPLACING = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
ENGINES: dict[str, Any] = {
    "padding": {"strategy": {"Fixed": BILLION}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0}
    | {"pad_type_id": 0, "pad_token": "<pad>"},
    "truncation": {"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 10**9},
    "normalizer": {"type": "Sequence", "normalizers": [REPLACING] * 40},
    "post_processor": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    "decoder": {"type": "Sequence", "decoders": [REPLACING] * 40},
    "pre_tokenizer": {
        "type": "Split",
        "pattern": {"Regex": "(a|a| a|a b)+$|((a+)+b?)+c"},
        "behavior": "Isolated",
        "invert": False,
    },
    "added_tokens": [
        {"id": 10**9 + number, "content": f"<{number}>", "special": True}
        | {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        for number in range(20_000)
    ],
}


def _values() -> dict[str, Spoil]:
    found = {f"{key} = {value!r}": recipe(key, value) for key, values in HEAVY.items() for value in values}
    found |= {
        f"transformer, {key} = {value!r}": recipe(key, value) for key, values in LOOKING.items() for value in values
    }
    for key in ("model/width", "training/steps", "name", "new", "decoding"):
        found[f"{key} of 5,000 digits"] = recipe(key, raw=DIGITS)
        found[f"{key} nested"] = recipe(key, raw="[" * DEEP + "]" * DEEP)
        found[f"{key} of text"] = recipe(key, "x" * 10**6)
    found["a dotted key of 200 KB"] = holds("recipe.toml", ".".join("a" * 100_000) + " = 1\n")
    found["a table of 200 KB"] = holds("recipe.toml", "[" + ".".join("a" * 100_000) + "]\n")
    found["tables in line, nested"] = holds("recipe.toml", "a = " + "{a=" * DEEP + "1" + "}" * DEEP)
    found["100,000 tables"] = holds("recipe.toml", "".join(f"[a.b{number}]\n" for number in range(100_000)))
    found["a recipe of 250 MB"] = large("recipe.toml", 250 * 2**20)
    found["an unknown section"] = recipe("plugins", ["../../beside/own.py"])
    found["a plugin of its own"] = recipe("model/encoder", {"kind": "own.plugin:Encoder"})
    return found


def _facts() -> dict[str, Spoil]:
    found: dict[str, Spoil] = {}
    for name in ("run.json", "evaluation.json", "translation.json", "checkpoints/step-2/manifest.json", "log.jsonl"):
        found[f"{name} nested"] = holds(name, '{"a": ' + "[" * DEEP + "]" * DEEP + "}")
        found[f"{name} of 5,000 digits"] = holds(name, '{"step": ' + DIGITS + "}")
        found[f"{name} of 100,000 keys"] = holds(name, "{" + ",".join(f'"k{n}": {n}' for n in range(100_000)) + "}")
    for key in ("format", "files", "steps", "parameters", "splits", "diverged", "plugins", "commands", "versions"):
        for value in (10**30, -1, "x", [[]], {"a": {"b": None}}, None, True, 1e308):
            found[f"{key} = {value!r} in run.json"] = said("run.json", key, value)
    found["longest = 10**9"] = said("translation.json", "longest", BILLION)
    found["longest = -1"] = said("translation.json", "longest", -1)
    return found


def _tokenizers() -> dict[str, Spoil]:
    found = {f"tokenizer's {key}": tokenizer(f"tokenizer/{key}", value) for key, value in ENGINES.items()}
    junk = {"type": "Precompiled", "precompiled_charsmap": "AAAA/////wAAAAA="}
    found |= {
        "tokenizer of junk": tokenizer("tokenizer/normalizer", junk),
        "tokenizer nested": tokenizer("tokenizer/normalizer", raw=SEQUENCES),
        "tokenizer nested deep": tokenizer("tokenizer", raw='{"a":' * DEEP + "1" + "}" * DEEP),
        "tokenizer without words": tokenizer("tokenizer/model/vocab", {}),
        "tokenizer with an id of 2**32": tokenizer("tokenizer/model/vocab/a", 2**32 - 1),
        "tokenizer with an id of 10**9": tokenizer("tokenizer/model/vocab/a", BILLION),
        "tokenizer with an id below 0": tokenizer("tokenizer/model/vocab/a", -1),
        "tokenizer with an id twice": tokenizer("tokenizer/model/vocab/zz", 3),
        "tokenizer with a word of 1 MB": tokenizer("tokenizer/model/vocab/" + "a" * 10**6, 3),
        "tokenizer with orders": tokenizer("tokenizer/model/vocab/\x1b[31m", 3),
        "tokenizer of another kind": tokenizer("tokenizer/model", {"type": "WordPiece", "vocab": {"a": 0}}),
        "tokenizer with a prefix of 1 MB": tokenizer("prefix", "a b" * 300_000),
        "tokenizer's unk": tokenizer("tokenizer/model/unk_token", "nowhere"),
    }
    for key in ("pad", "bos", "eos"):
        for value in (-1, BILLION, 300, 1.5, "x", [], None):
            found[f"{key} = {value!r} of a tokenizer"] = tokenizer(key, value)
    merges = [["a", "nowhere"], ["", ""]]
    found["transformer, merges of nowhere"] = tokenizer("tokenizer/model/merges", merges)
    found["transformer, merges of 1 MB"] = tokenizer("tokenizer/model/merges", ["a a"] * 250_000)
    found["transformer, dropout of merges"] = tokenizer("tokenizer/model/dropout", 2.0)
    return found


VALUES: dict[str, Spoil] = _values() | _facts() | _tokenizers()

"""The tokenizer of a GGUF file, built anew as the `tokenizers` library has it: bytes in pairs, or scored pieces."""

from collections.abc import Mapping
from typing import Any, TypeGuard

from regard.datasets.tokenizer import Tokenizer
from regard.datasets.tokenizer.foreign import LATER, TEKKEN
from regard.datasets.tokenizer.tokenizer import open_engine
from regard.errors import InputError
from regard.importing.design import Design
from regard.importing.speech import LONGEST_TEMPLATE, Speech
from regard.listener import Listener

BEFORE = "tokenizer.ggml."
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
LONGEST_PIECE = 64  # letters that are joined; longer ones are rows of spaces and marks
ENDS = ("eos_token_id", "eot_token_id", "eom_token_id")
OLD = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
DIGITS = {"type": "Digits", "individual_digits": True}


def _split(pattern: str) -> list[dict[str, Any]]:
    apart = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return [apart, OLD | {"use_regex": False}]


PRE = {
    "gpt-2": [OLD],
    "smollm": [DIGITS, OLD],
    "qwen2": _split(LATER % ""),
    "llama-bpe": _split(LATER % "{1,3}"),
    "tekken": _split(TEKKEN),
}
ALIASES = {"llama3": "llama-bpe", "llama-v3": "llama-bpe", "deepseek-r1-qwen": "qwen2"}
WHOLE = ("llama-bpe", "tekken")  # a word that is a token is taken whole, whatever its merges say


def read_speech(values: Mapping[str, Any], design: Design, named: str, listener: Listener) -> Speech:
    """From the values of a file; what cannot be built anew is refused by name."""
    kind, tokens = values.get(f"{BEFORE}model"), values.get(f"{BEFORE}tokens")
    kinds = values.get(f"{BEFORE}token_type") or [NORMAL] * len(tokens or ())
    if not _texts(tokens) or len(tokens) != design.vocab_size or not _whole(kinds) or len(kinds) != len(tokens):
        raise InputError(f"{named}: {BEFORE}tokens: not as many tokens, or kinds of them, as embeddings")
    if kind not in ("gpt2", "llama"):
        raise InputError(f"{named}: {BEFORE}model: {str(kind)[:60]!r} cannot be built anew; what can is gpt2, llama")
    if f"{BEFORE}precompiled_charsmap" in values:
        raise InputError(f"{named}: {BEFORE}precompiled_charsmap: a normalizer that cannot be built anew")
    try:
        made = _byte_pairs(values, tokens, listener) if kind == "gpt2" else _pieces(values, tokens, kinds)
        engine = open_engine(made | {"added_tokens": _added(tokens, kinds)})
    except ValueError as error:
        raise InputError(f"{named}: {error}") from error
    pad, bos, *ends = (
        _id(values, role, design.vocab_size, named) for role in ("padding_token_id", "bos_token_id", *ENDS)
    )
    tokenizer = Tokenizer(engine, pad, bos, ends[0])
    add = values.get(f"{BEFORE}add_bos_token", kind == "llama" or _pre(values) in WHOLE)
    return Speech(
        tokenizer=tokenizer,
        stop_tokens=tuple(dict.fromkeys(token for token in ends if token is not None)),
        chat_template=_template(values, named),
        add_bos=add is True and tokenizer.bos is not None,
    )


def _byte_pairs(values: Mapping[str, Any], tokens: list[str], listener: Listener) -> dict[str, Any]:
    """Pairs of bytes, as GPT-2 and those after it have them; how text is cut before that has a name."""
    name = _pre(values)
    if name == "default":
        listener.say("the file does not say how its tokenizer cuts text into words: cut as GPT-2 does")
        name = "gpt-2"
    if name not in PRE:
        raise ValueError(f"{BEFORE}pre: {name[:60]!r} cannot be built anew; what can is {', '.join(PRE)}, default")
    merges = values.get(f"{BEFORE}merges")
    if not _texts(merges):
        raise ValueError(f"{BEFORE}merges: missing, or no texts")
    model = {"type": "BPE", "vocab": _numbered(tokens), "merges": merges, "ignore_merges": name in WHOLE}
    return {
        "normalizer": {"type": "NFC"} if name == "qwen2" else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": PRE[name]},
        "decoder": OLD,
        "model": model,
    }


def _pieces(values: Mapping[str, Any], tokens: list[str], kinds: list[int]) -> dict[str, Any]:
    """Pieces with scores, as SentencePiece has them: neighbours whose union scores highest are joined first."""
    scores = values.get(f"{BEFORE}scores")
    if not isinstance(scores, list) or len(scores) != len(tokens) or not all(isinstance(one, float) for one in scores):
        raise ValueError(f"{BEFORE}scores: missing, or not as many as tokens")
    vocab = _numbered(tokens)
    if not set(BYTES) <= vocab.keys():
        raise ValueError(f"{BEFORE}tokens: without the 256 bytes, what it does not know cannot be spelt")
    unknown = next((token for token, kind in zip(tokens, kinds, strict=True) if kind == UNKNOWN), None)
    plain = {token for token, kind in zip(tokens, kinds, strict=True) if kind in (NORMAL, USER)}
    merges = []
    for number, token in enumerate(tokens):
        if token in plain and len(token) <= LONGEST_PIECE:
            halves = ((token[:cut], token[cut:]) for cut in range(1, len(token)))
            found = [(vocab[one], vocab[other]) for one, other in halves if one in plain and other in plain]
            merges += [(-scores[number], number, *pair) for pair in sorted(found)]
    merges.sort(key=lambda merge: merge[:2])
    space = [{"type": "Prepend", "prepend": "▁"}] if values.get(f"{BEFORE}add_space_prefix", True) is True else []
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if space else []
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    back = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    return {
        "normalizer": {"type": "Sequence", "normalizers": [*space, replace]},
        "decoder": {"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}, *strip]},
        "model": {
            "type": "BPE",
            "vocab": vocab,
            "merges": [[tokens[one], tokens[other]] for _, _, one, other in merges],
            "unk_token": unknown,
            "fuse_unk": True,
            "byte_fallback": True,
        },
    }


def _pre(values: Mapping[str, Any]) -> str:
    """What the way is called in which text is cut into words."""
    name = str(values.get(f"{BEFORE}pre", "default"))
    return ALIASES.get(name, name)


def _added(tokens: list[str], kinds: list[int]) -> list[dict[str, Any]]:
    """Tokens that are no text, and those that are looked for before text is cut."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    found = zip(tokens, kinds, strict=True)
    return [
        {"id": number, "content": token, **flags, "special": kind != USER}
        for number, (token, kind) in enumerate(found)
        if kind in (CONTROL, USER, UNKNOWN)
    ]


def _numbered(tokens: list[str]) -> dict[str, int]:
    vocab = {token: number for number, token in enumerate(tokens)}
    if len(vocab) != len(tokens):
        raise ValueError(f"{BEFORE}tokens: a token that is there twice")
    return vocab


def _id(values: Mapping[str, Any], role: str, size: int, named: str) -> int | None:
    found = values.get(BEFORE + role)
    if found is not None and not (type(found) is int and 0 <= found < size):
        raise InputError(f"{named}: {BEFORE}{role}: {str(found)[:20]} is no token of its {size:,}")
    return found


def _template(values: Mapping[str, Any], named: str) -> str | None:
    found = values.get("tokenizer.chat_template")
    if found is not None and (not isinstance(found, str) or len(found) > LONGEST_TEMPLATE):
        raise InputError(f"{named}: tokenizer.chat_template: no text, or one of more than {LONGEST_TEMPLATE:,}")
    return found


def _texts(found: Any) -> TypeGuard[list[str]]:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)


def _whole(found: Any) -> TypeGuard[list[int]]:
    return isinstance(found, list) and all(type(one) is int for one in found)

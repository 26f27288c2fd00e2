"""Tokenizers of other makers: of their files only what is known here is taken, and nothing that could run away.

A file of the library can ask for anything: a regular expression that never ends, replacements that double a text again
and again, rows filled up to a billion. Every part has its list of what it may say; all else is refused by name.
"""

from collections.abc import Callable, Mapping
from typing import Any

from regard.datasets.tokenizer.vocabulary import check_ids, check_merges, check_scores

SHORT, PARTS, DEEP, GROWTH, ADDED = 32, 16, 3, 8, 16384
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LATER = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    "%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
SIMPLE = {r"[\s\S]", r" {2,}", r"\s+", r"\s", r"\d", r"\d{1,3}", r"[0-9]", r"\p{N}", r"\p{N}{1,3}", r"\n", r"[\r\n]"}
PATTERNS = {GPT2, LATER % "", LATER % "{1,3}", TEKKEN, CLIP, *SIMPLE}

Check = Callable[[Any], bool]


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _perhaps(value: Any) -> bool:
    return value is None or isinstance(value, bool)


def _word(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= SHORT


def _no_or_word(value: Any) -> bool:
    return value is None or _word(value)


def _letter(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 1


def _few(value: Any) -> bool:
    return type(value) is int and 0 <= value <= SHORT


def _pattern(value: Any) -> bool:
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    literal, regex = value.get("String"), value.get("Regex")
    return (_word(literal) and bool(literal)) or (isinstance(regex, str) and regex in PATTERNS)


BYTES: dict[str, Check] = {"add_prefix_space": _truth, "trim_offsets": _truth, "use_regex": _truth}
SPACES: dict[str, Check] = {
    "replacement": _letter,
    "prepend_scheme": _word,
    "split": _truth,
    "add_prefix_space": _truth,
    "str_rep": _letter,
}
REPLACE: dict[str, Check] = {"pattern": _pattern, "content": _word}
NORMALIZERS: dict[str, dict[str, Check]] = {
    **{kind: {} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "ByteLevel")},
    "Strip": {"strip_left": _truth, "strip_right": _truth},
    "Prepend": {"prepend": _word},
    "Replace": REPLACE,
    "BertNormalizer": {
        "clean_text": _truth,
        "handle_chinese_chars": _truth,
        "strip_accents": _perhaps,
        "lowercase": _truth,
    },
}
PRE_TOKENIZERS: dict[str, dict[str, Check]] = {
    **{kind: {} for kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts")},
    "ByteLevel": BYTES,
    "Metaspace": SPACES,
    "Digits": {"individual_digits": _truth},
    "Punctuation": {"behavior": _word},
    "CharDelimiterSplit": {"delimiter": _letter},
    "Split": {"pattern": _pattern, "behavior": _word, "invert": _truth},
}
DECODERS: dict[str, dict[str, Check]] = {
    **{kind: {} for kind in ("Fuse", "ByteFallback")},
    "ByteLevel": BYTES,
    "Metaspace": SPACES,
    "Replace": REPLACE,
    "WordPiece": {"prefix": _word, "cleanup": _truth},
    "BPEDecoder": {"suffix": _word},
    "Strip": {"content": _letter, "start": _few, "stop": _few},
}
ROLES = {"normalizer": NORMALIZERS, "pre_tokenizer": PRE_TOKENIZERS, "decoder": DECODERS}
LISTS = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders"}
GROWN = {"ByteLevel": 2.0, "BertNormalizer": 2.0, "Metaspace": 3.0}  # bytes become letters of two, spaces of three
ADDED_TOKEN = {"single_word", "lstrip", "rstrip", "normalized", "special"}


def known(table: Mapping[str, Any]) -> dict[str, Any]:
    """The same tokenizer of nothing but known parts; a ValueError that names what is not known.

    What cuts off, fills up or puts tokens around a text is left out: none of it is used here.
    """
    made: dict[str, Any] = {"version": "1.0", "truncation": None, "padding": None, "post_processor": None}
    for role, kinds in ROLES.items():
        part = table.get(role)
        made[role] = None if part is None else _part(role, part, kinds, DEEP)
        if _count(made[role], LISTS[role]) > PARTS or _growth(made[role], LISTS[role]) > GROWTH:
            raise ValueError(f"{role}: its parts make a text longer and longer")
    made["added_tokens"] = _added(table.get("added_tokens") or [])
    control = {token["content"] for token in made["added_tokens"] if token.get("special")}
    made["model"] = _unmerged(_model(table.get("model")), control)
    return made


def _unmerged(model: dict[str, Any], control: set[str]) -> dict[str, Any]:
    """Without merges that make a control token of plain letters: those of "<s>" are there in some files."""
    if control and "merges" in model:
        model["merges"] = [merge for merge in model["merges"] if _union(merge) not in control]
    return model


def _union(merge: str | list[str]) -> str:
    return merge.replace(" ", "", 1) if isinstance(merge, str) else merge[0] + merge[1]


def _part(role: str, part: Any, kinds: Mapping[str, dict[str, Check]], deep: int) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "Sequence" and deep:
        inner = part.get(LISTS[role])
        if not isinstance(inner, list) or len(inner) > PARTS:
            raise ValueError(f"{role}: a sequence of no parts, or of too many")
        return {"type": kind, LISTS[role]: [_part(role, each, kinds, deep - 1) for each in inner]}
    if not isinstance(kind, str) or kind not in kinds:
        raise ValueError(f"{role}: {str(kind)[:SHORT]!r} is not among those that are known here")
    for name, value in part.items():
        if name != "type" and (name not in kinds[kind] or not kinds[kind][name](value)):
            raise ValueError(f"{role}: {kind} with {str(name)[:SHORT]}={str(value)[:SHORT]!r} is not known here")
    return dict(part)


def _count(part: Any, inner: str) -> int:
    return 0 if part is None else 1 + sum(_count(each, inner) for each in part.get(inner, []))


def _growth(part: Any, inner: str) -> float:
    """So many times the bytes of a text, at most, come out of a part."""
    if part is None:
        return 1.0
    if part["type"] == "Replace":
        return max(1.0, len(part["content"].encode()) / len(part["pattern"].get("String", ".").encode()))
    product = GROWN.get(part["type"], 1.0) * (2.0 if part.get("add_prefix_space") else 1.0)
    for each in part.get(inner, []):
        product *= _growth(each, inner)
    return product


def _model(model: Any) -> dict[str, Any]:
    if not isinstance(model, Mapping):
        raise ValueError("model: missing, or no table")
    kind = model.get("type")
    if kind == "Unigram":
        check_scores(model.get("vocab"))
        unknown = model.get("unk_id")
        if unknown is not None and (type(unknown) is not int or not 0 <= unknown < len(model["vocab"])):
            raise ValueError("model: an unknown token that is none")
        return _only(model, ("vocab", "unk_id"), {"byte_fallback": _truth})
    if kind not in ("BPE", "WordPiece", "WordLevel", None) or (kind is None and "merges" not in model):
        raise ValueError(f"model: {str(kind)[:SHORT]!r} is not among those that are known here")
    check_ids(model.get("vocab"), dense=False)
    unknown, prefix = model.get("unk_token"), model.get("continuing_subword_prefix")
    if not _no_or_word(unknown) or not _no_or_word(prefix):
        raise ValueError("model: an unknown token or a prefix that is none")
    if kind in ("WordPiece", "WordLevel"):
        if unknown not in model["vocab"]:
            raise ValueError("model: its unknown token is not in the vocabulary")
        return _only(model, ("vocab", "unk_token", "continuing_subword_prefix"), {"max_input_chars_per_word": _chars})
    check_merges(model.get("merges"), model["vocab"], prefix or "")
    kept = ("vocab", "merges", "unk_token", "continuing_subword_prefix")
    truths: dict[str, Check] = dict.fromkeys(("fuse_unk", "byte_fallback", "ignore_merges"), _truth)
    made = _only(model, kept, truths | {"end_of_word_suffix": _no_or_word}, ("dropout",))
    return made | {"type": "BPE", "dropout": None}


def _only(
    model: Mapping[str, Any], checked: tuple[str, ...], checks: Mapping[str, Check], dropped: tuple[str, ...] = ()
) -> dict[str, Any]:
    """What was checked, and what passes its check."""
    for name, value in model.items():
        if name not in ("type", *checked, *dropped) and (name not in checks or not checks[name](value)):
            raise ValueError(f"model: {str(name)[:SHORT]}={str(value)[:SHORT]!r} is not known here")
    return {name: value for name, value in model.items() if name not in dropped}


def _chars(value: Any) -> bool:
    return type(value) is int and 0 < value <= 1000


def _added(tokens: Any) -> list[dict[str, Any]]:
    """Control tokens stand where they are written to the letter: no normalizer may make one of other letters."""
    if not isinstance(tokens, list) or len(tokens) > ADDED:
        raise ValueError("added_tokens: no list of them, or too many")
    for token in tokens:
        fine = isinstance(token, Mapping) and type(token.get("id")) is int and 0 <= token["id"] < 2**22
        text = token.get("content") if fine else None
        if not isinstance(text, str) or not 0 < len(text) <= 8 * SHORT:
            raise ValueError("added_tokens: one without an id or a text")
        flags = {name: value for name, value in token.items() if name not in ("id", "content")}
        if not all(name in ADDED_TOKEN and isinstance(value, bool) for name, value in flags.items()):
            raise ValueError(f"added_tokens: {text[:SHORT]!r} is of a kind that is not known here")
    return [dict(token) | ({"normalized": False} if token.get("special") else {}) for token in tokens]

"""What Regard's own tokenizers are but for their vocabulary: a space before the first word or none, words apart,
bytes as letters. A run keeps such a tokenizer in the library's form; of that only the vocabulary is ever taken.
"""

import json
from collections.abc import Mapping
from itertools import product
from typing import Any

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Engine

from regard.datasets.tokenizer.vocabulary import check_ids, check_merges, check_scores

SPECIAL = ("<pad>", "<bos>", "<eos>")
PREFIX = " "
FORM = ("truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder")
PLAIN = {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback"}


def alphabet() -> list[str]:
    """The 256 bytes as printable characters, in a fixed order."""
    return sorted(pre_tokenizers.ByteLevel.alphabet())


def shell(model: models.Model, lowercase: bool = False, single: bool = False, prefix: str = PREFIX) -> Engine:
    """Everything but the vocabulary; `single` cuts text into characters instead of words."""
    made = Engine(model)
    lower = [normalizers.Lowercase()] if lowercase else []
    first = [normalizers.Prepend(prefix)] if prefix else []
    made.normalizer = normalizers.Sequence([*lower, *first])
    made.pre_tokenizer = _characters() if single else pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return made


def _characters() -> pre_tokenizers.PreTokenizer:
    apart = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")
    return pre_tokenizers.Sequence([apart, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def rebuilt(table: Mapping[str, Any]) -> Engine | None:
    """One of ours, made anew from its vocabulary; None for what is of another form."""
    for prefix, lowercase, single in product((PREFIX, ""), (False, True), (False, True)):
        form = json.loads(shell(models.BPE(), lowercase, single, prefix).to_str())
        if all(table.get(key) == form[key] for key in FORM):
            return shell(_model(table.get("model")), lowercase, single, prefix)
    return None


def _model(table: Any) -> models.Model:
    kind = table.get("type") if isinstance(table, Mapping) else None
    if kind == "BPE" and not any(table.get(key) for key in PLAIN):
        vocab, merges = table.get("vocab"), table.get("merges")
        check_ids(vocab, dense=True)
        pairs = check_merges(merges, vocab)
        _check_bytes(vocab)
        return models.BPE(dict(vocab), pairs, ignore_merges=table.get("ignore_merges") is True)
    if kind == "Unigram" and not table.get("byte_fallback"):
        scored, unknown = table.get("vocab"), table.get("unk_id")
        check_scores(scored)
        _check_bytes([piece for piece, _ in scored])
        if unknown is not None and (type(unknown) is not int or not 0 <= unknown < len(scored)):
            raise ValueError("an unknown token that is none")
        return models.Unigram([(piece, float(score)) for piece, score in scored], unknown, False)
    raise ValueError("a model that none of Regard's tokenizers has")


def _check_bytes(tokens: Any) -> None:
    known = set(tokens)
    if not known.issuperset(alphabet()):
        raise ValueError("bytes that it cannot spell")

"""What a vocabulary from outside must be like before the library sees it: it trusts what it is given."""

from collections.abc import Mapping
from typing import Any

MOST, LONGEST = 2**22, 2**20  # tokens of a vocabulary, and characters of one
FURTHEST = 1e6


def check_ids(vocab: Any, dense: bool) -> None:
    """Tokens with an id each, no two the same; `dense`: all from 0 on. A ValueError for all else."""
    if not isinstance(vocab, Mapping) or not 0 < len(vocab) <= MOST or set(map(type, vocab.values())) != {int}:
        raise ValueError("no vocabulary of tokens and their ids")
    numbers = set(vocab.values())
    highest = len(vocab) if dense else 2 * len(vocab) + 1000
    if len(numbers) != len(vocab) or min(numbers) < 0 or max(numbers) >= highest:
        raise ValueError("two tokens of one id, or an id that is none")
    _check_texts(vocab)


def check_merges(merges: Any, vocab: Mapping[str, int], prefix: str = "") -> list[tuple[str, str]]:
    """Pairs of tokens whose union is a token too; `prefix` is what a second one does not bring along."""
    if not isinstance(merges, list) or len(merges) > 4 * MOST:
        raise ValueError("no list of merges")
    pairs = []
    for merge in merges:
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError("a merge that is no pair of tokens")
        one, other = pair
        if not isinstance(one, str) or not isinstance(other, str):
            raise ValueError("a merge that is no pair of tokens")
        if not other.startswith(prefix):  # the library cuts off as many bytes, whatever they are
            raise ValueError("a merge without the prefix of what goes on")
        if one not in vocab or other not in vocab or one + other.removeprefix(prefix) not in vocab:
            raise ValueError("a merge of what is not in the vocabulary")
        pairs.append((one, other))
    return pairs


def check_scores(vocab: Any) -> None:
    """Pieces with a score each, no piece twice."""
    if not isinstance(vocab, list) or not 0 < len(vocab) <= MOST:
        raise ValueError("no list of pieces and their scores")
    for pair in vocab:
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[1]) not in (float, int):
            raise ValueError("a piece without a score")
        if not abs(pair[1]) <= FURTHEST:  # of NaN too; no whole number is too long to be compared
            raise ValueError("a score that is no number")
    pieces = [pair[0] for pair in vocab]
    _check_texts(pieces)
    if len(set(pieces)) != len(pieces):
        raise ValueError("a piece that is there twice")


def _check_texts(texts: Any) -> None:
    if not all(isinstance(text, str) and len(text) <= LONGEST for text in texts):
        raise ValueError("tokens that are no texts")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise ValueError("tokens with halves of characters in them") from error

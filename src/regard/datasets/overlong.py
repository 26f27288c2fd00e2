"""Lengths beyond which a text is no text, counted before there are tokens to count in."""

MOST = 2**20  # characters of a text that is to be answered
WORD = 2000  # bytes of a word: the longest in any language have a few hundred
TOKEN = 64  # bytes of a token at most, on an average over a text: no vocabulary has words as long as that


def too_long(text: str) -> str:
    """Why a text is not answered, or nothing."""
    return f"over {MOST:,} characters; break it into lines" if len(text) > MOST else ""


def unlearnable(text: str, tokens: int) -> str:
    """Why no vocabulary should be learnt from a text, or nothing, where at most so many tokens are wanted.

    To learn byte pairs takes time, and unigram pieces memory, that grows faster than the longest word.
    """
    if len(text) > tokens * TOKEN:
        return f"over {tokens * TOKEN:,} characters"
    if len(text) * 4 > WORD and any(len(word.encode()) > WORD for word in text.split()):
        return f"a word of over {WORD:,} bytes"
    return ""

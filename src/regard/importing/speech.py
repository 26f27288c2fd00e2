"""How a model reads, ends and chats."""

from dataclasses import dataclass, field

from regard.datasets.tokenizer import Tokenizer

LONGEST_TEMPLATE = 2**18


@dataclass(frozen=True)
class Speech:
    """All that a model needs beside its weights to read and write."""

    tokenizer: Tokenizer
    stop_tokens: tuple[int, ...]
    chat_template: str | None
    add_bos: bool
    files: tuple[str, ...] = ()
    sampling: dict[str, float] = field(default_factory=dict)

"""What a run keeps of a language beside its tokenizer: which tokens begin and end a text."""

import json
from dataclasses import asdict, dataclass

from regard.datasets.stream import Marks
from regard.datasets.tokenizer import Tokenizer
from regard.disk import parse_json
from regard.errors import InputError, RecipeError
from regard.tasks.task import Kept

FILE, TOKENIZER, CHAT = "language.json", "tokenizer.json", "chat_template.jinja"
MOST = 2**24  # tokens of a model


@dataclass(frozen=True)
class Facts:
    """Tokens that begin a text, end one, and those at which writing stops."""

    begin: int
    end: int
    stops: tuple[int, ...]
    begins: bool = True
    """Whether `begin` stands before every prompt; else only before one that is empty."""
    vocab_size: int = 0
    """Tokens that the model has, where those are more than its tokenizer knows: such are never written."""
    unseen: tuple[int, ...] = ()
    """Tokens of a model of characters that were nowhere in the texts it has learnt from: it knows nothing of them."""

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Facts":
        """What a tokenizer says. Regard's own have one token between two documents: it ends one and begins the next."""
        end = tokenizer.eos
        if end is None:
            raise RecipeError("tokenizer.eos: the tokenizer has no token that ends a text; name one")
        return cls(end, end, (end,))

    @classmethod
    def open(cls, kept: Kept, size: int) -> "Facts":
        """From the files of a run."""
        table = parse_json(kept.get(FILE, b""), FILE)
        stops = table.get("stops")
        tokens = [table.get("begin"), table.get("end"), *(stops if isinstance(stops, list) else [None])]
        if not all(type(token) is int and 0 <= token < size for token in tokens):
            raise InputError(f"{FILE}: damaged: tokens that the tokenizer does not have")
        words = table.get("vocab_size", 0)
        if type(words) is not int or not 0 <= words <= MOST:
            raise InputError(f"{FILE}: damaged: {words!r} is no number of tokens")
        unseen = table.get("unseen", [])
        if not isinstance(unseen, list) or not all(type(token) is int for token in unseen):
            raise InputError(f"{FILE}: damaged: what it has not seen is no list of tokens")
        return cls(tokens[0], tokens[1], tuple(tokens[2:]), table.get("begins") is not False, words, tuple(unseen))

    def file(self) -> bytes:
        """What `open` reads."""
        return json.dumps(asdict(self)).encode()

    @property
    def marks(self) -> Marks:
        """What stands between documents."""
        return Marks(self.begin, self.end)


def open_tokenizer(kept: Kept) -> Tokenizer:
    """From the files of a run."""
    if TOKENIZER not in kept:
        raise InputError(f"{TOKENIZER}: missing in the run")
    try:
        return Tokenizer.open(parse_json(kept[TOKENIZER], TOKENIZER))
    except InputError as error:
        raise InputError(f"{TOKENIZER}: {error}") from error


def tokenizer_file(tokenizer: Tokenizer) -> bytes:
    """What `open_tokenizer` reads."""
    return json.dumps(tokenizer.table(), ensure_ascii=False).encode()

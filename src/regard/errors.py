"""What a user is told when something cannot be done: one or two lines, and never a stack trace."""

LONGEST = 1000  # letters of a line
# to a terminal, and marks that turn what follows on a line the other way round; line ends stay
TURNS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
ORDERS = dict.fromkeys([*range(10), *range(11, 32), *range(127, 160), *TURNS], " ")


class RegardError(Exception):
    """Any error below. What mends it may read otherwise in Python (`call`) than on the command line (`flag`).

    Names from outside may be in it; whoever shows it, they give no orders to a terminal, and do not fill it.
    """

    def __init__(self, said: str, *, call: str = "", flag: str = "") -> None:
        super().__init__(_tame(said + call))
        self.on_command_line = _tame(said + flag)


def _tame(said: str) -> str:
    lines = said.translate(ORDERS).split("\n")
    half = LONGEST // 2
    return "\n".join(line if len(line) <= LONGEST else f"{line[:half]} … {line[-half:]}" for line in lines)


class RecipeError(RegardError, ValueError):
    """A recipe that cannot be made: the place, what was wanted, what was given."""


class InputError(RegardError, ValueError):
    """Input that cannot be used: data, a model or a file."""


class FailedError(RegardError):
    """Work that could not go on; what was done is kept. Exit code 1."""


class NoNumbersError(FailedError):
    """A model whose scores are numbers no more: nothing can be chosen by them."""


MEMORY = ("not enough memory", "can't allocate", "out of memory", "Unable to allocate", "bad_alloc")


def is_memory(error: BaseException) -> bool:
    """Whether there was too little memory, in whatever way a library says so."""
    plain = isinstance(error, MemoryError)
    return plain or (isinstance(error, RuntimeError) and any(words in str(error) for words in MEMORY))


class DivergedError(FailedError):
    """A training whose loss, or whose weights, are numbers no more. `usable`: the weights it has are still good."""

    def __init__(self, said: str, step: int, *, usable: bool = False) -> None:
        super().__init__(said)
        self.step, self.usable = step, usable

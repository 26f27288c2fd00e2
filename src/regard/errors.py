"""What a user is told when something cannot be done: one or two lines, and never a stack trace."""


class RecipeError(ValueError):
    """A recipe that cannot be made: the place, what was wanted, what was given."""


class InputError(ValueError):
    """Input that cannot be used: data, a model or a file."""


class FailedError(Exception):
    """Work that could not go on; what was done is kept. Exit code 1."""

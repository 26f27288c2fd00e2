"""Who wants to hear how longer work goes."""


class Listener:
    """Told of what is worth a line, and of how far a work has come. This one says nothing to anybody."""

    def say(self, text: str) -> None:
        """Something worth a line of its own."""

    def at(self, work: str, done: int = 0, total: int = 0) -> None:
        """A work (`encoding the train data`) has come so far; as often as the work likes. A total of 0 is not known."""


SILENT = Listener()

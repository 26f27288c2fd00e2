"""A chat that goes on: what was said is said again with every turn, as far as the model can take it in."""

from typing import TYPE_CHECKING

from regard.listener import Listener

if TYPE_CHECKING:
    from regard.tasks.language.generator import TextGenerator

Message = dict[str, str]
SHARE = 4  # one in so many tokens of the context is kept free for an answer, if so many are asked for


class Conversation:
    """Messages by turns, all read anew at every turn.

    Those that no longer fit are left out, oldest first, and that is told. What the system was told stays.
    """

    def __init__(self, generator: "TextGenerator", system: str, tokens: int, listener: Listener) -> None:
        self.generator, self.listener = generator, listener
        self.system: list[Message] = [{"role": "system", "content": system}] if system else []
        self.free = min(tokens, generator.room // SHARE)
        self.said: list[Message] = []

    def ask(self, text: str) -> list[Message]:
        """What the model is to read: all that was said, and now this."""
        asked = [*self.said, {"role": "user", "content": text}]
        dropped = 0
        while len(asked) > 1 and not self._fits(asked):
            asked, dropped = asked[2:], dropped + 2  # a question and its answer
        if dropped:
            self.listener.say(
                f"its context of {self.generator.room:,} tokens is full: the oldest {dropped:,} messages are forgotten"
            )
        self.said = asked[:-1]
        return [*self.system, *asked]

    def _fits(self, asked: list[Message]) -> bool:
        return len(self.generator.encode_chat([*self.system, *asked])) + self.free <= self.generator.room

    def answered(self, question: str, answer: str) -> None:
        """One turn is over."""
        self.said += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]

    def begin_anew(self) -> None:
        """Nothing was said."""
        self.said = []

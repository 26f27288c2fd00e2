"""Which steps are compiled: single ones of many rows at most, on a CPU, of models that are covered."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.decoding.compiled.alone import Alone
from regard.decoding.compiled.leap import Beams, Leap
from regard.decoding.compiled.machine_code import MACHINE_CODE
from regard.decoding.compiled.product import teach
from regard.decoding.compiled.reader import Reader
from regard.decoding.compiled.standing import Standing
from regard.decoding.compiled.stepper import Stepper
from regard.decoding.compiled.weights import NotCoveredError
from regard.model.assembly import Seq2Seq, Writer
from regard.model.memory import Memory, Sliding
from regard.model.quantize import QuantizedLinear

ROWS = 1024  # torch's products of more are as fast, and have no step's small calls left to save
SEVERAL = 16  # tokens of which some follow each other in a row: every one of them is scored
LEAST = 32  # tokens of a prompt's block: where a window lets so many be read at once, and no more, torch is as fast
STEPS = 32  # of a search that are taken in one call at most, …
AT_ONCE = 2**31  # … with so many products: some 50 ms, after which whoever waits for tokens or wants it to end is heard
ALONE = 2**33  # products of a sentence that is done in one call: a fifth of a second, if it becomes as long as it may
FEW, FEW_ROUNDED = 8, 2  # rows: fewer read the same weights, and take as long


class CompiledSteps:
    """The steps of a model that need not be torch's. One thread at a time may ask."""

    def __init__(self, model: Writer, device: torch.device) -> None:
        self.model, self._device = model, device
        self._most = ROWS if device.type == "cpu" else 0
        self._few = FEW_ROUNDED if isinstance(model.head, QuantizedLinear) else FEW
        self._stepper: Stepper | None = None
        self._reader: Reader | None = None
        self._reads = True
        self._alone: Alone | None = None
        self._standing = Standing(model)
        teach(model)

    def __reduce__(self) -> "tuple[type[CompiledSteps], tuple[Writer, torch.device]]":
        return CompiledSteps, (self.model, self._device)  # a copy has other addresses

    @property
    def compiled(self) -> bool:
        """Whether any are."""
        return self._ready() is not None

    @property
    def hold(self) -> bool:
        """Whether the model is as it was, with nobody's hook on any of its parts."""
        return self._standing.holds

    def rest(self) -> bool:
        """Let go of what was written last; whether any steps were compiled, which others may want to go on with."""
        if self._stepper is not None:
            self._stepper.forget()
        return self._stepper is not None

    def step(self, tokens: Int[Tensor, "R T"], memory: Memory, head: nn.Module) -> Float[Tensor, "N V"] | None:
        """The logits after each of a few more tokens in every row; None, and nothing done, where it is torch's turn."""
        most = self._most if tokens.shape[1] == 1 else min(self._most, SEVERAL)
        if tokens.numel() > most:
            return None
        stepper = self._ready()
        return None if stepper is None else stepper.step(tokens, memory, head)

    def leap(self, tokens: Int[Tensor, "R 1"], memory: Memory, beams: Beams, fewest: int) -> Leap | None:
        """Some steps of a search, until the `fewest` sentences are left; None, and nothing done, where single ones are
        taken."""
        stepper = self._ready() if len(tokens) <= self._most else None
        if stepper is None:
            return None
        most = AT_ONCE // (stepper.products * max(len(tokens), self._few))
        steps = min(beams.left, STEPS, most) if len(beams.ages) > fewest else 1
        return stepper.leap(tokens, memory, beams, steps, fewest) if most > 1 else None

    def block(self, memory: Memory, most: int) -> int:
        """So many tokens of every row are best read at once: at most `most`, which all rows share in machine code."""
        width = min((entry.width for entry in memory.layers if isinstance(entry, Sliding)), default=most)
        shared = max(1, min(width, most // memory.rows))
        return shared if self._ready() is not None and shared * memory.rows >= LEAST else most

    def read(self, tokens: Int[Tensor, "R T"], memory: Memory) -> Float[Tensor, "R T D"] | None:
        """The states of more tokens in every row, as of a prompt; None, and nothing done, where it is torch's turn."""
        stepper = self._ready() if tokens.numel() <= ROWS else None
        return None if stepper is None else stepper.read(tokens, memory)

    def score(self, states: Float[Tensor, "R D"], head: nn.Module) -> Float[Tensor, "R V"]:
        """The logits of some states, whoever makes them."""
        stepper = self._ready()
        found = None if stepper is None else stepper.score(states, head)
        scored: Tensor = head(states) if found is None else found
        return scored

    def alone(self, source: Sequence[int], token: int, beams: Beams) -> Leap | None:
        """All of one sentence, from its source to its last hypothesis; None, and nothing done, where others have to.

        Only where it is soon done, whatever it becomes: nobody is heard meanwhile. The model must be as it was.
        """
        stepper, reader = self._ready(), self._reading()
        if stepper is None or reader is None or not self._standing.certain:
            return None
        if beams.left * stepper.products * max(beams.size, self._few) > ALONE:
            return None
        try:
            self._alone = self._alone or Alone(reader, stepper)
        except NotCoveredError:
            return None
        return self._alone.leap(source, token, beams)

    def start(self, source: Int[Tensor, "B S"], lengths: Int[Tensor, "B"]) -> Memory:
        """The memory of these sources before the first step, read by the machine code where that can be."""
        reader = self._reading()
        found = None if reader is None else reader.start(source, lengths)
        return self.model.start(source, lengths) if found is None else found

    def _reading(self) -> Reader | None:
        code = MACHINE_CODE.get() if self._reader is None and self._reads and self._most else None
        if code is not None and isinstance(self.model, Seq2Seq):
            try:
                self._reader = Reader(code, self.model)
            except NotCoveredError:
                self._reads = False
        return self._reader

    def _ready(self) -> Stepper | None:
        code = MACHINE_CODE.get() if self._stepper is None and self._most else None
        if code is not None:
            try:
                self._stepper = Stepper(code, self.model)
            except NotCoveredError:
                self._most = 0
        return self._stepper

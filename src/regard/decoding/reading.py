"""How tokens are taken in: long prompts a block at a time, compiled where tokens are few, else by torch."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.decoding.compiled.steps import CompiledSteps
from regard.model.assembly import Writer
from regard.model.memory import Memory

BLOCK = 512  # tokens of a row that are read at once


def read(model: Writer, tokens: Int[Tensor, "R T"], memory: Memory) -> None:
    """Take in tokens of which nothing is asked but to be remembered."""
    for block in tokens.split(BLOCK, 1):
        model.step(block, memory)


def next_logits(
    steps: CompiledSteps, tokens: Int[Tensor, "R T"], memory: Memory, head: nn.Module
) -> Float[Tensor, "R V"]:
    """What may follow the last token of every row; no other is scored."""
    count = tokens.shape[1]
    found = steps.step(tokens, memory, head)
    if found is not None:
        return found[count - 1 :: count]
    for block in tokens.split(BLOCK, 1):
        states = steps.model.step(block, memory)
    scored: Tensor = head(states[:, -1])
    return scored


def all_logits(
    steps: CompiledSteps, tokens: Int[Tensor, "R T"], memory: Memory, head: nn.Module
) -> Float[Tensor, "N V"]:
    """What may follow each of a few tokens, row after row."""
    found = steps.step(tokens, memory, head)
    scored: Tensor = head(steps.model.step(tokens, memory).flatten(0, 1)) if found is None else found
    return scored

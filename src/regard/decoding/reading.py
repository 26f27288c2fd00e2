"""How tokens are taken in: long prompts a block at a time, compiled where they can be, else by torch."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.decoding.compiled.steps import CompiledSteps
from regard.model.memory import Memory

BLOCK = 512  # tokens of a row that are read at once


def read(steps: CompiledSteps, tokens: Int[Tensor, "R T"], memory: Memory) -> Float[Tensor, "R D"]:
    """Take in tokens, to be remembered; the states of the last of every row."""
    for block in tokens.split(steps.block(memory, BLOCK), 1):
        found = steps.read(block, memory)
        states = steps.model.step(block, memory) if found is None else found
    return states[:, -1]


def next_logits(
    steps: CompiledSteps, tokens: Int[Tensor, "R T"], memory: Memory, head: nn.Module
) -> Float[Tensor, "R V"]:
    """What may follow the last token of every row; no other is scored."""
    count = tokens.shape[1]
    found = steps.step(tokens, memory, head)
    if found is not None:
        return found[count - 1 :: count]
    return steps.score(read(steps, tokens, memory), head)


def all_logits(
    steps: CompiledSteps, tokens: Int[Tensor, "R T"], memory: Memory, head: nn.Module
) -> Float[Tensor, "N V"]:
    """What may follow each of a few tokens, row after row."""
    found = steps.step(tokens, memory, head)
    scored: Tensor = head(steps.model.step(tokens, memory).flatten(0, 1)) if found is None else found
    return scored

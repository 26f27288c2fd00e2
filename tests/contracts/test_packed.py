"""Sequences packed into one row equal the same sequences in rows of their own."""

import torch
from torch import Tensor

from regard.model.mask import Mask

from .pairs import covering
from .small import WIDTH, Case, blocks_of, decoders, every, tokens, unchecked

SIZES = [(5, 1, 7, 6), (19,), (1, 17, 1)]
NUMBERS = torch.tensor([0, 1, 0, 2])  # one that comes again is another sequence
SEGMENTS = torch.stack([torch.repeat_interleave(NUMBERS[: len(sizes)], torch.tensor(sizes)) for sizes in SIZES])


def apart(row: Tensor, number: int) -> list[Tensor]:
    """The sequences of one packed row."""
    return list(row.split(list(SIZES[number])))


def close(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=2e-5)


@every([*covering("decoder"), *decoders()])
def test_a_language_model_reads_packed_texts_as_if_apart(case: Case) -> None:
    model, target = case.build(), tokens(3, 19)
    with torch.no_grad(), unchecked(), blocks_of(4):
        packed = model(target, Mask(segments=SEGMENTS))
        for number in range(3):
            pieces = zip(apart(target[number], number), apart(packed[number], number), strict=True)
            for text, logits in pieces:
                close(logits, model(text[None])[0])


@every([*(pair for pair in covering("decoder") if pair.kernel in ("", "auto")), *decoders()])
def test_the_end_of_a_packed_row_may_be_padding(case: Case) -> None:
    model, target, lengths = case.build(), tokens(3, 19), torch.tensor([15, 0, 19])
    with torch.no_grad(), unchecked(), blocks_of(4):
        padded = model(target, Mask(segments=SEGMENTS, key_lengths=lengths))
        whole = model(target, Mask(segments=SEGMENTS))
    assert padded.isfinite().all()
    for row, length in enumerate(lengths):
        close(padded[row, :length], whole[row, :length])


@every(covering("encoder"))
def test_an_encoder_reads_packed_texts_as_if_apart(case: Case) -> None:
    encoder, x = case.build().encoder, torch.randn(3, 19, WIDTH, generator=torch.Generator().manual_seed(0))
    with torch.no_grad(), unchecked(), blocks_of(4):
        packed = encoder(x, Mask(segments=SEGMENTS)).states
        for number in (0, 2):
            pieces = zip(apart(x[number], number), apart(packed[number], number), strict=True)
            for text, states in pieces:
                close(states, encoder(text[None], Mask()).states[0])

"""Options that all ways to write have, each with its sentence for the menu."""

from typing import Annotated

from annotated_doc import Doc
from pydantic import Field

LIGHTEST, HEAVIEST = 0.001, 1_000_000.0  # of penalties: beyond, scores are no numbers in single precision any more
Length = Annotated[int, Field(ge=0, le=10**9)]

MinLength = Annotated[Length, Doc("Fewest tokens to write before a text may end; 0 lets it end at once.")]
Penalty = Annotated[
    float,
    Field(ge=LIGHTEST, le=HEAVIEST),
    Doc("Scores of tokens that were read or written already are made worse by this factor; 1 leaves them as they are."),
]
NoRepeat = Annotated[Length, Doc("No run of so many tokens is written twice in a text; 0 lets anything be repeated.")]

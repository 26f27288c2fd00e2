"""Options that all ways to write have, each with its sentence for the menu."""

from typing import Annotated

from annotated_doc import Doc

from regard.recipe import Number, Positive

MinLength = Annotated[Number, Doc("Fewest tokens to write before a text may end; 0 lets it end at once.")]
Penalty = Annotated[
    Positive,
    Doc("Scores of tokens that were read or written already are made worse by this factor; 1 leaves them as they are."),
]
NoRepeat = Annotated[Number, Doc("No run of so many tokens is written twice in a text; 0 lets anything be repeated.")]

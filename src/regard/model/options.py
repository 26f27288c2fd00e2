"""Options that several mechanisms have, each with its sentence for the menu."""

from typing import Annotated

from annotated_doc import Doc
from pydantic import Field

from regard.recipe import Count, NonNegative, Number, Positive, Share

Sides = Count | Annotated[list[Count], Field(min_length=2, max_length=2)]
"""One number for both sides of an image, or two: rows and columns of pixels."""

Layers = Annotated[Count, Doc("Number of layers, each working on what the one before it gives.")]
Width = Annotated[Count, Doc("Numbers in the vector of each token: embeddings, states and layers have this width.")]
VocabSize = Annotated[Count, Doc("Number of different tokens; training sets it to the size of the tokenizer.")]
Dropout = Annotated[
    Share, Doc("Share of numbers set to zero by chance while training, against overfitting; 0 is none.")
]
Bias = Annotated[bool, Doc("Whether each product adds a learned vector to what it gives.")]
Heads = Annotated[Count, Doc("Number of heads that look at once; they share the width, which they must divide.")]
Hidden = Annotated[Number, Doc("Numbers in the layer between the two products; 0 means four times the width.")]
GatedHidden = Annotated[
    Number, Doc("Numbers between the products; 0 means 8/3 of the width, for as many weights as a plain MLP.")
]
KernelSize = Annotated[Count, Doc("Neighbouring positions that a layer sees at once, counting the position itself.")]
Dilation = Annotated[
    Count, Doc("Factor by which neighbours stand further apart in each next layer; 1 means side by side.")
]
Base = Annotated[Positive, Doc("How slow the slowest pair turns: once in about six times so many positions.")]
Eps = Annotated[
    float,
    Field(gt=0, le=1),
    Doc("Small number added under the root, so that a vector of zeros divides by no zero."),
]
HeadBias = Annotated[bool, Doc("Whether every token of the vocabulary has a learned number added to its score.")]
StochasticDepth = Annotated[
    Share,
    Doc("Share of rows for which the last layer is left out while training, less in those before it; 0 is none."),
]
LayerScale = Annotated[
    NonNegative,
    Doc("First value of learned numbers that multiply what each sub-layer adds, such as 0.1; 0 means there are none."),
]
Channels = Annotated[Count, Doc("Numbers a pixel has: 3 for colour, 1 for grey.")]
ImageSize = Annotated[Sides, Doc("Side of the images in pixels, or [rows, columns] where they are no squares.")]


def sides(given: int | list[int]) -> tuple[int, int]:
    """Rows and columns."""
    return (given, given) if isinstance(given, int) else (given[0], given[1])

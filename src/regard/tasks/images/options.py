"""Options that say what images are made into, each with its sentence for the menu."""

from typing import Annotated, get_args

from annotated_doc import Doc
from pydantic import AfterValidator, Field

from regard.datasets.images.fit import Interpolation as AnyInterpolation
from regard.datasets.images.fit import Way
from regard.model.options import Channels as AnyChannels
from regard.recipe import Positive

LARGEST = 4096  # pixels of a side
CHANNELS = (1, 3)
FITS: tuple[str, ...] = get_args(Way)
INTERPOLATIONS: tuple[str, ...] = get_args(AnyInterpolation)
LEAST = 0.05  # of the sides of an image, of which only the middle is kept
Side = Annotated[int, Field(ge=1, le=LARGEST)]


def _known(given: int) -> int:
    if given not in CHANNELS:
        raise ValueError("1 or 3")
    return given


ImageSize = Annotated[
    Side | Annotated[list[Side], Field(min_length=2, max_length=2)],
    Doc("Side of the square that every image is made into, in pixels, or [rows, columns]."),
]
Channels = Annotated[AnyChannels, AfterValidator(_known)]
Fitting = Annotated[
    Way,
    Doc(
        "How images of another shape become that: their middle (crop, or shortest_edge, in whole pixels), all of them "
        "squashed, or with a margin (pad)."
    ),
]
Interpolation = Annotated[AnyInterpolation, Doc("How pixels are drawn out of others where an image changes its size.")]
Middle = Annotated[
    float,
    Field(ge=LEAST, le=1),
    Doc("Share of each side that is kept then: images are made so much larger, and their middle is cut out."),
]
Mean = Annotated[
    list[float], Doc("What is taken from pixels between 0 and 1, a number a channel; none: the mean of the images.")
]
Std = Annotated[
    list[Positive], Doc("What they are divided by then, a number a channel; none: the deviation of the images.")
]


def check_scale(mean: list[float], std: list[float], channels: int) -> None:
    """Refuse means or deviations that are not those of so many channels."""
    for name, given in (("mean", mean), ("std", std)):
        if given and len(given) != channels:
            raise ValueError(f"{name}: {len(given)} numbers for {channels} channels")

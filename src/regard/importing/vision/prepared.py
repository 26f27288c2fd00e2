"""How images are made ready for a model of another maker."""

from dataclasses import dataclass
from typing import get_args

from regard.datasets.images.fit import Fit, Interpolation, Shape, Way, enlarged, fitting
from regard.importing.settings import Settings
from regard.tasks.images.facts import SCALE
from regard.tasks.images.options import LARGEST, LEAST

INTERPOLATIONS: tuple[Interpolation, ...] = get_args(Interpolation)


@dataclass(frozen=True)
class Prepared:
    """The shape that images are brought to and how, and what is taken from pixels between 0 and 1 and divided by."""

    shape: Shape
    fit: Fit
    mean: tuple[float, ...]
    std: tuple[float, ...]


def cut(  # noqa: PLR0917  (where it is said, and what)
    settings: Settings,
    key: str,
    way: Way,
    interpolation: Interpolation,
    larger: Shape,
    shape: Shape,
    share: float | None = None,
) -> Fit:
    """Images made `larger` and then cut to a shape, as a share that is kept of both sides."""
    if max(*larger, *shape) > LARGEST:
        raise settings.refusal(key, list(larger), f"sides of more than {LARGEST:,} pixels")
    for one in (share, shape[0] / larger[0], shape[1] / larger[1]):
        if one is not None and LEAST <= one <= 1 and enlarged(shape, one) == larger:
            return fitting(way, interpolation, one)
    raise settings.refusal(
        key, list(larger), f"cut to {list(shape)}: wanted the same share of rows and columns, from {LEAST} to 1"
    )


def scale(
    settings: Settings, keys: tuple[str, str], mean: list[float], std: list[float], white: float = 1.0
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Means and deviations for pixels between 0 and 1, from those for pixels up to what `white` is there."""
    if not 0 < white <= 1e6 or not all(1 / SCALE**2 <= one / white <= SCALE for one in std):
        raise settings.refusal(keys[1], std, "wanted deviations of pixels")
    if not all(abs(one / white) <= SCALE for one in mean):
        raise settings.refusal(keys[0], mean, "wanted means of pixels")
    return tuple(one / white for one in mean), tuple(one / white for one in std)

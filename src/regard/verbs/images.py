"""What is done with images: said what they show, and made whole."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from regard.datasets.images.asked import Asked, Given, in_groups
from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.tasks.classification import Classified, Classifier
from regard.tasks.classification.showing import Pictures
from regard.tasks.images.places import Places
from regard.tasks.restoration import Restored, Restorer
from regard.tasks.restoration.printing import PNG, Prints
from regard.verbs.given import asked, named
from regard.verbs.runs import RunLike, answerer_of, opened


def classify(
    run: RunLike,
    images: Given | Iterable[Given],
    *,
    top: int = 3,
    show: str | Path | None = None,
    overwrite: bool = False,
    device: str | None = None,
    int8: bool = False,
    listener: Listener = SILENT,
) -> list[Classified]:
    """What images show: the `top` likeliest classes of each, in their order; `show` draws where it looked."""
    if not isinstance(top, int) or isinstance(top, bool) or top < 1:
        raise InputError(f"top: wanted a whole number from 1, given {named(top)}")
    rows = _checked(asked(images), [] if show is None else [Places(show, overwrite=overwrite)])
    classifier = classifier_of(opened(run, device=device, int8=int8, listener=listener))
    pictures = None if show is None else Pictures(classifier, show, overwrite)
    found: list[Classified] = []
    for some in in_groups(((one.name, one.pixels()) for one in rows), classifier.together):
        names, pixels = [name for name, _ in some], [each for _, each in some]
        for one, each in zip(classifier.classify(pixels, names, top), pixels, strict=True):
            found.append(one)
            if pictures is not None:
                pictures.draw(one, each, listener)
        listener.at("classifying", len(found))
    return found


def classifier_of(run: RunLike) -> Classifier:
    """What answers, if that is a classifier of images."""
    return answerer_of(run, Classifier, "classifier")


def restore(
    run: RunLike,
    images: Given | Iterable[Given],
    *,
    out: str | Path | None = None,
    show: str | Path | None = None,
    corrupt: bool = False,
    overwrite: bool = False,
    device: str | None = None,
    listener: Listener = SILENT,
) -> list[Restored]:
    """Images without what spoilt them, in their order; written where `out` says, drawn where `show` says."""
    places = [] if out is None else [Places(out, (PNG,), overwrite)]
    places += [] if show is None else [Places(show, overwrite=overwrite)]
    rows = _checked(asked(images), places)
    prints = Prints(restorer_of(opened(run, device=device, listener=listener)), out, show, corrupt, overwrite)
    found: list[Restored] = []
    for one in rows:
        found.append(prints.restore(one.name, one.pixels(), listener))
        listener.at("restoring", len(found))
    return found


def _checked(rows: Iterator[Asked], places: Sequence[Places]) -> Iterator[Asked]:
    """The same images, once there is a place for the pictures of all."""
    first = list(islice(rows, 2)) if places else []
    for one in places:
        one.check(several=len(first) > 1)
    return chain(first, rows)


def restorer_of(run: RunLike) -> Restorer:
    """What answers, if that is a restorer of images."""
    return answerer_of(run, Restorer, "restorer")

"""What callers give, texts and images; and what is said where it is neither."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from regard.datasets.images.asked import Asked, asked_images
from regard.datasets.overlong import too_long
from regard.errors import InputError


def checked(texts: object) -> list[str]:
    """One text or any number of them (a list, a generator, the lines of a file), each of which must be one."""
    if isinstance(texts, str):
        return [_text(texts, "the text")]
    if isinstance(texts, bytes | Mapping) or not isinstance(texts, Iterable):
        raise InputError(f"wanted a text or several texts, given {named(texts)}")
    rows = []
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"texts[{number}]: wanted a text, given {named(text)}")
        rows.append(_text(text, f"texts[{number}]"))
    return rows


def _text(text: str, place: str) -> str:
    """Half of a character that takes two, or a byte that is no character, can be encoded by nobody."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{place}: not Unicode text: {text[error.start : error.end]!r} in it") from error
    if why := too_long(text):
        raise InputError(f"{place}: {why}")
    return text


def asked(images: object) -> Iterator[Asked]:
    """One image or any number of them, by their names or their pixels."""
    if isinstance(images, str | Path | np.ndarray):
        return asked_images([images])
    if isinstance(images, bytes | Mapping) or not isinstance(images, Iterable):
        raise InputError(f"wanted names of images or their pixels, given {named(images)}")
    return asked_images(images)


def named(given: object) -> str:
    """What somebody gave instead, and what mends it."""
    if isinstance(given, bytes):
        return "bytes; decode them first: .decode('utf-8')"
    if given is None:
        return "None"
    shown = repr(given)
    return f"{type(given).__name__} {shown if len(shown) < 40 else shown[:36] + ' …'}"

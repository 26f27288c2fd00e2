"""A GGUF file: one head, one tensor at a time."""

from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from regard.disk import checksum, opened
from regard.disk.door import ENDLESS
from regard.errors import InputError
from regard.importing.gguf.config import gguf_plan, read_values
from regard.importing.gguf.head import Content, Entry, read_head
from regard.importing.gguf.kinds import numbers
from regard.importing.gguf.tokenizer import read_speech
from regard.importing.imported import Imported, complete
from regard.listener import Listener


def read_gguf(path: Path, listener: Listener) -> Imported:
    """A model of a known architecture, its tensors checked against its values before anything large is made."""
    with opened(path, ENDLESS, links=True) as file:
        content = Content(file)
        if not len(content):
            raise InputError(f"{path}: not a GGUF file: it is empty")
        try:
            head = read_head(content)
        except (ValueError, OSError) as error:
            raise InputError(f"{path}: not a GGUF file: {error}") from error
        design = read_values(head.values, head.tensors, str(path))
        plan = gguf_plan(design, head.tensors, str(path))
        plan.check({name: one.shape for name, one in head.tensors.items()}, str(path))
        speech = read_speech(head.values, design, str(path), listener)
        name = str(head.values.get("general.name") or path.stem)
        recipe, shapes = complete(design.family, design.model(), path.stem, str(path))
        weights = plan.fill(shapes, lambda name: _tensor(path, content, head.tensors[name]), str(path), listener)
    listener.at("taking checksums")
    licence = head.values.get("general.license")
    origin: dict[str, Any] = {
        "family": design.family,
        "files": {path.name: checksum(path, links=True)},
        "called": name[:200],
    }
    return Imported(
        name=path.stem,
        recipe=recipe,
        weights=weights,
        tokenizer=speech.tokenizer,
        context=design.context,
        stop_tokens=speech.stop_tokens,
        chat_template=speech.chat_template,
        origin=origin | ({"licence": licence[:60]} if isinstance(licence, str) else {}),
        add_bos=speech.add_bos,
    )


def _tensor(path: Path, content: Content, one: Entry) -> Tensor:
    try:
        held = content[one.begin : one.end]
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    return numbers(np.frombuffer(held, np.uint8), one.kind, one.shape)

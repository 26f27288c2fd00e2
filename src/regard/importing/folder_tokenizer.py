"""How a model of a folder reads, ends and chats: tokenizer.json, tokenizer_config.json, generation_config.json."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regard.datasets.tokenizer import Tokenizer
from regard.datasets.tokenizer.tokenizer import open_engine
from regard.decoding.options import HEAVIEST, LIGHTEST
from regard.disk import read_json, read_text
from regard.errors import InputError
from regard.importing.files import Folder
from regard.importing.speech import LONGEST_TEMPLATE, Speech

TOKENIZER, SETTINGS, WRITING, TEMPLATE = (
    "tokenizer.json",
    "tokenizer_config.json",
    "generation_config.json",
    "chat_template.jinja",
)
ENDS = 64
SAMPLING: dict[str, Callable[[Any], bool]] = {
    "temperature": lambda said: 0.01 <= said <= 100,
    "top_k": lambda said: isinstance(said, int) and 0 <= said < 2**31,
    "top_p": lambda said: 0.01 <= said <= 1,
    "min_p": lambda said: 0 <= said < 1,
    "repetition_penalty": lambda said: LIGHTEST <= said <= HEAVIEST,
}


def read_speech(folder: Folder, config: Mapping[str, Any], vocab_size: int) -> Speech:
    """From the files beside the weights."""
    if not folder.has(TOKENIZER):
        raise InputError(f"{folder.path}: no {TOKENIZER} in it; other forms (tokenizer.model, vocab.json) are not read")
    table = read_json(folder.file(TOKENIZER))
    try:
        engine = open_engine(table)
    except InputError as error:
        raise InputError(f"{folder.path / TOKENIZER}: {error}") from error
    known = Tokenizer(engine)
    if len(known) > vocab_size:
        raise InputError(f"{folder.path}: {len(known):,} tokens in {TOKENIZER}, and {vocab_size:,} embeddings")
    settings, writing = folder.table(SETTINGS), folder.table(WRITING)
    _same_added(settings, engine.token_to_id, folder.path / SETTINGS)
    special = {role: _special(role, settings, (writing, config), known, folder.path) for role in ("pad", "bos", "eos")}
    tokenizer = Tokenizer(engine, special["pad"], special["bos"], special["eos"])
    stops = [
        tokenizer.eos,
        *(each for one in (writing, config) for each in _ids(one.get("eos_token_id"), known, folder.path)),
    ]
    files = tuple(name for name in (TOKENIZER, SETTINGS, WRITING, TEMPLATE) if folder.has(name))
    return Speech(
        tokenizer=tokenizer,
        stop_tokens=tuple(dict.fromkeys(stop for stop in stops if stop is not None)),
        chat_template=_template(folder, settings),
        add_bos=_adds_bos(settings, table, tokenizer),
        files=files,
        sampling=_sampling(writing),
    )


def _sampling(said: Mapping[str, Any]) -> dict[str, float]:
    """What is said of temperature and the like; what cannot be is left to the user, as the rest is."""
    found = dict[str, float]()
    for name, fits in SAMPLING.items():
        given = said.get(name)
        if isinstance(given, int | float) and not isinstance(given, bool) and fits(given):
            found[name] = given
    return found


def _special(
    role: str, settings: Mapping[str, Any], others: tuple[Mapping[str, Any], ...], known: Tokenizer, path: Path
) -> int | None:
    """The token that a tokenizer_config.json names, or the id that a config says."""
    named = settings.get(f"{role}_token")
    name = named.get("content") if isinstance(named, Mapping) else named
    if name is not None:
        found = known.engine.token_to_id(name) if isinstance(name, str) else None
        if found is None:
            raise InputError(f"{path / SETTINGS}: {role}_token: {str(name)[:60]!r} is not in {TOKENIZER}")
        return int(found)
    for table in others:
        for number in _ids(table.get(f"{role}_token_id"), known, path):
            return number
    return None


def _ids(said: Any, known: Tokenizer, path: Path) -> list[int]:
    """One id, several or none. Some configs say -1 for none."""
    numbers = said if isinstance(said, list) else [] if said is None or said == -1 else [said]
    if len(numbers) > ENDS or not all(type(number) is int and 0 <= number < len(known) for number in numbers):
        raise InputError(f"{path}: {str(said)[:60]} is said to be a token, and its tokenizer has {len(known):,}")
    return list(numbers)


def _same_added(settings: Mapping[str, Any], find: Any, path: Path) -> None:
    """Tokens that are listed a second time must be the same there."""
    listed = settings.get("added_tokens_decoder") or {}
    if not isinstance(listed, Mapping):
        raise InputError(f"{path}: added_tokens_decoder: no table of tokens")
    for number, token in listed.items():
        text = token.get("content") if isinstance(token, Mapping) else None
        if not isinstance(text, str) or str(find(text)) != number:
            raise InputError(
                f"{path}: added_tokens_decoder: {str(text)[:60]!r} is not token {number[:20]} of {TOKENIZER}"
            )


def _adds_bos(settings: Mapping[str, Any], table: Mapping[str, Any], tokenizer: Tokenizer) -> bool:
    """Whether a text begins with a token of its own: said outright, or by what is put around a text."""
    if tokenizer.bos is None:
        return False
    said = settings.get("add_bos_token")
    if isinstance(said, bool):
        return said
    name = tokenizer.engine.id_to_token(tokenizer.bos)
    steps = [table.get("post_processor")]
    for step in steps:
        if not isinstance(step, Mapping):
            continue
        inner, single = step.get("processors"), step.get("single")
        steps += inner[:16] if isinstance(inner, list) and len(steps) < 64 else []
        first = single[0] if isinstance(single, list) and single else None
        token = first.get("SpecialToken") if isinstance(first, Mapping) else None
        if isinstance(token, Mapping) and token.get("id") == name:
            return True
    return False


def _template(folder: Folder, settings: Mapping[str, Any]) -> str | None:
    """The chat template: in a file of its own, or among the tokenizer's settings, one or several of them by name."""
    if folder.has(TEMPLATE):
        return read_text(folder.file(TEMPLATE), most=LONGEST_TEMPLATE)
    said = settings.get("chat_template")
    if isinstance(said, list):
        named = {
            one.get("name"): one.get("template")
            for one in said
            if isinstance(one, Mapping) and isinstance(one.get("name"), str)
        }
        said = named.get("default")
    if said is not None and (not isinstance(said, str) or len(said) > LONGEST_TEMPLATE):
        raise InputError(f"{folder.path / SETTINGS}: chat_template: no text, or one of more than {LONGEST_TEMPLATE:,}")
    return said

"""What translators do."""

from collections.abc import Iterable

from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.looking.alignment import Alignment
from regard.recipe.override import Override
from regard.tasks.translation import Translated, Translator
from regard.verbs.given import checked, named
from regard.verbs.runs import RunLike, answerer_of, opened


def translate(
    run: RunLike,
    texts: str | Iterable[str],
    *overrides: Override,
    beam: int = 0,
    n_best: int = 1,
    device: str | None = None,
    int8: bool = False,
    split: bool | None = None,
    listener: Listener = SILENT,
) -> list[Translated]:
    """Translate a text or several, of any length, with a trained run: as many answers, in their order."""
    rows = checked(texts)
    trained = opened(run, *overrides, *split_keys(split), beam=beam, device=device, int8=int8, listener=listener)
    translator = translator_of(trained).resized(beam, n_best)
    found: dict[int, Translated] = {}
    for number, one in translator.stream(rows):
        found[number] = one
        listener.at("translating", len(found), len(rows))
    return [found[number] for number in range(len(rows))]


def split_keys(split: bool | None) -> list[str]:
    """What to split into sentences, or not to, asks of a recipe."""
    if not isinstance(split, bool | None):
        raise InputError(f"split: wanted True, False or None, given {named(split)}")
    return [] if split is None else [f"task.split={'always' if split else 'never'}"]


def align(run: RunLike, source: str, target: str = "", *, device: str | None = None) -> Alignment:
    """Where a translator looks while it writes `target`, or what it would write itself."""
    (asked,), said = checked([source]), checked([target])[0]
    if not asked.strip():
        raise InputError("nothing to look at: the source is empty")
    translator = translator_of(opened(run, device=device))
    return translator.align(asked, said) if said else translator.look(translator.translate([asked])[0])


def translator_of(run: RunLike) -> Translator:
    """What answers, if that is a translator."""
    return answerer_of(run, Translator, "translator")

"""Pages of the examples, one for each, their numbers as JSON, and a list of all: a folder that needs no network."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.disk import check_place, place, read_json
from regard.disk.files import json_text
from regard.errors import InputError
from regard.examples import apple, coffee, distance, evening, induction, love, smollm2
from regard.examples.example import Example, Story
from regard.examples.index import index
from regard.examples.runs import MEGABYTES, Runs
from regard.listener import SILENT, Listener
from regard.looking.page.document import static_document
from regard.looking.saving import put
from regard.recipe.errors import nearest

EXAMPLES = (
    love.EXAMPLE,
    evening.EXAMPLE,
    apple.EXAMPLE,
    coffee.EXAMPLE,
    distance.EXAMPLE,
    induction.EXAMPLE,
    *smollm2.EXAMPLES,
)
INDEX, NUMBERS, RUNS = "index.html", "examples.json", "runs"


def make(
    out: str | Path, only: Sequence[str] = (), fetch: bool = False, listener: Listener = SILENT
) -> Iterator[Story]:
    """Each example as soon as its page is written, and behind it the list of all that are there.

    Those that ask SmolLM2 are made if it is here, or if `fetch` says that it may be fetched.
    """
    chosen, folder = _chosen(only), _folder(out)
    runs = Runs(folder / RUNS, listener)
    imported = any(example.imported for example in chosen)
    if imported and fetch:
        runs.fetch_smollm2()
    if imported and runs.smollm2_folder is None:
        if only:
            more = {"call": "smollm2=True fetches it", "flag": "--smollm2 fetches it"}
            raise InputError("SmolLM2 is not here; ", **{key: f"{said} ({MEGABYTES} MB)" for key, said in more.items()})
        chosen = [example for example in chosen if not example.imported]
    for number, example in enumerate(chosen, 1):
        listener.at(f"{number} of {len(chosen)}: {example.name}")
        reading = example.read(runs)
        story = Story.of(example, reading)
        put(folder / story.page, static_document([reading.look], story.facts()))
        _list(folder, story)
        yield story


def _list(folder: Path, new: Story) -> None:
    """The numbers of all examples that have a page, and the page that lists them, in their order."""
    kept = read_json(folder / NUMBERS) if (folder / NUMBERS).is_file() else {}
    known = {name: facts for name, facts in kept.items() if (folder / f"{name}.html").is_file()}
    known |= {new.name: new.facts()}
    told = {example.name: known[example.name] for example in EXAMPLES if example.name in known}
    put(folder / NUMBERS, json_text(told, indent=1))
    put(folder / INDEX, index(list(told.values())))


def _chosen(only: Sequence[str]) -> list[Example]:
    known = {example.name: example for example in EXAMPLES}
    for name in only:
        if name not in known:
            raise InputError(f"{name}: no such example{nearest(name, known)}")
    return [known[name] for name in dict.fromkeys(only)] or list(EXAMPLES)


def _folder(out: str | Path) -> Path:
    """Where pages go, refused before any work is done if nothing could be written there."""
    folder = place(out)
    check_place(folder / INDEX)
    return folder

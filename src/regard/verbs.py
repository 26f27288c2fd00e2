"""What is done with trained runs: the calls behind the verbs of the command line."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import get_args

import numpy as np

from regard.datasets.data import Data, Split
from regard.datasets.images.asked import Asked, Given, asked_images
from regard.datasets.overlong import too_long
from regard.decoding.compiled.machine_code import wanted
from regard.decoding.resize import beam_keys
from regard.errors import InputError, RecipeError
from regard.listener import SILENT, Listener
from regard.looking.alignment import Alignment
from regard.looking.look import Look, gather
from regard.model.mode import evaluating
from regard.recipe.override import Override
from regard.recipe.read import keys
from regard.run import Run
from regard.tasks.classification import Classified, Classifier
from regard.tasks.classification.showing import Pictures
from regard.tasks.evaluation import Scored
from regard.tasks.language.generator import TextGenerator
from regard.tasks.language.scorer import ScoredText, Scorer
from regard.tasks.language.writing import Generated
from regard.tasks.restoration import Restored, Restorer
from regard.tasks.restoration.printing import Prints
from regard.tasks.task import Evaluation, Exam
from regard.tasks.translation import Translated, Translator
from regard.trained import Trained, open_run

RunLike = str | Path | Run | Trained
"""A run: its folder, what `train` returned, or what `open_run` opened."""


def opened(
    run: RunLike,
    *overrides: Override,
    beam: int = 0,
    device: str | None = None,
    int8: bool = False,
    listener: Listener = SILENT,
) -> Trained:
    """Any way to name a run, opened for use; `beam` is short for keys of its decoding."""
    if isinstance(run, Trained):
        if device is not None or int8:
            raise InputError("this run is open already: say device= and int8= where it is opened, in open_run")
        return run.answering(*_beam(run.recipe.table(), beam, overrides), *overrides)
    if not isinstance(run, str | Path | Run):
        raise InputError(f"wanted a run (its folder, or what train or open_run returned), given {named(run)}")
    found = run if isinstance(run, Run) else Run.open(Path(run))
    more = [*_beam(found.recipe, beam, overrides), *overrides]
    return open_run(found.folder, *more, listener=listener, device=device or "auto", int8=int8)


def _beam(recipe: Mapping[str, object], beam: int, overrides: Sequence[Override]) -> list[str]:
    """What a size of the beam asks of a recipe; what else is said of decoding is said besides."""
    decoding = recipe.get("decoding", {})
    made = beam_keys(decoding if isinstance(decoding, Mapping) else {"kind": decoding}, beam)
    twice = sorted({"decoding.kind", "decoding.beam_size"} & set(keys(overrides))) if made else []
    if twice:
        raise RecipeError(
            f"{twice[0]}: the beam is said twice; leave this out, or ", call=f"beam={beam}", flag=f"--beam {beam}"
        )
    return made


def evaluate(
    run: RunLike,
    *overrides: Override,
    on: str | Path = "",
    split: Split | None = None,
    like: RunLike | None = None,
    beam: int = 0,
    device: str | None = None,
    int8: bool = False,
    stopped: Callable[[], bool] = lambda: False,
    listener: Listener = SILENT,
) -> Evaluation:
    """Score a run on its own test data (validation data, if it has none), on other files, or `like` another run."""
    if not isinstance(on, str | Path):
        raise InputError(f"on: wanted the name of files, given {named(on)}")
    if split is not None and split not in get_args(Split):
        raise InputError(f"split: wanted {', '.join(get_args(Split))}, given {split!r}")
    trained = opened(run, *overrides, beam=beam, device=device, int8=int8, listener=listener)
    data, chosen = _examined(trained, str(on), split, trained if like is None else opened(like))
    if data is trained.task.data and data.fingerprint() != trained.run.facts.get("data"):
        listener.say(f"{trained.run.folder}: its data are not what they were when it was trained")
    with evaluating(trained.model):
        found = trained.task.evaluate(trained.answerer, Exam(data, chosen, stopped=stopped, listener=listener))
    if found is None:
        raise KeyboardInterrupt
    how = trained.task.manner(trained.answerer) + (", int8" if trained.int8 else "")
    return found.of(Scored(data.called(chosen), chosen, trained.step, how, data.fingerprint()))


def _examined(trained: Trained, on: str, split: Split | None, like: Trained) -> tuple[Data[object], Split]:
    """The data that a run is to be scored on, and which part of them."""
    data = trained.task.data_from(on) if on else like.task.data
    chosen: Split = split or ("test" if data.has("test") else "valid")
    if not data.has(chosen):
        raise InputError(f"no {chosen} data to evaluate on; ", call="name files with on=…", flag="name files with --on")
    return data, chosen


def compare(runs: Sequence[Trained], on: str = "") -> list[str]:
    """Refuse runs that nothing can be said of side by side; what must be minded with the others."""
    first, said = runs[0], list[str]()
    for other in runs[1:]:
        kinds = [one.recipe.wants("task").kind for one in (first, other)]
        two = f"{first.run.folder} and {other.run.folder}"
        if kinds[0] != kinds[1]:
            raise InputError(f"{two} cannot be compared: the task of one is {kinds[0]}, of the other {kinds[1]}")
        if first.run.facts.get("data") != other.run.facts.get("data"):
            said.append(
                f"{two} learnt from different data; both are scored on {on or f'those of {first.run.folder}'}, "
                f"of which {'one of them' if on else other.run.folder} may have seen some"
            )
        said += [f"{two}: {why}" for why in first.task.unlike(other.task)]
    return said


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


def look(
    run: RunLike,
    text: Given,
    target: str = "",
    *,
    tokens: int = 0,
    device: str | None = None,
    listener: Listener = SILENT,
) -> Look:
    """What a trained model looks at, in every attention and every head, while it reads a text and writes its answer, or
    says what an image shows."""
    (said,) = checked([target])
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        raise InputError(f"tokens: wanted a whole number from 0, given {named(tokens)}")
    trained = opened(run, device=device, listener=listener)
    asked = text if isinstance(trained.answerer, Classifier) else checked([text])[0]
    listener.at("answering")
    scene = trained.task.scene(trained.answerer, asked, said, tokens)
    listener.at("looking")
    size = sum(parameter.numel() for parameter in trained.model.parameters())
    about = {"run": str(trained.run.folder), "task": trained.recipe.wants("task").kind, "step": trained.step}
    return gather(scene, about | {"parameters": size})


def translator_of(run: RunLike) -> Translator:
    """What answers, if that is a translator."""
    trained = opened(run)
    if not isinstance(trained.answerer, Translator):
        raise InputError(f"{trained.run.folder}: not a translator; its task is {trained.recipe.wants('task').kind}")
    return trained.answerer


def generate(
    run: RunLike,
    prompts: str | Iterable[str],
    *overrides: Override,
    tokens: int = 200,
    samples: int = 1,
    stop: Sequence[str] = (),
    slide: bool = False,
    draft: RunLike | None = None,
    draft_tokens: int = 0,
    device: str | None = None,
    int8: bool = False,
    listener: Listener = SILENT,
) -> list[Generated]:
    """Go on with a text or several, with a trained language model: `samples` texts for each, in their order."""
    rows = checked(prompts)
    for name, value, least in (("tokens", tokens, 1), ("samples", samples, 1), ("draft_tokens", draft_tokens, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(f"{name}: wanted a whole number from {least}, given {named(value)}")
    generator = generator_of(opened(run, *overrides, device=device, int8=int8, listener=listener))
    if draft is not None:
        generator = drafted(generator, draft, draft_tokens, device, listener)
    found: dict[int, Generated] = {}
    for event in generator.stream(rows, tokens, samples=samples, stop=checked(stop), slide=slide):
        if isinstance(event, tuple):
            found[event[0]] = event[1]
            listener.at("writing", len(found), len(rows) * samples)
    return [found[place] for place in sorted(found)]


def drafted(
    generator: TextGenerator, draft: RunLike, tokens: int, device: str | None, listener: Listener = SILENT
) -> TextGenerator:
    """The same with a draft. What that says is only a guess, so its weights are rounded wherever that is faster."""
    small = draft
    if not isinstance(draft, Trained):
        rounded = wanted() and next(generator.model.parameters()).device.type == "cpu"
        small = opened(draft, device=device, int8=rounded, listener=listener)
    return generator.drafted(generator_of(small), tokens)


def score(
    run: RunLike,
    texts: str | Iterable[str],
    *,
    ended: bool = False,
    device: str | None = None,
    int8: bool = False,
    listener: Listener = SILENT,
) -> list[ScoredText]:
    """How likely texts are to a trained language model: log P of each, token by token."""
    rows = checked(texts)
    scorer = Scorer(generator_of(opened(run, device=device, int8=int8, listener=listener)), ended)
    found: dict[int, ScoredText] = {}
    for number, one in scorer.score(rows):
        found[number] = one
        listener.at("scoring", len(found), len(rows))
    return [found[number] for number in range(len(rows))]


def classify(
    run: RunLike,
    images: Given | Iterable[Given],
    *,
    top: int = 3,
    show: str | Path | None = None,
    device: str | None = None,
    int8: bool = False,
    listener: Listener = SILENT,
) -> list[Classified]:
    """What images show: the `top` likeliest classes of each, in their order; `show` draws where it looked."""
    if not isinstance(top, int) or isinstance(top, bool) or top < 1:
        raise InputError(f"top: wanted a whole number from 1, given {named(top)}")
    asked = _asked(images)
    classifier = classifier_of(opened(run, device=device, int8=int8, listener=listener))
    pictures = None if show is None else Pictures(classifier, show)
    found: list[Classified] = []
    while some := [(one.name, one.pixels()) for one in islice(asked, classifier.together)]:
        names, pixels = [name for name, _ in some], [each for _, each in some]
        for one, each in zip(classifier.classify(pixels, names, top), pixels, strict=True):
            found.append(one)
            if pictures is not None:
                pictures.draw(one, each, listener)
        listener.at("classifying", len(found))
    return found


def classifier_of(run: RunLike) -> Classifier:
    """What answers, if that is a classifier of images."""
    trained = opened(run)
    if not isinstance(trained.answerer, Classifier):
        raise InputError(f"{trained.run.folder}: not a classifier; its task is {trained.recipe.wants('task').kind}")
    return trained.answerer


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
    asked = _asked(images)
    prints = Prints(restorer_of(opened(run, device=device, listener=listener)), out, show, corrupt, overwrite)
    found: list[Restored] = []
    for one in asked:
        found.append(prints.restore(one.name, one.pixels(), listener))
        listener.at("restoring", len(found))
    return found


def restorer_of(run: RunLike) -> Restorer:
    """What answers, if that is a restorer of images."""
    trained = opened(run)
    if not isinstance(trained.answerer, Restorer):
        raise InputError(f"{trained.run.folder}: not a restorer; its task is {trained.recipe.wants('task').kind}")
    return trained.answerer


def _asked(images: object) -> Iterator[Asked]:
    """One image or any number of them, by their names or their pixels."""
    if isinstance(images, str | Path | np.ndarray):
        return asked_images([images])
    if isinstance(images, bytes | Mapping) or not isinstance(images, Iterable):
        raise InputError(f"wanted names of images or their pixels, given {named(images)}")
    return asked_images(images)


def sampling_keys(greedy: bool, **chosen: int | float | None) -> list[str]:
    """What words about chance ask of a recipe's decoding; a temperature of 0 is no chance at all."""
    said = {name: value for name, value in chosen.items() if value is not None}
    if greedy or said.get("temperature") == 0:
        kept = {name: value for name, value in said.items() if name == "repetition_penalty"}
        if greedy and len(said) > len(kept):
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in said if name not in kept)
            raise RecipeError(f"--greedy leaves nothing to chance: leave out {flags}, or --greedy")
        return ["decoding.kind=greedy", *(f"decoding.{name}={value}" for name, value in kept.items())]
    return ["decoding.kind=sample", *(f"decoding.{name}={value}" for name, value in said.items())] if said else []


def generator_of(run: RunLike) -> TextGenerator:
    """What writes, if that is a language model."""
    trained = opened(run)
    if not isinstance(trained.answerer, TextGenerator):
        raise InputError(f"{trained.run.folder}: not a language model; its task is {trained.recipe.wants('task').kind}")
    return trained.answerer


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


def named(given: object) -> str:
    """What somebody gave instead, and what mends it."""
    if isinstance(given, bytes):
        return "bytes; decode them first: .decode('utf-8')"
    if given is None:
        return "None"
    shown = repr(given)
    return f"{type(given).__name__} {shown if len(shown) < 40 else shown[:36] + ' …'}"

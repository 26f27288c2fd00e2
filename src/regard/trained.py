"""A trained run, opened for use: translate with it, evaluate it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from regard.data.batches import Batches
from regard.data.corpus import Vocabulary, encode
from regard.data.files import Files
from regard.data.pairs import Pairs, Split
from regard.decoding.beam import Beam
from regard.decoding.sample import Greedy
from regard.decoding.search import Search
from regard.errors import InputError
from regard.model.assembly import Seq2Seq
from regard.model.int8 import rounded
from regard.model.weights import fill, fit
from regard.recipe import Recipe
from regard.runs import Run
from regard.tasks.scores import Bin, by_length, score
from regard.tasks.translation import held_loss
from regard.tasks.translator import Translated, Translator
from regard.training.menu import MENU
from regard.training.train import wanted

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Trained:
    """A model with its weights, its vocabulary and its recipe."""

    run: Run
    recipe: Recipe
    step: int
    translator: Translator

    @property
    def model(self) -> Seq2Seq:
        return self.translator.model

    def search(self, beam: int = 0, best: int = 1) -> Search:
        """The recipe's way of writing, or a beam of another size; 1 is greedy."""
        if not beam and best == 1:
            search: Search = wanted(self.recipe.decoding, "decoding").build()
            return search
        return Greedy() if max(beam, best) == 1 else Beam(size=max(beam or 5, best), best=best)


def open_run(
    folder: str | Path, tell: Tell = print, *, device: str = "cpu", int8: bool = False, shortlist: bool = False
) -> Trained:
    """The best checkpoint of a run. The weights are checked against the recipe before anything is built.

    `int8` rounds all matrices to eight bits; `shortlist` scores only the words a source may call for.
    """
    run = Run.open(Path(folder))
    recipe = Recipe.check(run.recipe, MENU)
    checkpoint = run.for_use(tell)
    with torch.device("meta"):
        shell = recipe.model.build()
    if not isinstance(shell, Seq2Seq):
        raise InputError(f"{folder}: not a translator but a {recipe.model.kind}")
    fit(shell, checkpoint.shapes())
    model: Seq2Seq = recipe.model.build()
    fill(model, checkpoint.tensors("weights.safetensors"))
    vocabulary = Vocabulary.open(run.tokens)
    if len(vocabulary.target) != model.head.out_features:
        raise InputError(
            f"{folder}: tokens.json has {len(vocabulary.target)} tokens, the model {model.head.out_features}"
        )
    longest = run.facts.get("longest")
    if not isinstance(longest, int) or longest < 1:
        raise InputError(f"{folder}/facts.json: damaged: no length of the longest source in it")
    if int8:
        rounded(model)
    words = _shortlist(run, vocabulary) if shortlist else None
    translator = Translator(model.to(device).eval(), vocabulary, longest, words=words)
    return Trained(run, recipe, checkpoint.step, translator)


def _shortlist(run: Run, vocabulary: Vocabulary) -> NDArray[Any]:
    words = run.extra("shortlist.safetensors").get("words")
    if words is None or words.ndim != 2 or len(words) != len(vocabulary.source) + 1 or words.is_floating_point():
        raise InputError(f"{run.folder}/shortlist.safetensors: not the shortlist of this vocabulary")
    return words.clamp(-1, len(vocabulary.target) - 1).to(torch.int32).numpy()


def translate(
    run: str | Path | Trained, texts: Sequence[str] | str, *, beam: int = 0, n_best: int = 1
) -> list[Translated]:
    """Translate sentences or longer texts with a trained run."""
    trained = run if isinstance(run, Trained) else open_run(run)
    return trained.translator.translate([texts] if isinstance(texts, str) else texts, trained.search(beam, n_best))


@dataclass(frozen=True)
class Evaluation:
    """How good a run is on data it has not seen."""

    pairs: int
    loss: float
    perplexity: float
    bleu: float
    chrf: float
    tokenised: float
    exact: float
    signatures: dict[str, str]
    by_length: list[Bin]
    seconds: float
    sources: list[str]
    translations: list[str]
    references: list[str]


def evaluate(
    run: str | Path | Trained,
    *,
    on: str = "",
    split: Split = "test",
    beam: int = 0,
    like: Trained | None = None,
    tell: Callable[[int, int], None] = lambda *_: None,
) -> Evaluation:
    """Score a run on its own test data (validation data, if it has none), on other files, or `like` another run."""
    trained = run if isinstance(run, Trained) else open_run(run)
    pairs, split = _pairs(like or trained, on, split)
    read = list(pairs.read(split))
    if not read:
        raise InputError(f"no {split} pairs to evaluate on; name files with --on")
    sources, references = [source for source, _ in read], [target for _, target in read]
    order = sorted(range(len(read)), key=lambda row: -len(sources[row]))  # like lengths together
    start, translations, search = time.perf_counter(), [""] * len(read), trained.search(beam)
    translator = trained.translator
    portion = translator.portion(search)
    for place in range(0, len(read), portion):
        rows = order[place : place + portion]
        for row, found in zip(rows, translator.translate([sources[row] for row in rows], search), strict=True):
            translations[row] = found.text
        tell(min(place + len(rows), len(read)), len(read))
    seconds = time.perf_counter() - start
    corpus = encode(pairs, translator.vocabulary, split, 2 * translator.longest)
    loss = held_loss(trained.model, Batches(corpus, 4096, 0)) if len(corpus) else float("nan")
    scores = score(translations, references)
    same = sum(one == other for one, other in zip(translations, references, strict=True))
    return Evaluation(
        pairs=len(read),
        loss=loss,
        perplexity=float(torch.tensor(loss).exp()),
        bleu=scores.bleu,
        chrf=scores.chrf,
        tokenised=scores.tokenised,
        exact=same / len(read),
        signatures=scores.signatures,
        by_length=by_length(sources, translations, references),
        seconds=seconds,
        sources=sources,
        translations=translations,
        references=references,
    )


def _pairs(trained: Trained, on: str, split: Split) -> tuple[Pairs, Split]:
    pairs: Pairs = wanted(trained.recipe.data, "data").build()
    if on:
        return Files(train=on, test=on, source=pairs.source, target=pairs.target), "test"
    if split == "test" and next(iter(pairs.read("test")), None) is None:
        return pairs, "valid"
    return pairs, split

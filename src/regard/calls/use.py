"""What is done with a trained run, as calls: evaluate, translate, generate, score, classify, restore, look."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from regard import verbs
from regard.calls.hearing import work_heard
from regard.datasets.data import Split
from regard.datasets.images.asked import Given
from regard.listener import Listener
from regard.looking.alignment import Alignment
from regard.looking.look import Look
from regard.markup import Answers
from regard.recipe.override import Override
from regard.tasks.classification import Classified
from regard.tasks.language.scorer import ScoredText
from regard.tasks.language.writing import Generated
from regard.tasks.restoration import Restored
from regard.tasks.task import Evaluation
from regard.tasks.translation import Translated
from regard.verbs import RunLike


def evaluate(
    run: RunLike,
    *overrides: Override,
    on: str | Path = "",
    split: Split | None = None,
    like: RunLike | None = None,
    beam: int = 0,
    device: str | None = None,
    int8: bool = False,
    progress: bool | None = None,
    listener: Listener | None = None,
) -> Evaluation:
    """Score a run on its own test data (validation data, if it has none), on other files, or `like` another run.

    `run` is a run folder, what `train` returned, or what `open_run` opened. `overrides` such as
    `"decoding.length_penalty=0.6"` and `beam` (1 is greedy, 0 as the recipe says) change how it answers; `device` is
    cpu, cuda, cuda:1 or auto, and `int8` makes it faster on a CPU. `print` shows the tables; `scores` and `facts()`
    are the figures, `scored` says what they are about (`scored.learnt`: whether it was trained on the files of `on`;
    None if that is unknown). `progress` shows how far it is: None does so in a notebook only.
    """
    with work_heard(progress, listener) as heard:
        return verbs.evaluate(
            run, *overrides, on=on, split=split, like=like, beam=beam, device=device, int8=int8, listener=heard
        )


def translate(
    run: RunLike,
    texts: str | Iterable[str],
    *overrides: Override,
    beam: int = 0,
    n_best: int = 1,
    device: str | None = None,
    int8: bool = False,
    split: bool | None = None,
    progress: bool | None = None,
    listener: Listener | None = None,
) -> Answers[Translated]:
    """Translate a text or several, of any length, with a trained run: as many answers, in their order.

    `beam` is the number of hypotheses (1 is greedy, 0 as the recipe says), `n_best` how many of them are returned;
    `overrides` such as `"decoding.length_penalty=0.6"` change what else the recipe says of answering. `device` is cpu,
    cuda, cuda:1 or auto, and `int8` makes it faster on a CPU. `split` translates sentence by sentence, or not; None
    does so where the run learnt from single sentences. `progress` shows how far it is: None does so in a notebook
    only. A translation that ended only because it may not become longer is `cut_short`.
    """
    with work_heard(progress, listener) as heard:
        return Answers(
            verbs.translate(
                run, texts, *overrides, beam=beam, n_best=n_best, device=device, int8=int8, split=split, listener=heard
            )
        )


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
    progress: bool | None = None,
    listener: Listener | None = None,
) -> Answers[Generated]:
    """Go on with a text or several, with a trained language model: `samples` texts for each, in their order.

    At most `tokens` are written, up to one of the texts in `stop`; `overrides` such as `"decoding.temperature=0.7"` or
    `"decoding.kind=greedy"` say how they are chosen. Where the context is full a text ends (`why` says so), or, with
    `slide`, forgets its older half and goes on. `text` is what was written, `tokens` each token with its log p.
    `draft` is a smaller run of the same vocabulary, or the run itself (its guesses are made in eight bits on a CPU),
    that guesses `draft_tokens` at a time (0 adapts): the probability of every text stays the same, texts are written
    one after another, and `drafted` counts the guesses that stood.
    """
    with work_heard(progress, listener) as heard:
        return Answers(
            verbs.generate(
                run,
                prompts,
                *overrides,
                tokens=tokens,
                samples=samples,
                stop=stop,
                slide=slide,
                draft=draft,
                draft_tokens=draft_tokens,
                device=device,
                int8=int8,
                listener=heard,
            )
        )


def score(
    run: RunLike,
    texts: str | Iterable[str],
    *,
    ended: bool = False,
    device: str | None = None,
    int8: bool = False,
    progress: bool | None = None,
    listener: Listener | None = None,
) -> Answers[ScoredText]:
    """How likely texts are to a trained language model: `log_prob` of each, and of every token given those before it.

    Texts of any length; `ended` counts that a text ends where it does. `per_token` compares texts of different
    lengths, `bits_per_byte` models with different vocabularies.
    """
    with work_heard(progress, listener) as heard:
        return Answers(verbs.score(run, texts, ended=ended, device=device, int8=int8, listener=heard))


def classify(
    run: RunLike,
    images: Given | Iterable[Given],
    *,
    top: int = 3,
    show: str | Path | None = None,
    overwrite: bool = False,
    device: str | None = None,
    int8: bool = False,
    progress: bool | None = None,
    listener: Listener | None = None,
) -> Answers[Classified]:
    """What images show: the `top` likeliest classes of each with their probabilities, in their order.

    An image is a file, its pixels as bytes (rows × columns × channels), or several at once: a folder, an archive, a
    pattern such as `"photos/*.jpg"`. `show` draws where the model looked: a picture, or a folder for those of many;
    one that is there already is kept unless `overwrite` is said.
    """
    with work_heard(progress, listener) as heard:
        return Answers(
            verbs.classify(
                run, images, top=top, show=show, overwrite=overwrite, device=device, int8=int8, listener=heard
            )
        )


def restore(
    run: RunLike,
    images: Given | Iterable[Given],
    *,
    out: str | Path | None = None,
    show: str | Path | None = None,
    corrupt: bool = False,
    overwrite: bool = False,
    device: str | None = None,
    progress: bool | None = None,
    listener: Listener | None = None,
) -> Answers[Restored]:
    """Images without noise or whatever else spoilt them, as a trained restorer makes them out: `pixels` of each.

    Images are named as for `classify`, and may have any size. `out` is a folder for PNG files, or for one image a .png,
    and `show` the same for pictures of before and after; without, nothing is written. `corrupt` spoils images first, as
    those were that the run learnt from, to see what it can do.
    """
    with work_heard(progress, listener) as heard:
        return Answers(
            verbs.restore(
                run,
                images,
                out=out,
                show=show,
                corrupt=corrupt,
                overwrite=overwrite,
                device=device,
                listener=heard,
            )
        )


def align(run: RunLike, source: str, target: str = "", *, device: str | None = None) -> Alignment:
    """Where a translator looks while it writes `target`, or what it would write itself: words beside words."""
    return verbs.align(run, source, target, device=device)


def look(
    run: RunLike,
    text: Given,
    target: str = "",
    *,
    tokens: int = 0,
    device: str | None = None,
    progress: bool | None = None,
    listener: Listener | None = None,
) -> Look:
    """What a trained model looks at while it reads a text and writes its answer: every attention, every head, exactly.

    Of a translator `target` is what it is to have written, if not its own translation; a language model reads the text,
    and writes `tokens` more if asked to. Of a classifier `text` is an image, by its name or its pixels, and `target` a
    class, if not the likeliest. `print` shows the usual panel, `panel("cross.0.3")` is one head,
    `weights("cross", 0, 3)` its numbers, `save("x.png")` a picture; `heads()` measures all heads,
    `without("cross.0.3")` switches one off, and `influence` asks gradients, of models without attention too.
    """
    with work_heard(progress, listener) as heard:
        return verbs.look(run, text, target, tokens=tokens, device=device, listener=heard)

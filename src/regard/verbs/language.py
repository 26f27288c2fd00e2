"""What language models do: go on with texts, and say how likely they are."""

from collections.abc import Iterable, Sequence

from regard.decoding.checks import whole
from regard.decoding.compiled.machine_code import wanted
from regard.errors import InputError, RecipeError
from regard.listener import SILENT, Listener
from regard.recipe.override import Override
from regard.recipe.read import keys
from regard.tasks.language.generator import TextGenerator
from regard.tasks.language.scorer import ScoredText, Scorer
from regard.tasks.language.writing import Generated
from regard.trained import Trained
from regard.verbs.given import checked, named
from regard.verbs.runs import RunLike, answerer_of, opened

MOST_GUESSED = 64  # tokens at a time
MOST_SAMPLES = 4096  # of one prompt, as many as `regard generate` takes


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
    _check_number("tokens", tokens, 1)
    _check_number("samples", samples, 1, MOST_SAMPLES)
    check_draft(draft is not None, draft_tokens)
    generator = generator_of(opened(run, *overrides, device=device, int8=int8, listener=listener))
    if draft is not None:
        generator = drafted(generator, draft, draft_tokens, device, listener)
    found: dict[int, Generated] = {}
    for event in generator.stream(rows, tokens, samples=samples, stop=checked(stop), slide=slide):
        if isinstance(event, tuple):
            found[event[0]] = event[1]
            listener.at("writing", len(found), len(rows) * samples)
    return [found[place] for place in sorted(found)]


def _check_number(name: str, value: object, least: int, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        wanted = f"from {least}" + ("" if most is None else f" to {most:,}")
        raise InputError(f"{name}: wanted a whole number {wanted}, given {named(value)}")


def check_draft(wanted: bool, tokens: int) -> None:
    """Refuse a number of guesses that cannot be, or that nobody makes."""
    try:
        whole("", tokens, 0, MOST_GUESSED)
    except ValueError as error:
        raise RecipeError("", call=f"draft_tokens{error}", flag=f"--draft-tokens{error}") from error
    if tokens and not wanted:
        raise RecipeError(
            "",
            call="draft_tokens: nobody guesses; say draft=RUN too, or leave this out",
            flag="--draft-tokens: nobody guesses; say --draft RUN too, or leave this out",
        )


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
    scorer.check(rows, several=len(rows) > 1)
    found: dict[int, ScoredText] = {}
    for number, one in scorer.score(rows):
        found[number] = one
        listener.at("scoring", len(found), len(rows))
    return [found[number] for number in range(len(rows))]


def sampling_keys(greedy: bool, overrides: Sequence[Override] = (), **chosen: int | float | None) -> list[str]:
    """What words about chance ask of a recipe's decoding; a temperature of 0 is no chance at all.

    Nothing that is said is passed over: what would have no effect beside the rest, or is also said by a key, is
    refused. Which values an option may have is for the recipe to say.
    """
    said = {name: value for name, value in chosen.items() if value is not None}
    if not said and not greedy:
        return []
    certain = greedy or said.get("temperature") == 0
    if certain:
        word, kept = ("--greedy", ()) if greedy else ("--temperature 0", ("temperature",))
        idle = [name for name in said if name not in ("repetition_penalty", *kept)]
        if idle:
            raise RecipeError(f"{word} leaves nothing to chance: leave out {', '.join(map(_flag, idle))}, or {word}")
        said = {name: value for name, value in said.items() if name not in kept}
    other = set(keys(overrides))
    for name in said:
        if f"decoding.{name}" in other:
            raise RecipeError(f"decoding.{name}: said twice; leave this key out, or {_flag(name)}")
    if certain and "decoding.kind" in other:
        raise RecipeError(f"decoding.kind: said twice; leave this key out, or {word}")
    kind = "greedy" if certain else "sample"
    return [f"decoding.kind={kind}", *(f"decoding.{name}={value}" for name, value in said.items())]


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def generator_of(run: RunLike) -> TextGenerator:
    """What writes, if that is a language model."""
    return answerer_of(run, TextGenerator, "language model")

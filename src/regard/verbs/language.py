"""What language models do: go on with texts, and say how likely they are."""

from collections.abc import Iterable, Sequence

from regard.decoding.compiled.machine_code import wanted
from regard.errors import InputError, RecipeError
from regard.listener import SILENT, Listener
from regard.recipe.override import Override
from regard.tasks.language.generator import TextGenerator
from regard.tasks.language.scorer import ScoredText, Scorer
from regard.tasks.language.writing import Generated
from regard.trained import Trained
from regard.verbs.given import checked, named
from regard.verbs.runs import RunLike, answerer_of, opened

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
    _check_number("draft_tokens", draft_tokens, 0)
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
    return answerer_of(run, TextGenerator, "language model")

"""The same search with another number of hypotheses."""

from collections.abc import Mapping
from typing import Any

from regard.decoding.beam import Beam
from regard.decoding.checks import MOST_HYPOTHESES, whole
from regard.decoding.sample import Greedy, OneByOne
from regard.decoding.search import Search
from regard.errors import InputError

USUAL = 5
SHARED = ("min_length", "no_repeat_ngram_size")
ALONE, BESIDE = "repetition_penalty", "length_penalty"  # what greedy search has besides, and a beam


def resized(search: Search, beam: int, n_best: int = 1) -> Search:
    """A beam of that size (1 is greedy, 0 as many as now) with `n_best` answers; all else stays."""
    check_sizes(beam, n_best)
    if not beam and n_best == 1:
        return search
    now = search.beam_size if isinstance(search, Beam) else USUAL
    size = max(beam or now, n_best)
    if size == 1:
        return Greedy(
            repetition_penalty=search.repetition_penalty if isinstance(search, OneByOne) else 1.0,
            min_length=search.min_length,
            no_repeat_ngram_size=search.no_repeat_ngram_size,
        )
    return Beam(
        beam_size=size,
        length_penalty=search.length_penalty if isinstance(search, Beam) else 1.0,
        n_best=n_best,
        min_length=search.min_length,
        no_repeat_ngram_size=search.no_repeat_ngram_size,
    )


def check_sizes(beam: int, n_best: int = 1) -> None:
    """Refuse, in the words of whoever asked, what no beam can be."""
    why = "every hypothesis of a text is scored at every step, and beams over 50 seldom find anything better"
    for call, flag, value, least in (("beam", "--beam", beam, 0), ("n_best", "--n-best", n_best, 1)):
        try:
            whole(call, value, least, MOST_HYPOTHESES)
        except ValueError as error:
            large = f" ({why})" if isinstance(value, int) and value > MOST_HYPOTHESES else ""
            told = str(error).removeprefix(call) + large
            raise InputError("", call=call + told, flag=flag + told) from error
    if beam and n_best > beam:
        raise InputError(
            "",
            call=f"n_best={n_best}: a beam of {beam} has no {n_best} best; say beam={n_best}",
            flag=f"--n-best {n_best}: a beam of {beam} has no {n_best} best; say --beam {n_best}",
        )


def beam_keys(decoding: Mapping[str, Any], beam: int) -> list[str]:
    """The same as keys of a recipe, given what its section says now."""
    check_sizes(beam)
    if not beam:
        return []
    keys = ["decoding.kind=greedy"]
    if beam > 1:
        keys = ["decoding.kind=beam", f"decoding.beam_size={beam}", "decoding.n_best=1"]
    stays = (*SHARED, ALONE if beam == 1 else BESIDE)
    return keys + [f"decoding.{key}={decoding[key]}" for key in stays if key in decoding]

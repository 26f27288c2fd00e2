"""CTranslate2 as a peer: it decodes with the weights of the Marian peer."""

from collections.abc import Callable
from copy import deepcopy
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any, Literal

import torch

from peers.marian import marian_of
from peers.shared import count
from regard.measuring.sizes import DecodingWork, IdPairs, Ids, TransformerShape

Precision = Literal["float32", "int8"]


class Names:
    """All that the converter asks of a tokenizer; a token is named by its number."""

    def __init__(self, pairs: IdPairs) -> None:
        self.size = pairs.vocab_size
        self.bos_token, self.eos_token = str(pairs.bos), str(pairs.eos)
        # It wants a name for unknown tokens; there are none, so any word will do.
        self.unk_token = str(next(i for i in range(self.size) if i not in (pairs.pad, pairs.bos, pairs.eos)))

    def get_vocab(self) -> dict[str, int]:
        return {str(number): number for number in range(self.size)}

    def convert_ids_to_tokens(self, number: int) -> str:
        return str(number)


def translator(model: Any, pairs: IdPairs, precision: Precision, abreast: bool = False) -> Any:
    """A Marian model as CTranslate2 opens it: all threads on one batch, as is its default, or each on its own.

    Its converter for Bart takes the model as it stands; the one for Marian would leave out the
    last word of the vocabulary and start from a vector of zeros instead of the begin's own.
    """
    ctranslate2: Any = import_module("ctranslate2")
    converters: Any = import_module("ctranslate2.converters.transformers")
    model = deepcopy(model)  # making int8 of it changes its weights in place
    model.config.normalize_before = model.config.normalize_embedding = False
    with torch.no_grad(), TemporaryDirectory() as folder:
        spec = converters.BartLoader()(model, Names(pairs))
        spec.validate()
        spec.optimize(quantization=precision)
        spec.save(folder)
        threads = torch.get_num_threads()
        inter, intra = (threads, 1) if abreast else (1, threads)
        return ctranslate2.Translator(folder, compute_type=precision, inter_threads=inter, intra_threads=intra)


def prepare_ctranslate2_decoding(
    pairs: IdPairs, shape: TransformerShape, work: DecodingWork, precision: Precision, abreast: bool = False
) -> Callable[[], int]:
    model = marian_of(pairs, shape, work)
    return count(ctranslate2_answers(pairs, work, translator(model, pairs, precision, abreast)))


def ctranslate2_answers(pairs: IdPairs, work: DecodingWork, opened: Any) -> Callable[[], list[Ids]]:
    """All sources; it sorts them by length itself and answers in their order."""
    sources = [[str(number) for number in (*source, pairs.eos)] for source, _ in pairs.pairs]

    def answers() -> list[Ids]:
        results = opened.translate_batch(
            sources,
            max_batch_size=work.rows,
            beam_size=work.beam,
            min_decoding_length=work.least,
            max_decoding_length=work.most,
        )
        return [[int(name) for name in result.hypotheses[0]] for result in results]

    return answers

"""What Regard does in one turn of a measurement: steps of training, sentences decoded.

These calls are stable: `benchmarks/beside.py` makes them in any tree of Regard, old or new.
Each prepares its work and gives a callable that does one turn and returns how many tokens that was.
Nothing else of this room touches data, tasks or decoding.
"""

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from regard.allocator import keep_memory
from regard.datasets.data import Report
from regard.datasets.encode import Encoded, encode
from regard.datasets.files import Files
from regard.datasets.numbers import Numbers
from regard.datasets.pairs import Pairs
from regard.datasets.rows import Rows
from regard.datasets.tokenizer import Bpe
from regard.decoding.beam import Beam
from regard.decoding.engine import Engine
from regard.decoding.request import Request
from regard.decoding.sample import Greedy
from regard.decoding.search import Search
from regard.measuring.sizes import DecodingWork, GptShape, IdPairs, TrainingWork, TransformerShape
from regard.model.assembly import LanguageModel, Seq2Seq
from regard.model.build import build
from regard.model.quantize import quantize
from regard.tasks.translation.batches import PairBatches
from regard.tasks.translation.loss import translation_loss
from regard.tasks.translation.shortlist import Shortlist
from regard.tasks.translation.tokenizers import SpecialIds, TokenizerPair

Work = Callable[[], int]


def id_pairs(data: str, test: str, languages: tuple[str, str], vocab_size: int) -> tuple[IdPairs, IdPairs]:
    """Training and test pairs of NAME.de and NAME.en, or of built-in numbers if no name is given, as ids."""
    pairs: Pairs
    source, target = languages
    if data:
        share = 0.0 if test else 0.03
        pairs = Files(train=data, test=test, source=source, target=target, valid_share=0.0, test_share=share)
    else:
        pairs = Numbers(source=source, target=target)
    both = TokenizerPair.train(pairs, Bpe(vocab_size=vocab_size))
    ids, made = both.ids, list[IdPairs]()
    for split in ("train", "test"):
        held = encode(pairs, split, (both.source, both.target)).within(100, "over 100 tokens")
        rows = [(held.sides[0].row(i).tolist(), held.sides[1].row(i).tolist()) for i in range(len(held))]
        made.append(IdPairs(rows, len(both.source), ids.pad, ids.bos, ids.eos))
    return made[0], made[1]


def training_step_work(pairs: IdPairs, shape: TransformerShape, work: TrainingWork) -> Work:
    """Whole training steps of a translator: forward, backward, clip, AdamW. Real tokens of both sides are counted."""
    keep_memory()
    torch.manual_seed(work.seed)
    model = _translator(pairs, shape).train()
    batches = PairBatches(_corpus(pairs), _special(pairs), work.tokens, work.seed)
    chosen = [batches[step] for step in range(work.steps)]
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)

    def turn() -> int:
        for batch in chosen:
            optimizer.zero_grad(set_to_none=True)
            (translation_loss(model, batch).total / batch.predictions).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        return sum(batch.size for batch in chosen)

    return turn


def decoding_work(
    pairs: IdPairs,
    shape: TransformerShape,
    work: DecodingWork,
    int8: bool = False,
    shortlist_from: IdPairs | None = None,
) -> Work:
    """All sources translated with random weights; a shortlist of words is learnt from other pairs, if given."""
    keep_memory()
    torch.manual_seed(1)
    model = _translator(pairs, shape).eval()
    if int8:
        quantize(model)
    words = None
    if shortlist_from is not None:
        words = Shortlist.learn(_corpus(shortlist_from), shortlist_from.vocab_size, shortlist_from.vocab_size)
    search: Search = (
        Greedy(min_length=work.least) if work.beam == 1 else Beam(beam_size=work.beam, min_length=work.least)
    )
    ids = _special(pairs)
    engine = Engine(
        model,
        search,
        stop_tokens=[ids.eos],
        forbidden=ids.never_written,
        rows=work.rows * work.beam,
        shortlist=None if words is None else lambda some: words.candidates(request.source or () for request in some),
    )
    sources = [[*source, ids.source_eos] for source, _ in pairs.pairs]
    requests = [Request([ids.bos], source, work.most, number) for number, source in enumerate(sources)]
    return lambda: sum(len(found[0].tokens) for found in engine.write(requests))


def gpt_step_work(shape: GptShape) -> Work:
    """One training step of a GPT: forward, backward, AdamW."""
    keep_memory()
    decoder = {
        "kind": "transformer",
        "layers": shape.layers,
        "attention": {"kind": "multihead", "heads": shape.heads, "bias": False},
        "positions": {"kind": "learned", "limit": shape.length},
        "norm": {"kind": "layer", "bias": False},
        "mlp": {"kind": "gelu", "bias": False},
    }
    table = {"kind": "language_model", "vocab_size": shape.vocab_size, "width": shape.width, "decoder": decoder}
    model = build({"model": table})
    assert isinstance(model, LanguageModel)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    tokens, labels = torch.randint(shape.vocab_size, (2, shape.batch, shape.length))

    def turn() -> int:
        F.cross_entropy(model(tokens).flatten(0, 1), labels.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return shape.batch * shape.length

    return turn


def _translator(pairs: IdPairs, shape: TransformerShape) -> Seq2Seq:
    stack = {
        "kind": "transformer",
        "layers": shape.layers,
        "attention": {"kind": "multihead", "heads": shape.heads},
        "residual": "post",
        "mlp": {"kind": "relu", "hidden": shape.hidden},
    }
    table = {
        "kind": "seq2seq",
        "source_vocab_size": pairs.vocab_size,
        "target_vocab_size": pairs.vocab_size,
        "width": shape.width,
        "tie_embeddings": "all",
        "embedding_scale": "root",
        "head_bias": False,
        "encoder": stack,
        "decoder": stack | {"cross": {"kind": "multihead", "heads": shape.heads}},
    }
    model = build({"model": table})
    assert isinstance(model, Seq2Seq)
    return model


def _corpus(pairs: IdPairs) -> Encoded:
    sides = tuple(Rows.of([pair[side] for pair in pairs.pairs]) for side in (0, 1))
    return Encoded(sides, np.arange(len(pairs.pairs)), Report(len(pairs.pairs)))


def _special(pairs: IdPairs) -> SpecialIds:
    return SpecialIds(pairs.pad, pairs.eos, pairs.pad, pairs.bos, pairs.eos, (pairs.pad, pairs.bos))

"""Translation beside its peers: training steps, and decoding with every answer of one length."""

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import torch
from torch import nn

from regard.allocator import keep_memory
from regard.bench.gpt import product
from regard.bench.peers import Corpus, Decoding, Shape, Training, count, prepare_keeping_memory
from regard.bench.workers import Peer, Turns, take_turns
from regard.data.batches import Batches
from regard.data.corpus import Corpus as Held
from regard.data.corpus import Rows, Vocabulary, encode
from regard.data.pairs import Pairs
from regard.data.shortlist import shortlist
from regard.data.tokens import BEGIN, END, PAD, Bpe
from regard.decoding.beam import Beam
from regard.decoding.sample import Greedy
from regard.decoding.search import Search
from regard.model.assembly import Seq2Seq
from regard.model.build import build
from regard.model.int8 import rounded
from regard.tasks.translation import translation_loss
from regard.tasks.translator import Scribe

Tell = Callable[[str], None]


def corpora(pairs: Pairs, vocabulary: int) -> tuple[Corpus, Corpus]:
    """Training and test pairs as ids, the same for every peer."""
    both = Vocabulary.learn(pairs, Bpe(size=vocabulary))
    made = []
    for split in ("train", "test"):
        held = encode(pairs, both, split, 100)
        rows = [(held.source.row(i).tolist(), held.target.row(i).tolist()) for i in range(len(held))]
        made.append(Corpus(rows, len(both.source), PAD, BEGIN, END))
    return made[0], made[1]


def bench_training(
    corpus: Corpus, shape: Shape, training: Training, *, rounds: int, names: list[str], tell: Tell
) -> list[Turns]:
    """Whole training steps in real tokens a second, round by round."""
    from regard.bench.peer_joeynmt import prepare_joeynmt_training
    from regard.bench.peer_marian import prepare_marian_training
    from regard.bench.peer_torch import prepare_torch_training

    given = (corpus, shape, training)
    known = {
        "torch": Peer("nn.Transformer", prepare_torch_training, given),
        "torch-kept": Peer("nn.Transformer, memory kept", prepare_keeping_memory, (prepare_torch_training, *given)),
        "marian": Peer("HF Marian", prepare_marian_training, given),
        "joeynmt": Peer("JoeyNMT", prepare_joeynmt_training, given),
    }
    peers = [Peer("regard", prepare_regard_training, given), *(known[name] for name in names if name in known)]
    return take_turns([*peers, Peer("matrix product", product)], rounds, tell, warm=1)


def bench_decoding(
    corpus: Corpus, table: Corpus, shape: Shape, decoding: Decoding, *, rounds: int, names: list[str], tell: Tell
) -> list[Turns]:
    """All sources of a corpus, every answer forced to one length; `table` is what the shortlist is learnt from."""
    from regard.bench.peer_ctranslate2 import prepare_ctranslate2_decoding
    from regard.bench.peer_joeynmt import prepare_joeynmt_decoding
    from regard.bench.peer_marian import prepare_marian_decoding

    given = (corpus, shape, decoding)
    known = {
        "marian": [Peer("HF Marian", prepare_marian_decoding, given)],
        "ctranslate2": [
            Peer("CTranslate2 float32", prepare_ctranslate2_decoding, (*given, "float32")),
            Peer("CTranslate2 int8", prepare_ctranslate2_decoding, (*given, "int8")),
            Peer("CTranslate2 float32, abreast", prepare_ctranslate2_decoding, (*given, "float32", True)),
            Peer("CTranslate2 int8, abreast", prepare_ctranslate2_decoding, (*given, "int8", True)),
        ],
        "joeynmt": [Peer("JoeyNMT", prepare_joeynmt_decoding, given)],
    }
    ours = [
        Peer("regard", prepare_regard_decoding, given),
        Peer("regard int8", prepare_regard_decoding, (*given, True)),
        Peer("regard int8 + shortlist", prepare_regard_decoding, (*given, True, table)),
    ]
    peers = [*ours, *(peer for name in names for peer in known.get(name, []))]
    return take_turns([*peers, Peer("matrix product", product)], rounds, tell, warm=1)


def installed() -> list[str]:
    """The peers that can be run here."""
    homes = {"torch": "torch", "marian": "transformers", "ctranslate2": "ctranslate2", "joeynmt": "joeynmt"}
    return [name for name, home in homes.items() if find_spec(home) is not None]


def prepare_regard_training(corpus: Corpus, shape: Shape, training: Training) -> Callable[[], int]:
    keep_memory()
    torch.manual_seed(training.seed)
    model = _model(corpus, shape).train()
    batches = Batches(_held(corpus), training.tokens, training.seed)
    chosen = [batches[step] for step in range(training.steps)]
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)

    def turn() -> int:
        for batch in chosen:
            optimizer.zero_grad(set_to_none=True)
            (translation_loss(model, batch).total / batch.targets).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        return sum(batch.tokens for batch in chosen)

    return turn


def prepare_regard_decoding(
    corpus: Corpus, shape: Shape, decoding: Decoding, int8: bool = False, table: Corpus | None = None
) -> Callable[[], int]:
    keep_memory()
    torch.manual_seed(1)
    model = _model(corpus, shape).eval()
    if int8:
        rounded(model)
    words = None if table is None else shortlist(_held(table), table.vocabulary, table.vocabulary)
    scribe = Scribe(model, decoding.rows * decoding.beam, (0, decoding.most), words)
    least = {"shortest": decoding.least}
    search: Search = Greedy(**least) if decoding.beam == 1 else Beam(size=decoding.beam, **least)
    sources = [source for source, _ in corpus.pairs]
    return count(lambda: [found[0].tokens for found in scribe.write(sources, search)])


def _model(corpus: Corpus, shape: Shape) -> Seq2Seq:
    stack = {
        "kind": "transformer",
        "layers": shape.layers,
        "attention": {"kind": "multihead", "heads": shape.heads},
        "residual": "post",
        "mlp": {"kind": "relu", "hidden": shape.hidden},
    }
    table = {
        "kind": "seq2seq",
        "source_vocab_size": corpus.vocabulary,
        "target_vocab_size": corpus.vocabulary,
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


def _held(corpus: Corpus) -> Held:
    sides = []
    for side in (0, 1):
        rows = [pair[side] for pair in corpus.pairs]
        ids = np.array([word for row in rows for word in row], np.int64)
        sides.append(Rows(ids, np.cumsum([0, *map(len, rows)], dtype=np.int64)))
    return Held(sides[0], sides[1])

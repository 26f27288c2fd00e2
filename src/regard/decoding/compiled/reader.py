"""Sources read by the machine code: only what is real of them, sentence behind sentence, nothing is padded."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.decoding.compiled.caller import Caller
from regard.decoding.compiled.machine_code import Code
from regard.decoding.compiled.plan import Plan, embedding_of
from regard.decoding.compiled.product import run_product
from regard.decoding.compiled.shape import heads_of
from regard.decoding.compiled.weights import NotCoveredError, Weights, need
from regard.model.assembly import Seq2Seq
from regard.model.attention import Multihead
from regard.model.attention.attention import split
from regard.model.memory import KeysValues, Memory, Past, SourceKeysValues
from regard.model.positions import Where
from regard.model.precision import is_rounded
from regard.model.transformer import TransformerDecoder, TransformerEncoder

CPU = torch.device("cpu")
AT_ONCE = 512  # positions of whole sentences: what they need on the way stays near
LONGEST = 2048  # positions of a sentence; torch's attention is made for longer ones


class Reader:
    """An encoder, and the keys and values that a decoder makes of what it says, as the machine code sees them."""

    def __init__(self, code: Code, model: Seq2Seq) -> None:
        encoder, decoder = model.encoder, model.decoder
        self._embedding = embedding_of(model.source)
        self._plan = Plan(encoder, self._embedding.table.embedding_dim)
        need(type(decoder) is TransformerDecoder)
        assert isinstance(encoder, TransformerEncoder)
        assert isinstance(decoder, TransformerDecoder)
        need(encoder.pattern.hides_nothing and encoder.read is None)
        self._decoder, self._code, self._caller = decoder, code, Caller(code, self._plan)
        self._crosses = [cross_of(layer.cross) for layer in decoder.layers]
        self._weights = Weights()
        self._matrices = np.array([self._matrix(cross) for cross in self._crosses])
        self._heads, self.cross = heads_of(decoder.layers[0].attention), heads_of(self._crosses[0])

    @property
    def remembers_all(self) -> bool:
        """Whether the decoder keeps every key and value, and sees them all."""
        return all(type(entry) is KeysValues for entry in self._decoder.begin(1).layers)

    def start(self, source: Int[Tensor, "B S"], lengths: Int[Tensor, "B"]) -> Memory | None:
        """The memory before the first step; None, and nothing done, where only torch can do this."""
        try:
            need(not torch.is_grad_enabled() and not is_rounded(CPU) and self._plan.holds)
            need(not self._plan.weights.moved and not self._weights.moved)
            need(source.shape[1] <= LONGEST and bool((lengths > 0).all()))
            x = self._embedded(source)
        except NotCoveredError:
            return None
        self.pack()
        counts = lengths.tolist()
        padding = Padding(source.shape[1], counts)
        states = self._caller.read(padding.without(x), counts, AT_ONCE)
        read = [self._remembered(number, states, padding) for number in range(len(self._crosses))]
        memory = self._decoder.begin(len(source), read, lengths)
        for entry in memory.layers:
            if isinstance(entry, Past):
                entry.make_room((len(source), self._heads.groups, self._heads.width))
        return memory

    def read(self, source: Sequence[int]) -> Float[Tensor, "L S C"]:
        """What every layer of the decoder makes of one sentence: keys of all heads, and values behind them.

        Weights must be packed; NotCoveredError where only torch can do this.
        """
        need(self._plan.holds and len(source) <= LONGEST)
        x = self._embedded(torch.tensor([source]))
        states = self._caller.read(x.flatten(0, 1), [len(source)], AT_ONCE)
        made = torch.empty(len(self._crosses), len(source), 2 * self.cross.groups * self.cross.width)
        for matrix, out in zip(self._matrices, made, strict=True):
            run_product(self._code, matrix, states, out)
        return made

    def _embedded(self, source: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        x = self._plan.positions.embed(self._embedding(source), Where(0, source.shape[1]))
        need(x.dtype == torch.float32)
        return x

    def pack(self) -> None:
        """Have all weights packed, anew where they were changed."""
        self._plan.pack()
        self._weights.pack(self._matrices)

    def _matrix(self, cross: Multihead) -> list[int]:
        inside = 2 * cross.kv_heads * heads_of(cross).width
        return self._weights.matrix(cross.key_value, inside, self._plan.width)

    def _remembered(self, number: int, states: Float[Tensor, "N D"], padding: "Padding") -> SourceKeysValues:
        """Keys and values of one layer, zeros where sentences are shorter than the longest."""
        cross, linear = self._crosses[number], self._crosses[number].key_value
        made = torch.empty(len(states), int(linear.out_features))
        run_product(self._code, self._matrices[number], states, made)
        keys, values = padding.added(made).chunk(2, -1)
        return SourceKeysValues(split(keys, cross.kv_heads), split(values, cross.kv_heads))


class Padding:
    """What is not real of sentences that are rows of one length. Where nothing is, nothing is copied.

    Torch would share that out among threads of its own, which then spin on the cores that the machine code needs.
    """

    def __init__(self, longest: int, lengths: list[int]) -> None:
        self._rows, whole = len(lengths), min(lengths) == longest
        self._real = None if whole else torch.arange(longest) < torch.tensor(lengths)[:, None]

    def without(self, x: Float[Tensor, "B S D"]) -> Float[Tensor, "N D"]:
        """Sentence behind sentence."""
        return x.flatten(0, 1) if self._real is None else x[self._real]

    def added(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "B S D"]:
        """Sentences as rows, zeros behind them."""
        if self._real is None:
            return x.view(self._rows, -1, x.shape[1])
        padded = x.new_zeros(*self._real.shape, x.shape[1])
        padded[self._real] = x
        return padded


def cross_of(cross: nn.Module | None) -> Multihead:
    """Exactly multi-head attention, which nobody has hooked into."""
    need(type(cross) is Multihead)
    assert isinstance(cross, Multihead)
    need(not any(part._forward_hooks or part._forward_pre_hooks for part in cross.modules()))
    return cross

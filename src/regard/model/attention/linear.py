"""Linear attention."""

from functools import partial
from typing import Annotated, Literal

import torch
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.attention.attention import NOWHERE, Attention, Site, divide, fold, split, unfold
from regard.model.attention.features import FeatureMap
from regard.model.attention.kernels.naive import ALL
from regard.model.attention.kernels.running import running
from regard.model.attention.kernels.segments import Packed, blank
from regard.model.attention.view import View
from regard.model.mask import Mask
from regard.model.memory import Entry, Held
from regard.model.options import Bias, Heads
from regard.model.positions import Places
from regard.model.precision import as_it_is, fitting, wide
from regard.model.watch import Glance
from regard.recipe import Part, choose


class LinearAttention(Attention):
    """A feature map takes the place of the softmax, so keys and values can be summed up first.

    φ(Q)(φ(K)ᵀV) / φ(Q)φ(K)ᵀ1: O(n·d²) time, a d×d state to go on from [N0:108-116;
    Katharopoulos et al. 2020]. Whether that is near softmax attention depends on φ: only `random` is.
    """

    hears = ()

    def __init__(
        self,
        site: Site,
        *,
        heads: Heads = 8,
        feature: Annotated[
            Part[FeatureMap], Doc("What makes queries and keys positive, in the place of the softmax of scores.")
        ] = choose("elu"),
        bias: Bias = True,
        kernel: Annotated[
            Literal["auto", "naive"], Doc("How it is computed: auto keeps running sums, naive forms every weight.")
        ] = "auto",
    ) -> None:
        super().__init__(site)
        if site.pattern.window is not None:
            raise ValueError(
                "a window cannot be cut out of linear attention's running sums; choose pattern full or causal"
            )
        width = divide(site.width, heads)
        self.heads, self.feature, self.kernel = heads, feature.build(width), kernel
        self.query = nn.Linear(site.width, heads * width, bias)
        self.key_value = nn.Linear(self.data_width, 2 * heads * width, bias)
        self.output = nn.Linear(heads * width, site.width, bias)
        self.out_width = site.width

    def ask(self, queries: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T F"]:
        return self.feature.queries(wide(split(self.query(queries), self.heads)))

    def read(self, data: Float[Tensor, "B S E"]) -> tuple[Float[Tensor, "B H S F"], Float[Tensor, "B H S C"]]:
        """Wide, so that they can be summed up."""
        keys, values = (wide(split(part, self.heads)) for part in self.key_value(data).chunk(2, -1))
        return self.feature.keys(keys), values

    def weigh(self, asked: Tensor, keys: Tensor, view: View, rows: slice) -> Float[Tensor, "B H t S"]:
        """The effective weights: φ(q_i)·φ(k_j) over their sum."""
        visible = view.visible(asked.shape[2], keys.shape[2], asked.device, rows)
        with as_it_is(asked.device):
            products = asked[:, :, rows] @ keys.mT * visible
        return _over(products, products.sum(-1))

    def mix(self, asked: Tensor, keys: Tensor, values: Tensor, view: View) -> Float[Tensor, "B H T C"]:
        with as_it_is(asked.device):
            return self._mix(asked, keys, values, view)

    def _mix(self, asked: Tensor, keys: Tensor, values: Tensor, view: View) -> Float[Tensor, "B H T C"]:
        mask = view.mask
        if self.kernel == "naive":
            return self.weigh(asked, keys, view, ALL) @ values
        if mask.segments is not None:
            packed = Packed(mask)
            rows = [packed.unpack(tensor) for tensor in (asked, keys, values)]
            return blank(packed.pack(self._mix(rows[0], rows[1], rows[2], View(packed.mask))), mask.query_lengths)
        keys = blank(keys, mask.key_lengths)
        if mask.causal:
            mixed, norm, *_ = running(asked, keys, values)
        else:
            mixed, norm = asked @ (keys.mT @ values), (asked @ keys.sum(2)[..., None]).squeeze(-1)
        return blank(_over(mixed, norm), mask.query_lengths)

    def answer(self, mixed: Float[Tensor, "B H T K"]) -> Float[Tensor, "B T D"]:
        answered: Tensor = self.output(fitting(super().answer(mixed), self.output))
        return answered

    def ends(self) -> list[Tensor]:
        return [self.output.weight]

    def start(self) -> Held:
        """The sums so far: two tensors, however long the past."""
        return Held()

    def remember(self, data: Float[Tensor, "B S E"], mask: Mask) -> Held:
        keys, values = self.read(data)
        keys = blank(keys, mask.key_lengths)
        kept = [keys] if self.tap.watched else []  # sums are enough to mix; only who watches needs the keys
        with as_it_is(keys.device):
            return Held(keys.mT @ values, keys.sum(2), *kept)

    def forward(
        self,
        queries: Float[Tensor, "B T D"],
        data: Float[Tensor, "B S E"] | None,
        mask: Mask,
        places: Places = NOWHERE,
        memory: Entry | None = None,
    ) -> Float[Tensor, "B T D"]:
        if not isinstance(memory, Held):
            return super().forward(queries, data, mask, places, memory)
        if not mask.causal:  # cross-attention to data summed up before
            sums, totals, *kept = memory.held
            asked = fold(self.ask(queries), len(sums))
            with as_it_is(asked.device):
                mixed, norm = asked @ sums, (asked @ totals[..., None]).squeeze(-1)
            mixed = self._heard(_over(mixed, norm), asked, kept, View(mask), True)
            return self.answer(unfold(mixed, len(queries)))
        asked, keys, values = self.both(queries)
        with as_it_is(asked.device):
            mixed, norm, *state = running(asked, keys, values, *memory.held[:2])
        kept = self._kept(keys, memory)
        memory.replace(*state, *kept)
        return self.answer(self._heard(_over(mixed, norm), asked, kept, _at_the_end(kept, mask)))

    def _kept(self, keys: Tensor, memory: Held) -> list[Tensor]:
        """All keys so far, kept beside the sums as long as somebody watches; whoever came later sees nothing."""
        if not self.tap.watched or (memory.held and not memory.held[2:]):
            return []
        return [torch.cat([*memory.held[2:], keys], 2)]

    def _heard(self, mixed: Tensor, asked: Tensor, kept: list[Tensor], view: View, across: bool = False) -> Tensor:
        """What the heads have to say, where sums stand for values; shown as far as keys were kept."""
        if self.tap.idle:
            return mixed
        for keys in kept:
            self.tap.show(Glance(asked, keys, None, mixed, partial(self._weigh, asked, keys, view), across=across))
        heard: Tensor = self.tap(mixed)
        return heard


def _at_the_end(kept: list[Tensor], mask: Mask) -> View:
    """Queries are the last of the keys."""
    at = [torch.arange(keys.shape[2], device=keys.device) for keys in kept]
    return View(mask, at=at[0] if at else None)


def _over(mixed: Float[Tensor, "B H T C"], norm: Float[Tensor, "B H T"]) -> Float[Tensor, "B H T C"]:
    """Divide by what the weights sum to; where nothing is seen, zero stays zero."""
    return mixed / norm.masked_fill(norm == 0, 1.0)[..., None]

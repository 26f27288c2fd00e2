"""One layer of a Transformer."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from regard.model.attention import Attention, Site
from regard.model.mask import Mask
from regard.model.mechanism import Block, Mechanism
from regard.model.memory import Entry
from regard.model.mlp import Mlp
from regard.model.norms import Norm
from regard.model.positions import Places
from regard.model.residual import Residual
from regard.recipe import Part


@dataclass(frozen=True)
class Kit:
    """The parts all layers of a stack are made from."""

    norm: Part[Norm]
    residual: Part[Residual]
    mlp: Part[Mlp]
    dropout: float
    stochastic_depth: float = 0.0
    layer_scale: float = 0.0

    def around(self, width: int, depth: float = 0.0) -> Residual:
        """Of a sub-layer so deep down: the last stands at 1."""
        around = self.residual.build(self.norm.build(width), self.dropout)
        around.skip(depth * self.stochastic_depth)
        if self.layer_scale:
            around.rescale(width, self.layer_scale)
        return around

    def closing(self, width: int) -> nn.Module:
        """What the stack ends with."""
        return self.residual.build(self.norm.build(width), self.dropout).closing()


class TransformerLayer(Block):
    """Self-attention, in a decoder cross-attention, and an MLP [N2:281-289, N2:662-668].

    Only attention moves anything between positions; norms and the MLP work on each alone [N3:144-145].
    """

    def __init__(
        self, site: Site, kit: Kit, attention: Part[Attention], cross: Attention | None = None, *, depth: float = 0.0
    ) -> None:
        super().__init__()
        self.attention, self.around_attention = attention.build(site), kit.around(site.width, depth)
        self.cross, self.around_cross = cross, kit.around(site.width, depth) if cross else None
        self.mlp, self.around_mlp = kit.mlp.build(site.width), kit.around(site.width, depth)
        self.adds = self.around_mlp.adds

    def ends(self) -> list[Tensor]:
        parts: list[Mechanism | None] = [self.attention, self.cross, self.mlp]
        return [end for part in parts if part is not None for end in part.ends()]

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Mask,
        places: Places,
        memory: Entry | None = None,
        source: "Reading | None" = None,
        *,
        read: int | None = None,
    ) -> Float[Tensor, "B t D"]:
        """Of all positions, or of the first so many that are `read` afterwards: the others save their work."""
        if read is None:
            x = self.around_attention(x, lambda y: self.attention(y, None, mask, places, memory))
        else:
            x = self._front(x, mask, places, read)
        if source is not None and self.cross is not None and self.around_cross is not None:
            cross = self.cross
            x = self.around_cross(x, lambda y: cross(y, source.data, source.mask, memory=source.memory))
        out: Tensor = self.around_mlp(x, self.mlp)
        return out

    def _front(self, x: Tensor, mask: Mask, places: Places, read: int) -> Float[Tensor, "B t D"]:
        """Self-attention of the first positions, which look at all."""
        around = self.around_attention
        seen = around.seen(x) if mask.hides_nothing else None
        if seen is None:
            whole: Tensor = around(x, lambda y: self.attention(y, None, mask, places))
            return whole[:, :read]
        front: Tensor = around(x[:, :read], lambda y: self.attention(y, seen, mask, places))
        return front


@dataclass(frozen=True)
class Reading:
    """What cross-attention reads: the source's vectors, or what was remembered of them."""

    data: Float[Tensor, "B S E"] | None
    mask: Mask
    memory: Entry | None = None

"""How the rows of a window are cut into blocks, and what each block is shown."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.attention.view import View
from regard.model.mask import Mask


class Plan:
    """How n rows are cut: edges before `start` and after `stop`, `count` blocks in between."""

    def __init__(self, mask: Mask, length: int, block: int, device: torch.device) -> None:
        assert mask.window is not None
        self.first, self.length, self.block, self.device = mask.first, length, block, device
        self.back = self._up(mask.window - 1)
        self.ahead = 0 if mask.causal else self.back
        self.start = self._up(self.back + mask.first)
        self.low = self.start - self.back
        self.count = (length - self.ahead - self.start) // block
        self.stop = self.start + self.count * block
        self.near = (self.back + self.ahead) // block  # neighbours beside the own block

    def _up(self, size: int) -> int:
        return -(-size // self.block) * self.block

    def reached(self, low: int, high: int) -> Int[Tensor, "S"]:
        """The keys shown to rows low to high: the global ones, and those near."""
        near = torch.arange(max(0, low - self.back), min(self.length, high + self.ahead), device=self.device)
        return near if low < self.start else torch.cat([torch.arange(self.first, device=self.device), near])

    def shown(self, view: View, like: Tensor, begin: int, end: int) -> Tensor:
        """The masks of some of the blocks, in the type of `like`, the queries."""
        moves = torch.arange(begin, end, device=self.device)[:, None] * self.block
        rows = torch.arange(self.start, self.start + self.block, device=self.device)
        columns = self.reached(self.start, self.start + self.block)
        return shown(view, rows + moves, columns + moves * (columns >= self.low), like)

    def spread(self, x: Float[Tensor, "B G T K"], begin: int, end: int) -> Float[Tensor, "N G S K"]:
        """To each of some blocks the keys it is shown."""
        flat, many = x.transpose(1, 2), end - begin
        at = self.low + begin * self.block
        blocks = flat[:, at : at + (many + self.near) * self.block].unflatten(1, (many + self.near, self.block))
        parts = [blocks[:, i : i + many] for i in range(self.near + 1)]
        parts.insert(0, flat[:, None, : self.first].expand(-1, many, -1, -1, -1))
        return torch.cat(parts, 2).flatten(0, 1).transpose(1, 2)

    def collect(self, total: Tensor, grad: Float[Tensor, "N G S K"], begin: int, end: int) -> None:
        """The way back of `spread`: what each block says of the keys it was shown is added up."""
        many = end - begin
        grad = grad.transpose(1, 2).unflatten(0, (len(total), many))
        at = self.low + begin * self.block
        blocks = total[:, at : at + (many + self.near) * self.block].unflatten(1, (many + self.near, self.block))
        for i, part in enumerate(grad[:, :, self.first :].split(self.block, 2)):
            blocks[:, i : i + many] += part
        total[:, : self.first] += grad[:, :, : self.first].sum(1)

    def cut(self, x: Float[Tensor, "B H T K"], begin: int, end: int) -> Float[Tensor, "N H t K"]:
        """Some of the blocks of queries, each a row of its own."""
        here = x[:, :, self.start + begin * self.block : self.start + end * self.block].transpose(1, 2)
        return here.reshape(-1, self.block, *x.shape[1::2]).transpose(1, 2)

    def paste(self, into: Float[Tensor, "B T H K"], blocks: Float[Tensor, "N H t K"], begin: int) -> None:
        """The way back of `cut`."""
        rows = blocks.transpose(1, 2).reshape(len(into), -1, *into.shape[2:])
        at = self.start + begin * self.block
        into[:, at : at + rows.shape[1]] = rows


def shown(view: View, rows: Int[Tensor, "N T"], columns: Int[Tensor, "N S"], like: Tensor) -> Tensor:
    """The masks of N blocks: one for all, unless padding or a slant towards global keys makes them differ."""
    mask = view.mask
    visible = mask.structure().dense(rows[0], columns[0])
    if mask.key_lengths is not None and not mask.pads_last:
        real = columns < mask.key_lengths[:, None, None]  # B N S
        visible = visible & real.flatten(0, 1)[:, None, None]
    bias = view.bias(rows, columns, like) if mask.first else view.bias(rows[0], columns[0], like)
    if bias is None:
        return visible
    bias = bias.repeat(len(like), 1, 1, 1) if len(bias) > 1 else bias
    return bias.masked_fill(~visible, float("-inf"))

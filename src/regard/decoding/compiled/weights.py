"""Tensors that the machine code reads by their addresses."""

from threading import Thread
from weakref import ref

import numpy as np
import torch
from torch import Tensor, nn

from regard.allocator import use_large_pages
from regard.decoding.compiled import layout as at
from regard.decoding.compiled.packing import Panels, Stated, panels, small, stand, wants_panels
from regard.model.head import SelectedRows
from regard.model.quantize import BLOCK, QuantizedLinear

Table = np.ndarray[tuple[int, int], np.dtype[np.int64]]


class NotCoveredError(Exception):
    """Torch has to do this."""


def need(covered: bool) -> None:
    """Where something is otherwise than the machine code takes it for, torch goes on."""
    if not covered:
        raise NotCoveredError


def _settle(places: list[tuple[int, int]], held: "ref[Weights]") -> None:
    use_large_pages(places, lambda: held() is not None)


class Weights:
    """Tensors that are held fast while their addresses are in use."""

    def __init__(self) -> None:
        self._tensors: list[Tensor] = []
        self._addresses: list[int] = []
        self._products: list[nn.Module] = []
        self.products = 0
        """Numbers of all matrices."""
        self._panels: list[Panels] = []
        self._stood: list[Stated] = []

    @property
    def moved(self) -> bool:
        """Whether one of them has its numbers elsewhere by now."""
        return [tensor.data_ptr() for tensor in self._tensors] != self._addresses

    def wants_panels(self, rows: int) -> bool:
        """Whether so many rows are multiplied by panels, if these weights have any; all of a model are alike."""
        return any(wants_panels(linear, rows) for linear in self._products[:1])

    def settle(self) -> None:
        """They will be read again and again; half a gigabyte takes a second to move, which no first token waits for."""
        places, held = [(tensor.data_ptr(), tensor.nbytes) for tensor in self._tensors], ref(self)
        Thread(target=_settle, args=(places, held), name="large pages", daemon=True).start()

    def address(self, tensor: Tensor | None, *shape: int, kind: torch.dtype = torch.float32) -> int:
        """Where a tensor begins: exactly of this type and shape, without gaps. None has the address 0."""
        if tensor is None:
            return 0
        plain = tensor.device.type == "cpu" and tensor.dtype == kind and tensor.is_contiguous()
        need(plain and tuple(tensor.shape) == shape and tensor.numel() > 0)
        self._tensors.append(tensor)
        self._addresses.append(tensor.data_ptr())
        return tensor.data_ptr()

    def pack(self, table: Table) -> None:
        """Say in a table of matrices where their panels are, unless all of them are too large to be held twice.

        Where all stand as they stood when this was said before, the table says it still.
        """
        now = [stand(linear) for linear in self._products]
        if now == self._stood:
            return
        self._stood = now
        made = [panels(linear) for linear in self._products] if small(self._products) else []
        self._panels = [each for each in made if each is not None]  # held fast, too
        found = {each.of.address: each.addresses for each in self._panels}
        for matrix in table:
            matrix[at.PACKED :] = found.get(int(matrix[0]), 0)

    def matrix(self, linear: nn.Module | None, outputs: int, inputs: int) -> list[int]:
        """Where weights, scales and bias of a product are, not packed; it must be of this size."""
        found = self._matrix(linear, outputs, inputs)
        assert linear is not None
        self._products.append(linear)
        self.products += outputs * inputs
        return [*found, *[0] * (at.MATRIX - at.PACKED)]

    def _matrix(self, linear: nn.Module | None, outputs: int, inputs: int) -> tuple[int, int, int]:
        need(linear is not None and not linear._forward_hooks and not linear._forward_pre_hooks)
        if isinstance(linear, QuantizedLinear):
            need(BLOCK == at.BLOCK)
            rows = self.address(linear.rows, outputs, inputs, kind=torch.int8)
            scales = self.address(linear.scales, outputs, -(-inputs // at.BLOCK))
            return rows, scales, self.address(linear.bias, outputs)
        need(type(linear) in (nn.Linear, SelectedRows))
        assert isinstance(linear, nn.Linear | SelectedRows)
        return self.address(linear.weight, outputs, inputs), 0, self.address(linear.bias, outputs)

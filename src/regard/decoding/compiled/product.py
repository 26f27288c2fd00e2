"""One product by the machine code: the head after a prompt, and those in eight bits of prompts and sources torch reads.

torch would write out all weights as numbers first, or round what comes in otherwise.
"""

from threading import local

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.machine_code import MACHINE_CODE, Code
from regard.decoding.compiled.packing import wants_panels
from regard.decoding.compiled.team import TEAM, threads
from regard.decoding.compiled.weights import NotCoveredError, Weights
from regard.model.precision import is_rounded
from regard.model.quantize import QuantizedLinear

MOST = 1024  # rows: more are taken one lot after another
SHARED = 2**24  # multiplications: fewer are done before another thread has woken up

Line = np.ndarray[tuple[int], np.dtype[np.int64]]
Room = np.ndarray[tuple[int], np.dtype[np.float32]]
OWN = local()


def teach(model: nn.Module) -> None:
    """Let all products of a model in eight bits know of this one."""
    for part in model.modules():
        if isinstance(part, QuantizedLinear):
            part.product = multiply


def multiply(linear: QuantizedLinear, x: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"] | None:
    """The product, or None where torch has to make it."""
    rows = x.numel() // max(1, x.shape[-1])
    plain = x.dtype == torch.float32 and x.device.type == "cpu" and not torch.is_grad_enabled()
    code = MACHINE_CODE.get() if plain and rows and not is_rounded(x.device) else None
    if code is None:
        return None
    weights = Weights()
    try:
        matrix = np.array([weights.matrix(linear, linear.out_features, linear.in_features)])
        if wants_panels(linear, rows):
            weights.pack(matrix)
    except NotCoveredError:
        return None
    out = x.new_empty(*x.shape[:-1], linear.out_features)
    run_product(code, matrix[0], x.contiguous().view(rows, -1), out.view(rows, -1))
    return out


def run_product(code: Code, matrix: Line, x: Float[Tensor, "N I"], out: Float[Tensor, "N O"]) -> None:
    """The product by a matrix that is given as a line of a table, into `out`; all without gaps."""
    for first in range(0, len(x), MOST):
        _run(code, matrix, x[first : first + MOST], out[first : first + MOST])


def _run(code: Code, matrix: Line, x: Tensor, out: Tensor) -> None:
    rows, size = len(x), x.shape[1]
    team = threads() if x.numel() * out.shape[1] >= SHARED else 1
    call, tickets = np.zeros(at.CALL_SIZE, np.int64), np.zeros(2 * at.LINE, np.int64)
    call[at.CALL], call[at.THREADS] = call.ctypes.data, team
    call[at.ROWS] = call[at.MOST_ROWS] = rows
    call[at.WIDTH], call[at.WORDS] = size, out.shape[1]
    call[at.X], call[at.OUT] = x.data_ptr(), out.data_ptr()
    call[at.HEAD : at.HEAD + at.MATRIX] = matrix
    call[at.TICKETS] = -(-tickets.ctypes.data // (8 * at.LINE)) * 8 * at.LINE
    rooms = _rooms(team, (rows + at.TILE) * (size + at.BLOCK))
    places = [-(-room.ctypes.data // 64) * 64 for room in rooms]
    TEAM.run(code, int(call[at.CALL]), places, (call, tickets, rooms, x, out))


def _rooms(team: int, size: int) -> list[Room]:
    """A room for every thread; the caller keeps them for its next product. Who comes late may still look into them."""
    rooms: list[Room] = getattr(OWN, "rooms", [])
    if len(rooms) < team or len(rooms[0]) < size + 32:
        rooms = OWN.rooms = [np.empty(size + 32, np.float32) for _ in range(team)]
    return rooms[:team]

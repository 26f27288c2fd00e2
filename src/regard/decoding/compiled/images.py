"""Patches of images read by the machine code, in the place of torch's encoder."""

from threading import Lock

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.decoding.compiled.caller import Caller
from regard.decoding.compiled.machine_code import MACHINE_CODE, four_eighths
from regard.decoding.compiled.plan import Plan
from regard.decoding.compiled.weights import NotCoveredError, need
from regard.model.precision import is_rounded
from regard.model.transformer import TransformerEncoder

AT_ONCE = 1024  # positions of whole images
LONGEST = 1024  # positions of an image; torch's attention is made for more
LEAST = 32  # positions of all images: fewer are torch's


def lend(model: nn.Module) -> None:
    """Let the encoders of a model that is used, not trained, know of this one."""
    for part in model.modules():
        if type(part) is TransformerEncoder:
            part.lent = PatchReader(part)


class PatchReader:
    """The layers of an encoder by the machine code, as many as it is asked for."""

    def __init__(self, encoder: TransformerEncoder) -> None:
        self._encoder, self._lock = encoder, Lock()
        self._plans: dict[int, tuple[Plan, Caller]] = {}

    def __reduce__(self) -> tuple[type["PatchReader"], tuple[TransformerEncoder]]:
        """A copy reads for a copy of the encoder."""
        return PatchReader, (self._encoder,)

    def __call__(self, x: Float[Tensor, "B S D"], layers: int) -> Float[Tensor, "B S D"] | None:
        """What the first so many layers make of rows that see all of their own; None where it is torch's turn."""
        code = MACHINE_CODE.get() if layers else None
        if code is None:
            return None
        try:
            need(not torch.is_grad_enabled() and x.dtype == torch.float32 and x.device.type == "cpu")
            need(not is_rounded(x.device) and x.shape[1] <= LONGEST and x.shape[0] * x.shape[1] >= LEAST)
            with self._lock:
                if layers not in self._plans:
                    plan = Plan(self._encoder, x.shape[2], first=layers)
                    self._plans[layers] = plan, Caller(code, plan)
                plan, caller = self._plans[layers]
                need(plan.holds and not plan.hooked and not plan.weights.moved and plan.shape.mlp.experts == 0)
                plan.pack()
                need(plan.packed or (plan.rounded and four_eighths()))
                own = x.flatten(0, 1).clone(memory_format=torch.contiguous_format)  # layers are written over it
                return caller.read(own, [x.shape[1]] * len(x), AT_ONCE).view(x.shape)
        except NotCoveredError:
            return None

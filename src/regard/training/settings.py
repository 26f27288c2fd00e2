"""What a recipe may say about training."""

from typing import Literal

from regard.recipe import Count, Number, Part, Positive, Share, choose
from regard.training.optimizer import Optimizer
from regard.training.schedule import Schedule


class Training:
    """How long, how fast, how often to look, and on what machine."""

    def __init__(
        self,
        *,
        epochs: Number = 10,
        steps: Number = 0,
        batch_tokens: Count = 4096,
        accumulate: Count = 1,
        longest: Count = 128,
        optimizer: Part[Optimizer] = choose("adamw"),
        schedule: Part[Schedule] = choose("inverse_root"),
        smoothing: Share = 0.1,
        clip: Number | Positive = 1.0,
        average: Share = 0.0,
        sampling: Share = 0.0,
        validate_every: Number = 0,
        save_every: Number = 0,
        keep: Count = 2,
        best_by: str = "loss",
        patience: Number = 0,
        seed: Number = 1,
        device: str = "auto",
        precision: Literal["auto", "float32", "bfloat16"] = "auto",
        compile: bool = False,  # noqa: A002
        parallel: Literal["ddp", "fsdp"] = "ddp",
        tensorboard: bool = False,
    ) -> None:
        if not epochs and not steps:
            raise ValueError("epochs and steps are both 0; say how long to train")
        self.epochs, self.steps = epochs, steps
        self.batch_tokens, self.accumulate, self.longest = batch_tokens, accumulate, longest
        self.optimizer, self.schedule = optimizer.build(), schedule.build()
        self.smoothing, self.clip, self.average = smoothing, clip, average
        self.sampling = sampling
        self.validate_every, self.save_every, self.keep = validate_every, save_every, keep
        self.best_by, self.patience, self.seed = best_by, patience, seed
        self.device, self.precision, self.compile = device, precision, compile
        self.parallel, self.tensorboard = parallel, tensorboard

    def total(self, epoch: int) -> int:
        """Steps in all, given the batches of an epoch; `steps`, where said, counts instead of `epochs`."""
        return self.steps or -(-self.epochs * epoch // self.accumulate)

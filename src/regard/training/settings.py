"""What a recipe may say about training."""

from typing import Annotated, Literal

from annotated_doc import Doc
from pydantic import Field

from regard.recipe import Count, File, Number, Part, Positive, Share, choose
from regard.training.optimizer import OptimizerFactory
from regard.training.schedule import Schedule

Seed = Annotated[int, Field(ge=0, lt=2**63)]
"""What random numbers begin with: as large as torch takes it."""


class Start:
    """Begin with the weights of another run instead of drawn ones: all of them, or those of some parts.

    Whole sections that a recipe leaves out (model, tokenizer, training, …) are then those of that run.
    """

    def __init__(
        self,
        *,
        run: Annotated[File, Doc("The folder of the run whose best weights are begun with.")],
        parts: Annotated[
            list[str], Doc("Parts to take, by the beginning of their names (encoder, decoder.layers.0); none: all.")
        ] = [],  # noqa: B006
        fresh: Annotated[
            list[str], Doc("Parts to begin anew, by the beginning of their names, though that run has them.")
        ] = [],  # noqa: B006
    ) -> None:
        self.run, self.parts, self.fresh = run, parts, fresh


class Checkpoints:
    """When to look and to save: every so many steps (0: once an epoch), and what is kept.

    The best by the score `best_by` is always kept, and the last `keep`. With `patience` training ends
    after so many validations without a better one.
    """

    def __init__(
        self,
        *,
        validate_every: Number = 0,
        save_every: Number = 0,
        keep: Count = 2,
        best_by: str = "loss",
        patience: Number = 0,
        tensorboard: bool = False,
    ) -> None:
        self.validate_every, self.save_every, self.keep = validate_every, save_every, keep
        self.best_by, self.patience, self.tensorboard = best_by, patience, tensorboard


class Machine:
    """On what to train. `auto` takes a GPU if there is one, and bfloat16 where that is faster."""

    def __init__(
        self,
        *,
        device: str = "auto",
        precision: Literal["auto", "float32", "bfloat16"] = "auto",
        compile: bool = False,  # noqa: A002
        parallel: Literal["ddp", "fsdp"] = "ddp",
    ) -> None:
        self.device, self.precision, self.compile, self.parallel = device, precision, compile, parallel


class TrainingOptions:
    """How long and how fast to learn: `steps`, where said, counts instead of `epochs`.

    `accumulate` batches make one step; gradients longer than `max_grad_norm` are shortened to it (0: never);
    `ema` keeps an average of the weights that forgets by 1 − `ema` a step, and is what users get (0: none).
    """

    def __init__(
        self,
        *,
        epochs: Number = 10,
        steps: Number = 0,
        accumulate: Count = 1,
        optimizer: Part[OptimizerFactory] = choose("adamw"),
        schedule: Part[Schedule] = choose("inverse_sqrt"),
        max_grad_norm: Number | Positive = 1.0,
        ema: Share = 0.0,
        seed: Seed = 1,
        checkpoints: Part[Checkpoints] = choose("best_and_last"),
        machine: Part[Machine] = choose("torch"),
    ) -> None:
        if not epochs and not steps:
            raise ValueError("epochs and steps are both 0; say how long to train")
        self.epochs, self.steps, self.accumulate = epochs, steps, accumulate
        self.optimizer, self.schedule = optimizer.build(), schedule.build()
        self.max_grad_norm, self.ema, self.seed = max_grad_norm, ema, seed
        self.checkpoints, self.machine = checkpoints.build(), machine.build()

    def total(self, epoch: int) -> int:
        """Steps in all, given the batches of an epoch."""
        return self.steps or -(-self.epochs * epoch // self.accumulate)

"""What a recipe may say about training."""

from typing import Annotated, Any, Literal

from annotated_doc import Doc
from pydantic import BeforeValidator, Field

from regard.recipe import Count, File, NonNegative, Number, Part, Share, choose
from regard.training.optimizer import OptimizerFactory
from regard.training.schedule import Schedule

Steps = Annotated[int, Field(ge=0, le=10**12)]
"""A number of steps; what is counted with them stays well within 64 bits and what a float holds exactly."""
Epochs = Annotated[int, Field(ge=0, le=10**9)]
Minutes = Annotated[float, Field(ge=0, le=10 * 365 * 24 * 60)]
"""At most ten years."""
Seed = Annotated[int, Field(ge=0, lt=2**63)]
"""What random numbers begin with: as large as torch takes it."""


def _several(value: Any) -> Any:
    """One name, or several with commas between, is a list of them."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Parts = Annotated[list[str], BeforeValidator(_several)]


class Start:
    """Begin with the weights of another run instead of drawn ones: all of them, or those of some parts.

    Whole sections that a recipe leaves out (model, tokenizer, training, …) are then those of that run.
    """

    def __init__(
        self,
        *,
        run: Annotated[File, Doc("The folder of the run whose best weights are begun with.")],
        parts: Annotated[
            Parts, Doc("Parts to take, by the beginning of their names (encoder, decoder.layers.0); none: all.")
        ] = [],  # noqa: B006
        fresh: Annotated[
            Parts, Doc("Parts to begin anew, by the beginning of their names, though that run has them.")
        ] = [],  # noqa: B006
    ) -> None:
        self.run, self.parts, self.fresh = run, parts, fresh


class Checkpoints:
    """When to look and to save, and what is kept: always the best, and the last few."""

    def __init__(
        self,
        *,
        validate_every: Annotated[Steps, Doc("Steps between two validations; 0 means once an epoch.")] = 0,
        save_every: Annotated[
            Steps, Doc("Steps between two checkpoints that can be resumed from; 0 means at each validation.")
        ] = 0,
        keep: Annotated[Count, Doc("Number of last checkpoints kept; the best is kept besides.")] = 2,
        best_by: Annotated[
            str,
            Doc("Score by which the best checkpoint is chosen: loss; of translations bleu, chrf; of images accuracy."),
        ] = "loss",
        patience: Annotated[
            Number, Doc("Validations without a better score after which training ends early; 0 means it never does.")
        ] = 0,
        tensorboard: Annotated[
            bool, Doc("Whether the log is written for TensorBoard too, into the run folder.")
        ] = False,
    ) -> None:
        self.validate_every, self.save_every, self.keep = validate_every, save_every, keep
        self.best_by, self.patience, self.tensorboard = best_by, patience, tensorboard


class Machine:
    """On what to train, and in which numbers."""

    def __init__(
        self,
        *,
        device: Annotated[
            str, Doc("Where to compute: cpu, cuda or cuda:1; auto takes a GPU if there is one.")
        ] = "auto",
        precision: Annotated[
            Literal["auto", "float32", "bfloat16"],
            Doc("Numbers to compute in; auto takes bfloat16 where that is faster."),
        ] = "auto",
        matmul: Annotated[
            Literal["auto", "mkl", "onednn"],
            Doc("Library for float32 products on a CPU; auto takes the one measured to be faster and as exact."),
        ] = "auto",
        compile: Annotated[  # noqa: A002
            bool, Doc("Whether torch compiles the model first: a slow start for faster steps.")
        ] = False,
        parallel: Annotated[
            Literal["ddp", "fsdp"],
            Doc("How processes under torchrun share a model: each has all of it (ddp), or a part (fsdp)."),
        ] = "ddp",
        threads: Annotated[
            Literal["auto"] | Count,
            Doc("Threads to compute with on a CPU; auto takes as many as are worth it beside other work."),
        ] = "auto",
    ) -> None:
        self.device, self.precision, self.matmul = device, precision, matmul
        self.compile, self.parallel = compile, parallel
        self.threads: Literal["auto"] | int = threads


class TrainingOptions:
    """How long and how fast to learn."""

    def __init__(
        self,
        *,
        epochs: Annotated[
            Epochs, Doc("How often all training data are gone through; not used where steps are said.")
        ] = 10,
        steps: Annotated[Steps, Doc("Steps to train for in all; 0 means as many as the epochs have.")] = 0,
        minutes: Annotated[
            Minutes,
            Doc(
                "Minutes to train for: when it begins, steps are set to as many as fit; 0 means as steps or epochs say."
            ),
        ] = 0.0,
        accumulate: Annotated[
            Count, Doc("Batches whose gradients make one step: larger steps in the same memory; 1 means each batch.")
        ] = 1,
        optimizer: Part[OptimizerFactory] = choose("adamw"),
        schedule: Part[Schedule] = choose("inverse_sqrt"),
        max_grad_norm: Annotated[
            NonNegative, Doc("Gradients longer than this are shortened to it before a step; 0 means never.")
        ] = 1.0,
        ema: Annotated[
            Share,
            Doc(
                "Share of its past that a running mean of the weights keeps each step, used in their place; 0 is none."
            ),
        ] = 0.0,
        seed: Annotated[
            Seed, Doc("Number from which all chance is drawn: first weights, order of batches, dropout.")
        ] = 1,
        checkpoints: Part[Checkpoints] = choose("best_and_last"),
        machine: Part[Machine] = choose("torch"),
    ) -> None:
        if not (epochs or steps or minutes):
            raise ValueError("epochs and steps are both 0; say how long to train")
        self.epochs, self.steps, self.minutes, self.accumulate = epochs, steps, minutes, accumulate
        self.optimizer, self.schedule = optimizer.build(), schedule.build()
        self.max_grad_norm, self.ema, self.seed = max_grad_norm, ema, seed
        self.checkpoints, self.machine = checkpoints.build(), machine.build()

    def total(self, epoch: int) -> int:
        """Steps in all, given the batches of an epoch."""
        return self.steps or -(-self.epochs * epoch // self.accumulate)

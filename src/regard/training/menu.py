"""The whole menu: what a recipe may say about its task, data, tokenizer, model, training and decoding."""

from regard.datasets.menu import SLOTS as DATA
from regard.decoding.menu import SLOTS as DECODING
from regard.model.menu import MENU as MODEL
from regard.recipe import Menu, Slot
from regard.tasks.menu import SLOTS as TASKS
from regard.training.optimizer import Adamw, Muon, OptimizerFactory
from regard.training.schedule import Constant, Cosine, InverseSqrt, Schedule, WarmupStableDecay
from regard.training.settings import Checkpoints, Machine, Start, TrainingOptions

MENU = Menu(
    *TASKS,
    *DATA,
    *MODEL.written,
    *DECODING,
    Slot("from", Start, "another run to begin with", {
        "run": Start,
    }, default="run"),
    Slot("training", TrainingOptions, "how long and how fast to learn", {
        "loop": TrainingOptions,
    }, default="loop"),
    Slot("optimizer", OptimizerFactory, "from gradients to steps", {
        "adamw": Adamw,
        "muon": Muon,
    }, default="adamw"),
    Slot("schedule", Schedule, "how the learning rate goes", {
        "inverse_sqrt": InverseSqrt,
        "cosine": Cosine,
        "warmup_stable_decay": WarmupStableDecay,
        "constant": Constant,
    }, default="inverse_sqrt"),
    Slot("checkpoints", Checkpoints, "when to look and to save", {
        "best_and_last": Checkpoints,
    }, default="best_and_last"),
    Slot("machine", Machine, "on what to train", {
        "torch": Machine,
    }, default="torch"),
    inner=MODEL,
)  # fmt: skip

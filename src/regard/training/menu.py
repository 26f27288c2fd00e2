"""The whole menu: what a recipe may say about data, tokens, model, training and decoding."""

from regard.data.menu import SLOTS as DATA
from regard.decoding.beam import Beam
from regard.decoding.sample import Greedy, Sample
from regard.decoding.search import Search
from regard.model.menu import MENU as MODEL
from regard.recipe import Menu, Slot
from regard.training.optimizer import Adamw, Muon, Optimizer
from regard.training.schedule import Constant, Cosine, Decay, InverseRoot, Schedule
from regard.training.settings import Training

SCHEDULES = {"inverse_root": InverseRoot, "cosine": Cosine, "decay": Decay, "constant": Constant}

MENU = Menu(
    *MODEL,
    *DATA,
    Slot("training", Training, "How to train", {"loop": Training}, default="loop"),
    Slot("optimizer", Optimizer, "From gradients to steps", {"adamw": Adamw, "muon": Muon}, default="adamw"),
    Slot("schedule", Schedule, "How the learning rate goes", SCHEDULES, default="inverse_root"),
    Slot("decoding", Search, "How to choose words", {"beam": Beam, "greedy": Greedy, "sample": Sample}, default="beam"),
)

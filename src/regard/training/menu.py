"""The whole menu: what a recipe may say about data, tokens, model, training and decoding."""

from regard.data.dates import Dates
from regard.data.files import Files
from regard.data.numbers import Numbers
from regard.data.pairs import Pairs
from regard.data.phrases import Phrases
from regard.data.tokens import Bpe, Characters, Cutter, Unigram, Words
from regard.data.toys import Toys
from regard.decoding.beam import Beam
from regard.decoding.sample import Greedy, Sample
from regard.decoding.search import Search
from regard.model.menu import MENU as MODEL
from regard.recipe import Menu, Slot
from regard.training.optimizer import Adamw, Muon, Optimizer
from regard.training.schedule import Constant, Cosine, Decay, InverseRoot, Schedule
from regard.training.settings import Training

MENU = Menu(
    *MODEL,
    Slot(
        "data",
        Pairs,
        "What to learn from",
        {"files": Files, "numbers": Numbers, "dates": Dates, "phrases": Phrases, "toy": Toys},
        default="files",
    ),
    Slot(
        "tokens",
        Cutter,
        "How text is cut",
        {"bpe": Bpe, "unigram": Unigram, "words": Words, "characters": Characters},
        default="bpe",
    ),
    Slot("training", Training, "How to train", {"loop": Training}, default="loop"),
    Slot("optimizer", Optimizer, "From gradients to steps", {"adamw": Adamw, "muon": Muon}, default="adamw"),
    Slot(
        "schedule",
        Schedule,
        "How the learning rate goes",
        {"inverse_root": InverseRoot, "cosine": Cosine, "decay": Decay, "constant": Constant},
        default="inverse_root",
    ),
    Slot("decoding", Search, "How to choose words", {"beam": Beam, "greedy": Greedy, "sample": Sample}, default="beam"),
)

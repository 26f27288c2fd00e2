"""What a model can be trained for. Adding a task is a file and a line here."""

from regard.recipe import Slot
from regard.tasks.classification import Classification
from regard.tasks.images.augmentation import Augmentation, Random
from regard.tasks.language import Language
from regard.tasks.restoration import Restoration
from regard.tasks.restoration.corruption import Corruption, FewerPixels, Noise, Squares
from regard.tasks.task import Task
from regard.tasks.translation import Translation

SLOTS = (
    Slot("task", Task, "what a model is trained for", {
        "translation": Translation,
        "language": Language,
        "classification": Classification,
        "restoration": Restoration,
    }),
    Slot("augmentation", Augmentation, "how training images are varied", {
        "random": Random,
    }, default="random"),
    Slot("corruption", Corruption, "how images are spoilt that are to be restored", {
        "noise": Noise,
        "squares": Squares,
        "fewer_pixels": FewerPixels,
    }, default="noise"),
)  # fmt: skip

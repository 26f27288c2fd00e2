"""The task of restoration: spoilt images in, what they were out."""

from functools import cached_property
from typing import Annotated

from annotated_doc import Doc

from regard.datasets.data import Report, Split
from regard.datasets.images import Images
from regard.datasets.images.fit import Fit
from regard.errors import InputError
from regard.listener import Listener
from regard.looking.scene import Scene
from regard.model.assembly import ImageRestorer
from regard.model.options import sides
from regard.model.vision import folded
from regard.recipe import Count, Part, Size, choose
from regard.tasks.images.augmentation import Augmentation
from regard.tasks.images.batches import ImageBatches
from regard.tasks.images.options import Channels, Fitting, ImageSize, Mean, Std, check_scale
from regard.tasks.images.splits import Splits, named_images
from regard.tasks.images.statistics import statistics
from regard.tasks.restoration.batches import CorruptedBatch, CorruptedBatches
from regard.tasks.restoration.corruption import Corruption
from regard.tasks.restoration.evaluation import RestorationScores
from regard.tasks.restoration.examining import examined
from regard.tasks.restoration.facts import FILE, Facts
from regard.tasks.restoration.loss import restoration_loss
from regard.tasks.restoration.restorer import Restorer
from regard.tasks.task import Exam, Kept, Loss, Task


class Restoration(Task):
    """Spoilt images and what they were: to take away noise, fill in what is missing, or sharpen [N0:51].

    Any images will do, of classes or of none: they are spoilt while they are learnt from, each time otherwise.
    """

    metrics = {"loss": -1, "psnr": +1}  # noqa: RUF012
    unit = "images"
    assembly = ImageRestorer
    example = "regard restore {run} IMAGE"
    own_data = "data.train=FOLDER"
    batch_option = "task.batch_images"
    at_use = ("corruption",)

    data: Images

    def __init__(
        self,
        kept: Kept | None,
        *,
        data: Annotated[Part[Images], Doc("Images as they should be: folders of your own, or built-in ones.")],
        corruption: Annotated[Part[Corruption], Doc("How images are spoilt.")] = choose("noise"),
        augmentation: Annotated[Part[Augmentation], Doc("How training images are varied before.")] = choose("random"),
        size: ImageSize = 64,
        channels: Channels = 3,
        fit: Fitting = "crop",
        batch_images: Annotated[Count, Doc("Images in a batch.")] = 32,
        mean: Mean = [],  # noqa: B006
        std: Std = [],  # noqa: B006
    ) -> None:
        super().__init__(kept)
        check_scale(mean, std, channels)
        self.data, self.corruption, self.augmentation = data.build(), corruption.build(), augmentation.build()
        self.data.labelled = False
        self.shape, self.channels = sides(size), channels
        self.fit: Fit = fit
        if kept is not None:  # which is what the model has learnt
            self.shape, self.channels, self.fit = self.facts.shape, self.facts.channels, self.facts.fit
        self.batch_images, self.mean, self.std = batch_images, mean, std
        self._pixels = Splits(self.data, self.shape, self.channels, self.fit)

    # --- data -------------------------------------------------------------------------------------------------------

    def prepare(self, listener: Listener) -> dict[Split, Report]:
        return self._pixels.reports(listener, first=self.kept is None)

    @cached_property
    def facts(self) -> Facts:
        """Those the run has kept, or what the training images say."""
        if self.kept is not None:
            return Facts.open(self.kept)
        scale = statistics(self._pixels["train"][0], self.mean, self.std)
        return Facts(self.shape, self.channels, self.fit, *scale)

    def sizes(self) -> dict[str, Size]:
        return {"channels": self.facts.channels, "size": self.facts.size}

    def files(self) -> dict[str, bytes]:
        return {FILE: self.facts.file()}

    # --- learning ---------------------------------------------------------------------------------------------------

    def follow(self, kept: Kept) -> None:
        """Weights of another run want pixels scaled as they were there."""
        if FILE in kept and not self.mean and not self.std:
            self.mean, self.std = Facts.open(kept).scale(self.channels)

    def batches(self, seed: int) -> CorruptedBatches:
        clean = ImageBatches(self._pixels["train"][0], self.batch_images, seed, self.augmentation)
        return CorruptedBatches(clean, self.corruption)

    def loss(self, model: ImageRestorer, batch: CorruptedBatch) -> Loss:
        return restoration_loss(model, batch, self.facts, self.augmentation, self.corruption)

    # --- use --------------------------------------------------------------------------------------------------------

    def answerer(self, model: ImageRestorer, quick: bool = False) -> Restorer:
        return Restorer(model if quick else folded(model), self.facts, self.corruption)

    def scene(self, answerer: Restorer, text: str, target: str = "", tokens: int = 0) -> Scene:
        raise InputError(
            "a restorer looks at all of an image and says no class, so there is nothing to look at; before and after: ",
            call="regard.restore(run, image, show=…)",
            flag="regard restore RUN IMAGE --show x.png",
        )

    def evaluate(self, answerer: Restorer, exam: Exam) -> RestorationScores | None:
        return examined(answerer, self._pixels.examined(exam), exam)

    def manner(self, answerer: Restorer) -> str:
        rows, columns = self.facts.shape
        return f"images of {rows} × {columns}, spoilt: {self.corruption.manner()}"

    def data_from(self, named: str) -> Images:
        other = named_images(named)
        other.labelled = False
        return other

"""The task of classification: images in, the name of what they show out."""

from functools import cached_property
from typing import Annotated

from annotated_doc import Doc
from pydantic import Field

from regard.datasets.data import Report, Split
from regard.datasets.images import Images
from regard.datasets.images.asked import Given
from regard.datasets.images.fit import fitting
from regard.decoding.compiled.images import lend
from regard.errors import InputError
from regard.listener import Listener
from regard.looking.scene import Scene
from regard.model.assembly import ImageClassifier
from regard.model.options import sides
from regard.model.vision import folded
from regard.recipe import Count, Part, Share, Size, choose
from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.evaluation import ClassificationScores
from regard.tasks.classification.examining import examined
from regard.tasks.classification.facts import FILE, ORDERS, Facts
from regard.tasks.classification.loss import classification_loss
from regard.tasks.classification.scene import classification_scene
from regard.tasks.images.augmentation import Augmentation
from regard.tasks.images.batches import ImageBatch, ImageBatches
from regard.tasks.images.options import (
    Channels,
    Fitting,
    ImageSize,
    Interpolation,
    Mean,
    Middle,
    Std,
    check_scale,
)
from regard.tasks.images.splits import Splits, named_images
from regard.tasks.images.statistics import statistics
from regard.tasks.task import Exam, Kept, Loss, Task

Order = Annotated[int, Field(ge=0, lt=ORDERS)]
UNEQUAL = 3  # times as many images of one class as of another, from which on it is worth a word


class Classification(Task):
    """Images and their classes: one name for each, out of those that were learnt [N0:155-189, N3:150-157]."""

    metrics = {"loss": -1, "accuracy": +1}  # noqa: RUF012
    unit = "images"
    assembly = ImageClassifier
    example = "regard classify {run} IMAGE"
    own_data = "data.train=FOLDER"
    batch_option = "task.batch_images"

    data: Images

    def __init__(
        self,
        kept: Kept | None,
        *,
        data: Annotated[Part[Images], Doc("Images to learn from: folders of your own, or built-in ones.")],
        augmentation: Annotated[Part[Augmentation], Doc("How training images are varied.")] = choose("random"),
        size: ImageSize = 224,
        channels: Channels = 3,
        fit: Fitting = "crop",
        interpolation: Interpolation = "bilinear",
        middle: Middle = 1.0,
        batch_images: Annotated[Count, Doc("Images in a batch.")] = 64,
        label_smoothing: Annotated[
            Share, Doc("Share of the right class's weight that is spread over all, against overconfidence; 0 is none.")
        ] = 0.0,
        balanced: Annotated[
            bool, Doc("Whether every class is seen as often as any other, however few images it has.")
        ] = False,
        shuffle_pixels: Annotated[
            Order,
            Doc(
                "Number of an order that the pixels of every image are shuffled into, the same for all: to see what a "
                "model owes to neighbours; 0 leaves them."
            ),
        ] = 0,
        mean: Mean = [],  # noqa: B006
        std: Std = [],  # noqa: B006
    ) -> None:
        super().__init__(kept)
        check_scale(mean, std, channels)
        self.data, self.augmentation = data.build(), augmentation.build()
        self.shape, self.channels, self.fit = sides(size), channels, fitting(fit, interpolation, middle)
        if kept is not None:  # which is what the model has learnt
            self.shape, self.channels, self.fit = self.facts.shape, self.facts.channels, self.facts.fit
        self.batch_images, self.label_smoothing, self.balanced = batch_images, label_smoothing, balanced
        self.mean, self.std, self.shuffle_pixels = mean, std, shuffle_pixels
        known = None if kept is None else self.facts.classes
        self._pixels = Splits(self.data, self.shape, self.channels, self.fit, known)

    # --- data -------------------------------------------------------------------------------------------------------

    def prepare(self, listener: Listener) -> dict[Split, Report]:
        reports = self._pixels.reports(listener, first=self.kept is None)
        if len(self.facts.classes) < 2:
            raise InputError(f"all images are of one class, {self.facts.classes[0]!r}: there is nothing to tell apart")
        if self.kept is None:  # a resumed run has said it before
            self._note_unequal(reports["train"])
        return reports

    def _note_unequal(self, report: Report) -> None:
        counts = self.facts.counts
        if max(counts) > UNEQUAL * min(counts) and not self.balanced:
            report.notes.append("task.balanced=true shows all classes alike")

    @cached_property
    def facts(self) -> Facts:
        """Those the run has kept, or what the training images say."""
        if self.kept is not None:
            return Facts.open(self.kept)
        pixels, _ = self._pixels["train"]
        scale = statistics(pixels, self.mean, self.std)
        counts = tuple(pixels.counts.tolist())
        return Facts(pixels.classes, self.shape, self.channels, self.fit, *scale, counts, self.shuffle_pixels)

    def sizes(self) -> dict[str, Size]:
        return {"classes": len(self.facts.classes), "channels": self.facts.channels, "size": self.facts.size}

    def files(self) -> dict[str, bytes]:
        return {FILE: self.facts.file()}

    # --- learning ---------------------------------------------------------------------------------------------------

    def outgrown(self, kept: Kept) -> tuple[str, ...]:
        """A head is for the very classes that it has learnt."""
        return () if FILE in kept and Facts.open(kept).classes == self.facts.classes else ("head",)

    def follow(self, kept: Kept) -> None:
        """Weights of another run want pixels scaled and arranged as they were there."""
        if FILE not in kept:
            return
        facts = Facts.open(kept)
        if not self.mean and not self.std:
            self.mean, self.std = facts.scale(self.channels)
        self.shuffle_pixels = self.shuffle_pixels or facts.shuffled

    def batches(self, seed: int) -> ImageBatches:
        return ImageBatches(self._pixels["train"][0], self.batch_images, seed, self.augmentation, self.balanced)

    def loss(self, model: ImageClassifier, batch: ImageBatch) -> Loss:
        return classification_loss(model, batch, self.facts, self.augmentation, self.label_smoothing)

    # --- use --------------------------------------------------------------------------------------------------------

    def answerer(self, model: ImageClassifier, quick: bool = False) -> Classifier:
        if not quick:
            model = folded(model)
            lend(model)
        return Classifier(model, self.facts)

    def scene(self, answerer: Classifier, text: Given, target: str = "", tokens: int = 0) -> Scene:
        """`text` names an image, or is one; `target` is a class, if not the likeliest."""
        if tokens:
            raise InputError("a classifier writes no tokens; leave out ", call="tokens=…", flag="--tokens")
        return classification_scene(answerer, text, target)

    def evaluate(self, answerer: Classifier, exam: Exam) -> ClassificationScores | None:
        return examined(answerer, self._pixels.examined(exam, self.facts.classes), exam)

    def manner(self, answerer: Classifier) -> str:
        rows, columns = self.facts.shape
        return f"images of {rows} × {columns}"

    def unlike(self, other: "Classification") -> list[str]:
        return [] if self.facts.classes == other.facts.classes else ["they know other classes"]

    def data_from(self, named: str) -> Images:
        return named_images(named)

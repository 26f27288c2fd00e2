"""The images of a task, split by split: made into pixels when they are first wanted, and kept at hand."""

from collections.abc import Sequence

from regard.datasets.data import Report, Split, note_few, note_untested
from regard.datasets.images import Images
from regard.datasets.images.fit import Fit
from regard.datasets.images.pixels import Pixels, pixels
from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.tasks.task import Exam

LEARNT: tuple[Split, ...] = ("train", "valid")


class Splits:
    """What a task learns from and is examined on, all of one shape."""

    def __init__(
        self, data: Images, shape: tuple[int, int], channels: int, fit: Fit, classes: Sequence[str] | None = None
    ) -> None:
        """`classes` are those that a model knows already; without, they are those of the data."""
        self.data, self.shape, self.channels, self.fit, self.classes = data, shape, channels, fit, classes
        self._made: dict[Split, tuple[Pixels, Report]] = {}

    def __getitem__(self, split: Split) -> tuple[Pixels, Report]:
        return self.ready(split, SILENT)

    def ready(self, split: Split, listener: Listener) -> tuple[Pixels, Report]:
        """A split of the task's own data; what is to be told of it."""
        if split not in self._made:
            self._made[split] = self._pixels(self.data, split, listener, self.classes)
        return self._made[split]

    def reports(self, listener: Listener, first: bool) -> dict[Split, Report]:
        """What is learnt from and validated on, made ready. Of a run that begins (`first`) it is also told what is
        wrong with the data, and what there is to test on."""
        if first:
            self.data.survey(listener)
        found = {split: self.ready(split, listener)[1] for split in LEARNT}
        if not found["train"].kept:
            raise InputError("there is no image to learn from")
        note_few(found["valid"], self.data.more_held_out)
        if first:
            found["test"] = self.data.report("test")
            note_untested(found["test"], found["valid"], self.data.more_tested)
        return found

    def examined(self, exam: Exam, classes: Sequence[str] | None = None) -> Pixels:
        """What an exam is on: a split of these data, or of others, of which images of these classes are taken."""
        data = exam.data
        assert isinstance(data, Images)
        if data is self.data:
            return self.ready(exam.split, exam.listener)[0]
        found, report = self._pixels(data, exam.split, exam.listener, classes)
        if report.dropped:
            exam.listener.say(f"{data.called(exam.split)}: {report}")
        return found

    def _pixels(
        self, data: Images, split: Split, listener: Listener, classes: Sequence[str] | None
    ) -> tuple[Pixels, Report]:
        report = Report()
        return pixels(data, split, self.shape, self.channels, self.fit, report, listener, classes), report


def named_images(named: str) -> Images:
    """Other images, from what a user names; all of them are the split `test`."""
    from regard.datasets.images import ImageFolder

    other = ImageFolder(train=named, test=named)
    other.keys["test"] = "on"
    return other

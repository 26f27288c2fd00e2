"""Python's own help, which is on every machine that has Python: a little English prose to learn from."""

import sys

from regard.datasets.data import Split
from regard.datasets.titled import Titled


class Pydoc(Titled):
    """The help topics of this Python, some 450,000 characters of English; other versions of Python have other words."""

    unit = "topic"
    licence = "PSF-2.0, the documentation of Python"

    def texts(self) -> dict[str, str]:
        from pydoc_data.topics import topics

        return {name: text.strip() + "\n" for name, text in topics.items() if text.strip()}

    def called(self, split: Split) -> str:
        return f"the help topics of Python {sys.version_info.major}.{sys.version_info.minor}"

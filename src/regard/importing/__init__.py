"""Models of other makers: read, checked and handed over as what Regard's own are made of."""

from regard.importing.imported import Imported, ImportedClassifier
from regard.importing.source import read_model

__all__ = ["Imported", "ImportedClassifier", "read_model"]

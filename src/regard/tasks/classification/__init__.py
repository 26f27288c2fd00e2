"""Classification: images in, the name of what they show out."""

from regard.tasks.classification.classifier import Classified, Classifier
from regard.tasks.classification.task import Classification

__all__ = ["Classification", "Classified", "Classifier"]

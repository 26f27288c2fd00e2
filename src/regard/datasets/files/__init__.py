"""The user's own files: found, looked at, read a pair at a time; and what is said of those that cannot be."""

from regard.datasets.files.files import Files

__all__ = ["Files"]

"""Texts from the user's own files: plain ones, JSONL, parquet; whole folders of them."""

from regard.datasets.texts.files import TextFiles

__all__ = ["TextFiles"]

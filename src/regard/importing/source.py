"""Where a model comes from: a folder, a file, or a name that the package registry knows."""

from pathlib import Path

from regard.disk import place
from regard.errors import InputError
from regard.importing.folder import read_folder
from regard.importing.imported import Imported, ImportedClassifier
from regard.importing.packages import PACKAGES, read_package
from regard.listener import SILENT, Listener


def read_model(source: str | Path, listener: Listener = SILENT) -> Imported | ImportedClassifier:
    """A pretrained model from a folder of the Hugging Face hub, a GGUF file, or the registry by name: `smollm2`.

    Language models, and image classifiers of `transformers` and timm.
    """
    try:
        return _read(source, place(source), listener)
    except OSError as error:
        raise InputError(f"{str(source)[:200]}: {error.strerror or error}") from error


def _read(source: str | Path, path: Path, listener: Listener) -> Imported | ImportedClassifier:
    if path.is_dir():
        return read_folder(path, listener)
    if path.suffix == ".gguf" or path.is_file():
        from regard.importing.gguf.model import read_gguf

        return read_gguf(path, listener)
    if str(source) in PACKAGES:
        return read_package(str(source), listener)
    wanted = f"a Hugging Face folder, a .gguf file, or one of {', '.join(PACKAGES)}"
    raise InputError(f"{str(source)[:200]}: no such folder or file; wanted {wanted}")

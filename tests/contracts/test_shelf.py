"""Every recipe of the shelf learns in bfloat16 what it learns in float32."""

from pathlib import Path

import pytest

from . import shelf
from .small import unchecked


@pytest.mark.parametrize("name", shelf.names())
def test_every_recipe_learns_alike_in_bfloat16(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    with unchecked():
        half, whole = (shelf.loss(name, precision, tmp_path) for precision in ("bfloat16", "float32"))
    assert half == pytest.approx(whole, rel=0.02)
    assert half != whole  # it was computed in other numbers

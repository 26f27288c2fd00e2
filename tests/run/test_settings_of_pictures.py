"""Pictures whatever a matplotlibrc in the current folder says."""

from io import BytesIO
from pathlib import Path

import matplotlib
import pytest
from matplotlib import texmanager

from regard.pictures import canvas, write
from regard.run.curve import _draw


def test_no_text_is_set_by_latex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads and writes files, and names of strangers' classes are texts of pictures."""

    def called(*_: object, **more: object) -> None:
        raise AssertionError("LaTeX was called")

    monkeypatch.setattr(texmanager.TexManager, "_run_checked_subprocess", called)
    with matplotlib.rc_context({"text.usetex": True}):
        figure, axes = canvas(2, 2)
        axes.plot([1, 2], label="a")
        axes.legend()
        axes.set_title(r"\input{/etc/passwd}")
        write(figure, tmp_path / "a.png")
        _draw([{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}], "title", file := BytesIO(), "png")
    assert file.getvalue()
    assert (tmp_path / "a.png").stat().st_size

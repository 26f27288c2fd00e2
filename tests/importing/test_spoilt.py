"""Spoilt folders and files: a few hundred cases of what `python -m attack.imports` does for as long as one likes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from seers import TimmVit, put_seer, put_timm, timm_seer
from strangers import put, stranger
from written import put_gguf

HERE = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_spoilt_models_work_or_are_refused(tmp_path: Path) -> None:
    folder = put(tmp_path / "small", stranger("mixtral"))
    file = put_gguf(tmp_path / "small.gguf", stranger("llama tied", hidden_size=32, intermediate_size=32), "Q8_0")
    attacked([folder, file], 500)


def test_spoilt_image_models_work_or_are_refused(tmp_path: Path) -> None:
    args = {"embed_dim": 20, "depth": 2, "num_heads": 4, "mlp_ratio": 1.7, "patch_size": [4, 6]}
    timm = put_timm(tmp_path / "timm", timm_seer(TimmVit), "vit_tiny_patch16_224", args)
    attacked([put_seer(tmp_path / "deit", "deit"), timm, put_seer(tmp_path / "resnet", "resnet")], 300)


def attacked(sources: list[Path], cases: int) -> None:
    """In a process of its own, bounded in memory and time, without the checks of shapes that tests have."""
    paths = [str(HERE.parent / "src"), str(HERE), *filter(None, sys.path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "attack.imports", *map(str, sources), "--cases", str(cases)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    worked, refused = (int(word) for word in done.stdout.split() if word.isdigit())
    assert worked + refused == cases
    assert refused > cases / 2
    assert worked > cases / 20

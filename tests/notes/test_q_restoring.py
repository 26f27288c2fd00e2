"""Notes, part B, learnt: what the skips of a U-Net are for."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from regard.calls.training import train
from regard.model.assembly import ImageRestorer
from regard.verbs import evaluate


def test_023_the_way_up_reads_what_the_way_down_saw_at_each_size():
    """up_s = block([enlarge(up_{s+1}); down_s]), by hand."""
    torch.manual_seed(1)
    whole = ImageRestorer(channels=1, size=8, width=4, scales=3).eval()
    body, pixels = whole.body, torch.randn(2, 1, 8, 8)
    large = body.down[0](body.stem(pixels))
    middle = body.down[1](large)
    small = body.down[2](middle)
    assert [seen.shape[1:] for seen in (large, middle, small)] == [(4, 8, 8), (8, 4, 4), (16, 2, 2)]
    up = body.up[1](torch.cat([F.interpolate(body.narrow[1](small), (4, 4)), middle], 1))
    up = body.up[0](torch.cat([F.interpolate(body.narrow[0](up), (8, 8)), large], 1))
    assert_close(whole(pixels), whole.head(up))


def test_023_without_skips_all_passes_the_smallest_picture():
    """If that says nothing, so does all that comes out; with skips it still depends on every pixel's own place."""
    for skips in ("none", "concatenate"):
        torch.manual_seed(1)
        whole = ImageRestorer(channels=1, size=8, width=4, scales=3, skips=skips).eval()
        for parameter in whole.body.narrow[1].parameters():
            nn.init.zeros_(parameter)
        one, other = whole(torch.randn(1, 1, 8, 8)), whole(torch.randn(1, 1, 8, 8))
        assert torch.equal(one, other) == (skips == "none")


def test_023_skips_restore_noisy_glyphs_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two small U-Nets, taught alike for a few seconds: only the one with skips gives back fine strokes."""
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    glyphs = {"kind": "glyphs", "noise": 0.0, "pixels": 16, "train_images": 512, "valid_images": 8, "test_images": 100}
    found = {}
    for skips in ("concatenate", "none"):
        recipe = {
            "task": {"kind": "restoration", "size": 16, "channels": 1, "batch_images": 32},
            "data": glyphs,
            "corruption": {"kind": "noise", "strength": 0.1},
            "model": {"kind": "image_restorer", "width": 4, "scales": 4, "skips": skips},
            "training": {
                "steps": 80,
                "optimizer": {"kind": "adamw", "learning_rate": 0.02},
                "schedule": {"kind": "cosine", "warmup_steps": 5},
                "checkpoints": {"validate_every": 80},
            },
        }
        found[skips] = evaluate(train(recipe, out=tmp_path / skips))
    assert found["concatenate"].psnr > found["concatenate"].psnr_corrupted + 2
    assert found["concatenate"].psnr > found["none"].psnr + 3
    assert found["concatenate"].ssim > found["none"].ssim + 0.2
    assert found["concatenate"].worse < 5 < found["none"].worse  # per cent of the images that were better left alone

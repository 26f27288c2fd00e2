"""A run killed at any moment loses nothing and ends as if nothing had happened."""

import sys
from pathlib import Path

import pytest
from kills import main


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
@pytest.mark.timeout(3600)
def test_fifty_kills_of_every_stack_and_five_of_two_processes_lose_nothing(tmp_path: Path) -> None:
    alone, together = main(kills=50, writes=15, pairs=5, place=tmp_path)
    assert sum(alone.kills.values()) == 50
    assert sum(together.kills.values()) == 5
    assert set(alone.kills) == {"elman", "lstm", "gru-additive", "convolution", "transformer"}
    assert alone.writes >= 15
    for counts in (alone, together):
        assert counts.damaged == []
        assert counts.lost == []
        assert counts.different == []
        assert counts.ends > 0

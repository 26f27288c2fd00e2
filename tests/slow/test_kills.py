"""A run killed at any moment loses nothing and ends as if nothing had happened."""

import sys
from pathlib import Path

import pytest
from kills import ALONE, TOGETHER, main
from ledger import Ledger


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
@pytest.mark.timeout(3600)
def test_sixty_four_kills_of_all_stacks_and_ten_of_two_processes_lose_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "kills.jsonl")
    main(kills=64, writes=20, pairs=10, place=tmp_path / "runs", ledger=ledger)
    assert len(ledger.of("kill")) == 74
    assert {entry["label"] for entry in ledger.of("kill")} == {*ALONE, *(f"{stack} × 2" for stack in TOGETHER)}
    assert ledger.writes() >= 15
    assert ledger.of("end")
    assert ledger.wrong() == []
    again = Ledger(tmp_path / "kills.jsonl")
    main(kills=64, writes=20, pairs=10, place=tmp_path / "again", ledger=again)  # all of it is done already
    assert again.entries == ledger.entries

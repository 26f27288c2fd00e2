"""The machine code, compiled once for this machine and kept in the user's cache like any other."""

from collections.abc import Iterator

import pytest
import torch

from regard.decoding.compiled.machine_code import SWITCH, Code, MachineCode


@pytest.fixture(scope="session")
def code() -> Code:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(SWITCH, raising=False)
        found = MachineCode().make()
    if found is None:
        pytest.skip("numba is not installed")
    return found


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)

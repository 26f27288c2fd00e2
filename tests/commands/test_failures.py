"""What ended a command, in a line."""

import pytest

from regard.commands.failures import told


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")]
)
def test_too_little_memory_names_the_keys_that_help_text_and_images(error: Exception) -> None:
    line, code = told(error)
    assert line.startswith("not enough memory; ")
    assert "task.batch_tokens" in line
    assert "task.batch_images" in line
    assert (len(line.splitlines()), code) == (1, 1)

"""A hundred hostile and odd lines; the thousand are `python -m attack.texts RUN`."""

from pathlib import Path

import pytest
from attack.texts import judged, lines
from spoken import Done, regard

import regard as calls
from regard.errors import InputError


def test_every_odd_line_is_answered_with_one_line(trained: tuple[Path, Done]) -> None:
    given = [row for row in lines(110, seed=3, huge=False) if len(row[1]) < 3000]
    given.insert(7, ("10 MB", b"x" * 10_000_000))
    content = b"".join(line + b"\n" for _, line in given)
    done = regard("translate", str(trained[0]), "--json", "--beam", "1", given=content)
    found = judged(given, done.out, done.err, done.code)
    assert found["refused"] == 1
    assert found["answered"] > 50
    plain = regard("translate", str(trained[0]), "--beam", "1", given=content)
    assert plain.out.count("\n") == len(given) == len(plain.out.splitlines())


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "x" * 2_000_000], ids=["half", "other half", "endless"])
def test_what_no_line_can_hold_is_refused_in_python(text: str, trained: tuple[Path, Done]) -> None:
    with pytest.raises(InputError, match=r"texts\[1\]: (not Unicode|over 1 MiB)"):
        calls.translate(trained[0], ["a", text])

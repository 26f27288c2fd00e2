"""From loops to a file: compiles the step and writes its machine code. Run as a program, in a process of its own."""

import os
import sys
from hashlib import sha256
from importlib import import_module
from pathlib import Path

from regard.decoding.compiled.machine_code import file_name, read
from regard.disk import write
from regard.disk.cache import bound, workshop

STEP = "regard.decoding.compiled.source.step"
LARGEST = 2**24  # bytes of all that was ever compiled here


def machine_code() -> bytes:
    """The name of the step inside its object file, a check sum, and that file."""
    from regard.decoding.compiled.source.linking import linked

    name, code = linked(lambda: import_module(STEP).step)  # to import it is to compile it
    return b"\n".join([name.encode(), sha256(code).hexdigest().encode(), code])


def make(file: Path) -> None:
    """Compile and put in place at once. Who calls this has claimed the folder, so that nobody else compiles there."""
    if read(file) is not None or file.name != file_name():  # who asked has other tables than this source
        return
    with workshop(file.parent) as passing:
        write(passing / file.name, machine_code())
        (passing / file.name).replace(file)
    bound(file.parent, keep=[file.name], most=LARGEST)


if __name__ == "__main__":
    os.nice(10)
    make(Path(sys.argv[1]))

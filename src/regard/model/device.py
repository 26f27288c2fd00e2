"""Where to compute: a device by its name, asked for before anything is read."""

import torch

from regard.errors import InputError


def chosen_device(name: str, int8: bool = False) -> torch.device:
    """`cpu`, `cuda`, `cuda:1`; `auto` takes a GPU if there is one, and a CPU for eight-bit products."""
    if not isinstance(name, str):
        raise InputError(f"wanted the name of a device (cpu, cuda, cuda:1, auto), given {name!r}")
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() and not int8 else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"{name!r}: no device is called so; say cpu, cuda, cuda:1 or auto") from error
    if int8 and device.type != "cpu":
        raise InputError(
            f"{name}: eight-bit products run on a CPU; ",
            call="leave out int8=True, or say device='cpu'",
            flag="leave out --int8, or say --device cpu",
        )
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError, ImportError) as error:
        there = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
        raise InputError(f"{name!r}: no such device here; there is {', '.join(there)}") from error
    return device

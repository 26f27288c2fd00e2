"""Runs of classifiers that mean harm: what they keep of their images, and what their recipes ask."""

from typing import Any

from attack.spoil import PLACE, Spoil, folder, holds, large, link, pipe, said

FACTS = "classification.json"
VALUES: dict[str, tuple[Any, ...]] = {
    "classes": ([], ["a"], ["a", "a"], ["a"] * 300_000, ["\x1b[31m", "b"], ["../../x", "b"], "ab", {"a": 1}, [1, 2]),
    "shape": ([], [8], [0, 8], [-8, 8], [10**9, 10**9], [8.5, 8], [16, 16], "8", None, [[8], [8]]),
    "channels": (0, -1, 1, 2, 10**9, 3.0, True, "3", None),
    "fit": ("", "zoom", 3, None, ["crop"], "pad"),
    "mean": ([], [0.5], [1e308] * 3, ["a"] * 3, [[0.5]] * 3, None, [0.5] * 300_000),
    "std": ([], [0.0] * 3, [-1.0] * 3, [1e-300] * 3, [1e308] * 3, None),
    "counts": ([1], [-1, 1], [10**30, 1], "12", {"a": 1}, [0.5, 1]),
}
NUMBERS = (0, -1, 1.5, 10**9, 10**400, "many", [8, 8, 8], [10**6, 10**6])
RECIPE: dict[str, tuple[Any, ...]] = {
    "task/size": (*NUMBERS, [8, 12]),
    "task/channels": (*NUMBERS, 1, 2),
    "task/batch_images": NUMBERS,
    "task/mean": ([0.5], [1e308] * 3, "x"),
    "task/std": ([0.0] * 3, [1e-300] * 3),
    "augmentation/crop_padding": (-1, 10**9, 10**18),
    "augmentation/operations": (10**9, -1, "two"),
    "augmentation/mixup": (1e308, -1.0, 1e-300),
    "model/size": (*NUMBERS, 16),
    "model/classes": (0, 3, 10**9),
    "data/train": ("", "/", "/dev/zero", "../../beside", "**/*", "x\x00", 7),
}


def values() -> dict[str, Spoil]:
    """Figures that are none, in every place."""
    found: dict[str, Spoil] = {}
    for key, given in VALUES.items():
        found |= {f"vit: {key} of {value!r:.30}": said(FACTS, key, value) for value in given}
    for key, given in RECIPE.items():
        found |= {f"vit: {key} {value!r:.30}": said("recipe.toml", key, value) for value in given}
    found["vit: classes nested deep"] = said(FACTS, "classes", PLACE, raw="[" * 3000 + "]" * 3000)
    found["vit: another task"] = said("recipe.toml", "task", {"kind": "language"})
    found["resnet: another body"] = said("recipe.toml", "model/body/kind", "patches")
    found["resnet: blocks without end"] = said("recipe.toml", "model/body/blocks", 10**6)
    return found


def files() -> dict[str, Spoil]:
    return {
        f"resnet: {FACTS} linked": link(FACTS, f"run/{FACTS}"),
        f"resnet: {FACTS} a pipe": pipe(FACTS),
        f"resnet: {FACTS} a folder": folder(FACTS),
        f"resnet: {FACTS} of 20 GB": large(FACTS, 20 * 2**30),
        f"resnet: {FACTS} of noise": holds(FACTS, bytes(range(256)) * 40),
        f"resnet: {FACTS} empty": holds(FACTS, b""),
    }


CLASSIFIERS = values() | files()

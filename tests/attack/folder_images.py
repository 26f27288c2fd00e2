"""Runs on images that mean harm: what classifiers and restorers keep of images, and what their recipes ask."""

from typing import Any

from attack.spoil import PLACE, Spoil, folder, holds, large, link, pipe, said

FACTS, RESTORED = "classification.json", "restoration.json"
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
SPOILT: dict[str, tuple[Any, ...]] = {
    "corruption/strength": (0, -1, 1e308, "much"),
    "corruption/varies": (1.0, -0.5),
    "model/width": (0, 10**6, 5),
    "model/scales": (0, 40, 10**9),
    "model/blocks": (10**6, 2),
    "model/skips": ("some", "none"),
    "task/size": (1, [8, 12], 10**9),
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


def restorers() -> dict[str, Spoil]:
    """The same of pixels that are given back, and of how they were spoilt."""
    found: dict[str, Spoil] = {}
    for key in ("shape", "channels", "fit", "mean", "std"):
        found |= {f"unet: {key} of {value!r:.30}": said(RESTORED, key, value) for value in VALUES[key]}
    for key, given in SPOILT.items():
        found |= {f"unet: {key} {value!r:.30}": said("recipe.toml", key, value) for value in given}
    for kind in ({"kind": "squares", "count": 10**9}, {"kind": "fewer_pixels", "factor": 10**9}, {"kind": "none"}):
        found[f"unet: spoilt by {kind!r:.40}"] = said("recipe.toml", "corruption", kind)
    found["unet: another task"] = said("recipe.toml", "task", {"kind": "classification", "size": 8})
    return found


def files(victim: str, facts: str) -> dict[str, Spoil]:
    return {
        f"{victim}: {facts} linked": link(facts, f"run/{facts}"),
        f"{victim}: {facts} a pipe": pipe(facts),
        f"{victim}: {facts} a folder": folder(facts),
        f"{victim}: {facts} of 20 GB": large(facts, 20 * 2**30),
        f"{victim}: {facts} of noise": holds(facts, bytes(range(256)) * 40),
        f"{victim}: {facts} empty": holds(facts, b""),
    }


SEERS = values() | files("resnet", FACTS) | restorers() | files("unet", RESTORED)

"""What is said to the recipe gru-additive so that it is trained in a second."""

from typing import Any

SMALL: dict[str, Any] = {
    "data": {"kind": "toy", "letters": 6, "max_length": 4, "train": 90, "valid": 6, "test": 6},
    "tokenizer": "words",
    "model": {"width": 16},
    "task": {"batch_tokens": 64},
    "training": {"epochs": 0, "steps": 6, "checkpoints": {"validate_every": 3}},
    "decoding": "greedy",
}

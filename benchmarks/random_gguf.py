"""GPT-2 small with random weights as a file for llama.cpp: `python benchmarks/random_gguf.py gpt2-small.gguf`.

Speed does not depend on what weights say. Tokens have numbers for names; nobody reads what is written.
"""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from peers.shapes import SHAPES
from shown import run

SHAPE, POSITIONS = "gpt2-small", 1024


def main(file: Annotated[Path, typer.Argument(help="The file to write.")]) -> None:
    """Write all tensors in float32; llama.cpp makes smaller ones of it itself."""
    gguf: Any = import_module("gguf")
    sizes, draw = SHAPES[SHAPE], np.random.default_rng(1)
    width, words = int(sizes["width"]), int(sizes["vocab_size"])
    writer = gguf.GGUFWriter(str(file), "gpt2")
    describe(writer, sizes, words)
    for name, shape in shapes(int(sizes["layers"]), width, words).items():
        scale = 1.0 if "norm.weight" in name else 0.0 if name.endswith("bias") else None
        numbers = draw.normal(0.0, 0.02, shape) if scale is None else np.full(shape, scale, np.float64)
        writer.add_tensor(name, numbers.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def describe(writer: Any, sizes: Any, words: int) -> None:
    """All that llama.cpp asks for."""
    width, heads = int(sizes["width"]), int(sizes["attention"]["heads"])
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(4 * width)
    writer.add_block_count(int(sizes["layers"]))
    writer.add_head_count(heads)
    writer.add_layer_norm_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([f"t{number}" for number in range(words)])
    writer.add_token_types([1] * words)
    writer.add_token_merges(["t 1"])


def shapes(layers: int, width: int, words: int) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor, outputs first."""
    found: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (words, width),
        "position_embd.weight": (POSITIONS, width),
        "output_norm.weight": (width,),
        "output_norm.bias": (width,),
    }
    products = {"attn_qkv": (3, 1), "attn_output": (1, 1), "ffn_up": (4, 1), "ffn_down": (1, 4)}
    for layer in range(layers):
        for name in ("attn_norm", "ffn_norm"):
            found |= {f"blk.{layer}.{name}.{part}": (width,) for part in ("weight", "bias")}
        for name, (outputs, inputs) in products.items():
            found[f"blk.{layer}.{name}.weight"] = (outputs * width, inputs * width)
            found[f"blk.{layer}.{name}.bias"] = (outputs * width,)
    return found


if __name__ == "__main__":
    run(main)

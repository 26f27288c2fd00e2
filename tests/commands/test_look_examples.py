"""regard look --examples: pages of the notes' examples, made once and listed, and what it refuses."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from spoken import refused, regard

import regard as package


class Links(HTMLParser):
    """Where a page leads, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.ways: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ways += [given["href"] or ""] if tag == "a" else []
        self.loads += [str(given[name]) for name in ("src", "href") if given.get(name) and tag not in ("a",)]


def story(page: Path) -> dict[str, str]:
    text = page.read_text("utf-8")
    facts = text.split('id="facts">', 1)[1].split("</script>", 1)[0]
    found: dict[str, str] = json.loads(facts)["story"]
    return found


def test_pages_are_made_listed_and_kept(tmp_path: Path) -> None:
    """By hand the one, learnt the other; a second call trains nothing."""
    out = tmp_path / "pages"
    done = regard("look", "--examples", "--only", "love", "--only", "evening", "--out", str(out))
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        f"{out / 'love.html'}: set by hand",
        f"{out / 'evening.html'}: supported",
        f"Open {out / 'index.html'} in a browser.",
    ]
    told = story(out / "love.html")
    assert told["verdict"] == "set by hand"
    assert "0.72, 0.15 and 0.13" in told["found"]
    links = Links()
    links.feed((out / "index.html").read_text("utf-8"))
    assert [way.split("#")[0] for way in links.ways] == ["love.html", "evening.html"]
    assert links.loads == ["data:,"]
    found = json.loads((out / "examples.json").read_text())
    assert found["evening"]["figures"]["good → guten"] > 0.5
    weights = next((out / "runs" / "evening" / "checkpoints").glob("*/weights.safetensors"))
    before = weights.stat().st_mtime_ns
    again = regard("look", "--examples", "--only", "evening", "--out", str(out), "--json")
    assert [one["name"] for one in json.loads(again.out)] == ["evening"]
    assert weights.stat().st_mtime_ns == before
    assert list(json.loads((out / "examples.json").read_text())) == ["love", "evening"]  # the other is still listed
    assert regard("translate", str(out / "runs" / "love"), "I love you").lines == ["ich liebe dich"]


def test_the_call_makes_the_same(tmp_path: Path) -> None:
    (found,) = package.look_examples(tmp_path / "out", only=["love"])
    assert isinstance(found, package.Story)
    assert (tmp_path / "out" / found.page).is_file()
    with pytest.raises(package.InputError, match=r"SmolLM2 is not here; smollm2=True fetches it \(93 MB\)"):
        package.look_examples(tmp_path / "out", only=["apple-smollm2"])
    with pytest.raises(package.InputError, match="only: wanted names in a list"):
        package.look_examples(tmp_path / "out", only="love")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--examples", "--only", "aple"], 3, "aple: no such example; did you mean 'apple'?"),
        (["--examples", "--only", "apple-smollm2"], 3, "SmolLM2 is not here; --smollm2 fetches it (93 MB)"),
        (["run", "--examples"], 3, "--examples makes runs of its own"),
        (["run", "--only", "love"], 3, "--only and --smollm2 choose examples: say --examples too"),
        ([], 2, "missing argument 'RUN'"),
    ],
)
def test_what_cannot_be_done_is_said(words: list[str], code: int, said: str, tmp_path: Path) -> None:
    refused(code, said, "look", *words, "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_where_that_cannot_be_nor_over_a_run_of_somebody_elses(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(3, "nothing can be written there", "look", "--examples", "--out", str(tmp_path / "file"))
    run = tmp_path / "out" / "runs" / "love"
    run.mkdir(parents=True)
    (run / "recipe.toml").write_text('name = "mine"\n')
    (run / "run.json").write_text('{"format": 1, "commands": ["regard train mine"], "files": []}')
    refused(
        3, "there is a run that no example made", "look", "--examples", "--only", "love", "--out", str(run.parents[1])
    )
    assert (run / "recipe.toml").read_text() == 'name = "mine"\n'

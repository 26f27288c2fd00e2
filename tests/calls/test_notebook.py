"""A notebook executed by its kernel: everything is shown as HTML, progress on a board, and nothing is printed."""

import os
from pathlib import Path
from typing import Any

import pytest
from small_calls import SMALL

import regard
from regard.calls.hearing import in_notebook
from regard.calls.notebook import Board
from regard.training.events import Ended, Prepared, Started, Step, Validated

nbformat = pytest.importorskip("nbformat")
OWN = Path(__file__).parents[2] / "docs" / "examples" / "own_attention.py"
CELLS = {
    "imports": "import warnings\nwarnings.simplefilter('error')\nimport regard",
    "class": "",  # the example's own
    "again": "",  # a cell that is run twice
    "describe": 'regard.describe("gpt-char", {"model.decoder.attention": "cosine"})',
    "plan": f'plan = regard.plan("gru-additive", {SMALL!r})\nplan',
    "train": f'run = regard.train("gru-additive", {SMALL!r}, {{"model.decoder.attention": "cosine"}}, out="runs/a")',
    "run": "run",
    "curve": "run.curve()",
    "evaluate": "found = regard.evaluate(run)",
    "evaluation": "found",
    "beside": 'found.beside({"a": found, "b <&>": found})',
    "alignment": 'regard.look(run, "a b c")',
    "runs": "regard.runs()",
    "opened": "regard.open_run(run)",
    "menu": 'regard.menu("attention")',
    "recipes": "regard.recipes()",
    "answers": 'regard.translate(run, ["a b", "c"])',
    "data": "regard.data()",
    "error": 'regard.train("gru-aditive")',
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What each cell showed."""
    import nbclient

    code = OWN.read_text(encoding="utf-8").partition('if __name__ == "__main__"')[0]
    cells = [nbformat.v4.new_code_cell(source or code) for source in CELLS.values()]
    cells[-1]["metadata"]["tags"] = ["raises-exception"]
    book = nbformat.v4.new_notebook(cells=cells)
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(regard.__file__).parents[1]))
        patch.setenv("REGARD_CACHE", str(folder / "cache"))
        patch.setenv("OMP_NUM_THREADS", "1")
        for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, str(folder / name.lower()))
        client = nbclient.NotebookClient(book, timeout=240, resources={"metadata": {"path": str(folder)}})
        client.execute()
    keep = os.environ.get("REGARD_NOTEBOOK")  # to look at it: REGARD_NOTEBOOK=book.ipynb
    if keep:
        nbformat.write(book, keep)
    return {name: cell["outputs"] for name, cell in zip(CELLS, book["cells"], strict=True)}


def html(outputs: list[dict[str, Any]]) -> str:
    return "".join(str(one["data"].get("text/html", "")) for one in outputs if "data" in one)


def test_nothing_is_printed(outputs: dict[str, list[dict[str, Any]]]) -> None:
    for name, shown in outputs.items():
        assert [one for one in shown if one["output_type"] == "stream"] == [], name
    assert outputs["imports"] == outputs["class"] == outputs["again"] == []


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("describe", ("<details", "Cosine", "training memory: together")),
        ("plan", ("<table", "time here", "train data")),
        ("run", ("<svg", "validation loss", "gru-additive", "translation on toy")),
        ("curve", ("<svg", "validation loss")),
        ("evaluation", ("<table", "BLEU", "chrF")),
        ("beside", ("<table", "b &lt;&amp;&gt;")),
        ("alignment", ("<table", "rgba(27,120,55", "&lt;")),
        ("runs", ("<table", "runs/a", "gru-additive")),
        ("opened", ("Trained(", "<svg")),
        ("menu", ("cosine", "Only the direction counts")),
        ("recipes", ("<table", "numbers-gru", "about")),
        ("answers", ("<table", "translation", "a b")),
        ("data", ("numbers", "homeassistant")),
    ],
)
def test_results_are_shown_as_html(outputs: dict[str, list[dict[str, Any]]], cell: str, said: tuple[str, ...]) -> None:
    shown = html(outputs[cell])
    for words in said:
        assert words in shown
    assert "<script" not in shown


def test_training_is_shown_on_a_board_that_stays(outputs: dict[str, list[dict[str, Any]]]) -> None:
    (shown,) = outputs["train"]
    assert shown["output_type"] == "display_data"
    for words in ("runs/a", "6 steps", "train", "90", "<svg", "done after", "best validation"):
        assert words in html([shown])
    assert "done after" in shown["data"]["text/plain"]


def test_other_work_leaves_nothing_behind(outputs: dict[str, list[dict[str, Any]]]) -> None:
    assert html(outputs["evaluate"]) == ""
    assert html(outputs["plan"][:-1]) == ""


def test_an_error_is_one_line_at_its_end(outputs: dict[str, list[dict[str, Any]]]) -> None:
    told = next(one for one in outputs["error"] if one["output_type"] == "error")
    assert told["ename"] == "RecipeError"
    assert "did you mean 'gru-additive'?" in told["evalue"]


class Shown:
    """Stands for IPython's display: remembers what was shown."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, shown: dict[str, str], **_: Any) -> "Shown":
        self.seen.append(shown["text/html"])
        return self

    update = __call__


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    display = Shown()
    monkeypatch.setattr("IPython.display.display", display)
    return display


def test_a_board_shows_stage_bar_loss_time_and_how_it_ended(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("regard.calls.notebook.time.monotonic", lambda: now[0])
    with Board() as board:
        board.at("encoding the train data", 5, 10)
        assert "encoding the train data" in shown.seen[-1]
        assert "5/10" in shown.seen[-1]
        board(Prepared({}))
        board(Started(Path("runs/<b>"), 0, 100, 50, 12345, "tokens"))
        assert "runs/&lt;b&gt;: 12,345 parameters, 100 steps" in shown.seen[-1]
        for number in range(1, 11):
            now[0] += 1
            board(Step(number, 5.0 - number / 10, 64, 60, 1.0, 1.0, 1.0))
        assert "10/100" in shown.seen[-1]
        assert "1:30 left" in shown.seen[-1]
        assert "■</span> loss 4" in shown.seen[-1]
        board.at("scoring", 1, 4)
        assert "scoring" in shown.seen[-1]
        board(Validated(10, {"loss": 4.5, "bleu": 1.0}, True))
        assert "best validation: loss 4.500  bleu 1.00" in shown.seen[-1]
        board.say("something <odd>")
        assert "something &lt;odd&gt;" in shown.seen[-1]
        board(Ended(10, "stopped"))
    assert "stopped and saved after 0:10" in shown.seen[-1]
    assert "left" not in shown.seen[-1]


def test_a_board_says_what_failed(shown: Shown) -> None:
    with pytest.raises(regard.InputError), Board() as board:
        board.at("reading the data")
        raise regard.InputError("x < y: no such file")
    assert "failed: x &lt; y: no such file" in shown.seen[-1]
    with pytest.raises(KeyboardInterrupt), Board(stays=False) as board:
        board.at("scoring", 1, 2)
        raise KeyboardInterrupt
    assert "interrupted" in shown.seen[-1]


def test_a_board_redraws_seldom_and_keeps_few_points(shown: Shown) -> None:
    with Board() as board:
        board(Started(Path("runs/a"), 0, 5000, 50, 1, "tokens"))
        for number in range(1, 2001):
            board(Step(number, 1.0, 1, 1, 0.0, 1.0, 1.0))
    assert len(shown.seen) < 500
    assert len(shown.seen[-1]) < 20_000


def test_only_a_kernel_is_a_notebook() -> None:
    assert not in_notebook()

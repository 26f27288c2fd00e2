"""Two trees of Regard beside each other: each process sees its own, and both do the same work."""

import json
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

import beside
import regard
from beside import Kind
from regard.errors import FailedError, RecipeError
from regard.measuring.workers import take_turns
from trees.process import TreeWorker

HERE = Path(regard.__file__).parent.parent
OLD = "72bda86"


WORKS = """
from dataclasses import make_dataclass
GptShape = make_dataclass("GptShape", "layers heads width length batch vocab_size".split())
TransformerShape = make_dataclass("TransformerShape", "layers heads width hidden".split())
TrainingWork = make_dataclass("TrainingWork", "steps tokens seed".split())
DecodingWork = make_dataclass("DecodingWork", "beam least most rows".split())
IdPairs = make_dataclass("IdPairs", "pairs vocab_size pad bos eos".split())
print("what is printed is no answer")
def gpt_step_work(shape): return lambda: shape.width
def training_step_work(pairs, shape, work): return lambda: len(pairs.pairs) + work.steps
def decoding_work(pairs, shape, work, int8, shortlist_from):
    return lambda: 1000 * int8 + 100 * len(shortlist_from.pairs) + 10 * work.beam + len(pairs.pairs)
"""


def bare(folder: Path) -> Path:
    """A tree with nothing but the stable calls, which tell what they were given."""
    (folder / "regard" / "measuring").mkdir(parents=True)
    (folder / "regard" / "__init__.py").touch()
    (folder / "regard" / "measuring" / "works.py").write_text(WORKS)
    return folder


@pytest.mark.parametrize(("work", "done"), [("gpt", 16), ("training", 5), ("decoding", 1352), ("greedy", 1312)])
def test_a_tree_does_the_work_by_its_stable_calls(work: str, done: int, tmp_path: Path) -> None:
    some = {"pairs": [[[3], [4, 5]]] * 3, "vocab_size": 9, "pad": 0, "bos": 1, "eos": 2}
    (tmp_path / "pairs.json").write_text(json.dumps({"train": some, "test": some | {"pairs": [[[3], [4]]] * 2}}))
    job = beside.described(Kind(work), small=True) | {"pairs": str(tmp_path / "pairs.json")}
    workers = [TreeWorker(name, bare(tmp_path / name), job | {"int8": True, "shortlist": True}) for name in "ab"]
    one, other = take_turns([*workers], 2, lambda _: None)
    assert one.work == other.work == [done, done]


def test_a_tree_is_asked_for_its_own_regard(tmp_path: Path) -> None:
    (tmp_path / "regard").mkdir()
    (tmp_path / "regard" / "__init__.py").write_text("raise ImportError('the tree of the test')")
    worker = TreeWorker("bare", tmp_path, beside.described(Kind.GPT, small=True))
    try:
        with pytest.raises(FailedError, match="bare: ImportError: the tree of the test"):
            worker.start()
    finally:
        worker.stop()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (["a=/nowhere", f"b={HERE}"], "--tree a=/nowhere: no regard/ in"),
        ([f"a={HERE}"], "give two or more"),
        ([f"a={HERE}", f"a={HERE}"], "a name of its own"),
        ([str(HERE), str(HERE)], "say NAME=FOLDER"),
    ],
)
def test_wrong_trees_are_told(said: list[str], told: str) -> None:
    with pytest.raises(RecipeError, match=told):
        beside.trees(said)


@pytest.mark.slow
@pytest.mark.parametrize("work", Kind)
def test_the_tree_of_old_does_the_same_work(work: Kind, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = subprocess.run(
        ["git", "archive", OLD, "src", "recipes"], cwd=HERE.parent, capture_output=True, check=False
    )
    if packed.returncode:
        pytest.skip(f"the history here does not reach back to {OLD}")
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
        archive.extractall(tmp_path, filter="data")
    both = [f"old={tmp_path / 'src'}", f"new={HERE}"]
    beside.main(both, work, rounds=1, vocab_size=300, int8=True, shortlist=True, small=True, json=True)
    turns = json.loads(capsys.readouterr().out)
    assert turns[0]["work"] == turns[1]["work"] != [1]

"""regard classify: files, folders, patterns, archives and pipes; tables for machines, pictures; and bad input."""

import csv
import io
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from contracts.small import unchecked
from PIL import Image
from small_images import CLASSES, drawn, put, recipe
from spoken import refused, regard

import regard as package
from regard.datasets.images import ImageFolder
from regard.errors import InputError
from regard.training.train import training
from regard.verbs import evaluate


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier that has learnt its few classes."""
    place = tmp_path_factory.mktemp("classifier")
    with unchecked():
        list(training(recipe(put(place / "data", 20), training={"steps": 30}), out=place / "run"))
    return place / "run"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return put(tmp_path / "photos", 2, first=70)


def test_a_line_for_every_image_of_a_folder(run: Path, photos: Path) -> None:
    (photos / "notes.txt").write_text("no image")
    done = regard("classify", str(run), str(photos), "--quiet")
    assert (done.code, done.err) == (0, "")
    rows = [line.split("\t") for line in done.lines]
    assert [row[0] for row in rows] == [f"{photos}/{kind}/{n}.png" for kind in CLASSES for n in (70, 71)]
    assert [row[1] for row in rows] == [kind for kind in CLASSES for _ in range(2)]
    assert all(len(row) == 7 for row in rows)
    assert all(sum(map(float, row[2::2])) == pytest.approx(1, abs=1e-3) for row in rows)


def test_what_it_says_is_what_the_call_says(run: Path, photos: Path) -> None:
    image = photos / "up" / "70.png"
    (line,) = regard("classify", str(run), str(image), "-k", "1").lines
    (found,) = package.classify(run, image, top=1)
    assert line == f"{image}\tup\t{found.probability:.4f}"
    (pixels,) = package.classify(str(run), drawn("up", 70), top=2)
    assert (pixels.labels[0], len(pixels.labels), pixels.name) == ("up", 2, "image 1")
    assert pixels.probability == pytest.approx(found.probability)
    many = package.classify(package.open_run(run), [image, drawn("down", 70), str(photos / "f*" / "7?.png")])
    assert [one.label for one in many] == ["up", "down", "flat", "flat"]


def test_tables_and_json_are_for_machines(run: Path, photos: Path) -> None:
    done = regard("classify", str(run), str(photos / "up"), "--csv", "-k", "2")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["class"] for row in rows] == ["up", "up"]
    assert set(rows[0]) == {"image", "class", "probability", "class_2", "probability_2"}
    (photos / "up" / "70.png").write_bytes(b"oh")
    done = regard("classify", str(run), str(photos / "up"), "--json", "-k", "9")
    first, second = map(json.loads, done.lines)
    assert first == {"refused": f"{photos}/up/70.png: no image"}
    assert second["classes"][0]["class"] == "up"
    assert len(second["classes"]) == 3
    assert done.code == 3
    assert done.err.splitlines()[-1] == "regard: 1 image was not classified"
    refused(3, "--json and --csv: one of them", "classify", str(run), str(photos), "--json", "--csv")


def test_names_come_from_a_pipe_in_their_order(run: Path, photos: Path) -> None:
    names = [photos / "up" / "70.png", photos / "gone.png", photos / "down", ""]
    done = regard("classify", str(run), "-k1", given="\n".join(map(str, names)).encode())
    assert [line.split("\t")[1] for line in done.lines] == ["up", "down", "down"]
    assert f"{photos}/gone.png: no such file" in done.err
    assert done.code == 3
    again = regard("classify", str(run), "-", given=str(names[0]).encode())
    assert (again.code, len(again.lines)) == (0, 1)
    empty = regard("classify", str(run), given=b"\n\n")
    assert (empty.code, empty.out) == (0, "")
    assert "nothing was classified: there was no name" in empty.err
    refused(3, "not from both", "classify", str(run), "-", str(photos))


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_archives_are_read_in_place(kind: str, run: Path, photos: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "all"), kind, photos)
    done = regard("classify", str(run), archive, "-k", "1")
    found = dict(line.split("\t")[:2] for line in done.lines)
    assert found == {f"{archive}/{label}/{number}.png": label for label in CLASSES for number in (70, 71)}
    assert not (tmp_path / "down").exists()


def test_an_archive_that_leads_outside_is_told_and_the_rest_is_read(run: Path, photos: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.write(photos / "up" / "70.png", "../../up.png")
        archive.write(photos / "up" / "71.png", "up.png")
    done = regard("classify", str(run), str(tmp_path / "bad.zip"), "-k", "1")
    assert [line.split("\t")[1] for line in done.lines] == ["up"]
    assert "leads out of its archive" in done.err
    assert done.code == 3


def test_a_picture_shows_where_it_looked(run: Path, photos: Path, tmp_path: Path) -> None:
    image = str(photos / "up" / "70.png")
    done = regard("classify", str(run), image, "--show", str(tmp_path / "look.png"), "--quiet")
    assert done.err == f"look at {tmp_path}/look.png\n"
    assert Image.open(io.BytesIO((tmp_path / "look.png").read_bytes())).size[0] > 600
    regard("classify", str(run), str(photos), "--show", str(tmp_path / "looks"))
    before = photos.joinpath("up", "70.png").read_bytes()
    for there in (image, str(photos / "up"), str(tmp_path / "look.png")):
        done = regard("classify", str(run), image, "--show", there)
        assert done.code == 3
        assert "there already; name another place, or say that it may be overwritten: --overwrite" in done.err
    assert photos.joinpath("up", "70.png").read_bytes() == before
    assert regard("classify", str(run), image, "--show", str(tmp_path / "look.png"), "--overwrite").code == 0
    names = {path.name for path in (tmp_path / "looks").iterdir()}
    assert names == {f"{n}{more}.png" for n in (70, 71) for more in ("", "-2", "-3")}
    for several in ([str(photos)], [image, image]):
        refused_ = regard("classify", str(run), *several, "--show", str(tmp_path / "one.png"))
        assert (refused_.code, refused_.out) == (3, "")  # before any of them is classified
        assert "one picture, and there are several images; name a folder" in refused_.err
    assert not (tmp_path / "one.png").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["https://example.org/cat.png"], "nothing is fetched from the network"),
        (["HTTP://example.org/cat.png"], "nothing is fetched from the network"),
        (["gone.png"], "gone.png: no such file"),
        (["EMPTY"], "no image in it"),
        (["EMPTY/*.png"], "no image matches this pattern"),
        ([" "], "an empty name"),
    ],
)
def test_what_names_no_image_is_refused(words: list[str], said: str, run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(3, said, "classify", str(run), *(word.replace("EMPTY", str(tmp_path / "empty")) for word in words))


def broken(folder: Path) -> dict[str, str]:
    """Images that are none, and what is said of each."""
    whole = io.BytesIO()
    Image.fromarray(np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8)).save(whole, "JPEG")
    head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (30000).to_bytes(4) * 2 + b"\x08\x02\x00\x00\x00"
    import zlib

    bomb = head + zlib.crc32(head[12:]).to_bytes(4) + b"\x00\x00\x00\x00IDAT" + zlib.crc32(b"IDAT").to_bytes(4)
    contents = {
        "text.png": (b"hello", "no image"),
        "cut.jpg": (whole.getvalue()[:600], "cut off"),
        "empty.gif": (b"", "empty"),
        "bomb.png": (bomb, "million pixels"),
    }
    folder.mkdir()
    for name, (content, _) in contents.items():
        (folder / name).write_bytes(content)
    return {name: said for name, (_, said) in contents.items()}


def test_what_is_no_image_is_one_line_and_the_others_go_on(run: Path, photos: Path, tmp_path: Path) -> None:
    told = broken(tmp_path / "bad")
    for name, said in told.items():
        refused(3, said, "classify", str(run), str(tmp_path / "bad" / name))
    done = regard("classify", str(run), str(tmp_path / "bad"), str(photos), "-k", "1")
    assert len(done.lines) == 6
    assert done.code == 3
    assert len(done.err.splitlines()) == 5
    assert done.err.splitlines()[-1] == "regard: 4 images were not classified"
    with pytest.raises(InputError, match="no image"):
        package.classify(run, tmp_path / "bad" / "text.png")


def test_many_that_are_none_are_counted(run: Path, tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}.png").write_bytes(b"no")
    done = regard("classify", str(run), str(tmp_path))
    assert len(done.err.splitlines()) == 7
    assert "4 more that are not named here" in done.err
    assert "9 images were not classified" in done.err


def test_names_give_no_orders_to_a_terminal(run: Path, photos: Path) -> None:
    odd = photos / "a\tb\nc\x1b[31m.png"
    shutil.copy(photos / "up" / "70.png", odd)
    done = regard("classify", str(run), str(odd), "-k", "1")
    assert len(done.lines) == 1
    assert len(done.lines[0].split("\t")) == 3
    assert "\x1b" not in done.out


def test_only_a_classifier_classifies(tmp_path: Path, photos: Path, run: Path, trained: tuple[Path, object]) -> None:
    refused(3, "not a classifier; its task is translation", "classify", str(trained[0]), str(photos))
    refused(3, "not a translator; its task is classification", "translate", str(run), "hello")
    refused(3, "nowhere: ", "classify", str(tmp_path / "nowhere"), str(photos))
    refused(2, "cannot be changed once a run is trained", "evaluate", str(run), "task.size=3")


NO_IMAGES = [None, 3, [None], [np.zeros((2, 2, 2), np.uint8)], [np.zeros((4, 4))], np.zeros((0, 3), np.uint8)]


@pytest.mark.parametrize("given", NO_IMAGES)
def test_what_is_no_image_in_python_is_refused(given: object, run: Path) -> None:
    with unchecked(), pytest.raises(InputError, match="wanted|empty"):
        package.classify(run, given)  # type: ignore[arg-type]


@pytest.mark.parametrize("top", [0, True, "2", 1.0])
def test_a_number_of_classes_is_a_whole_one(top: object, run: Path) -> None:
    with unchecked(), pytest.raises(InputError, match="top: wanted a whole number from 1"):
        package.classify(run, drawn("up", 1), top=top)  # type: ignore[arg-type]


def test_an_evaluation_leaves_tables_and_pictures(run: Path, tmp_path: Path) -> None:
    done = regard("evaluate", str(run), "--out", str(tmp_path / "out"))
    assert done.code == 0, done.err
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"confusion.png", "predictions.csv"}
    assert "accuracy" in done.out
    assert ["class", "images", "recall", "precision"] in [line.split() for line in done.lines]
    table = json.loads(regard("evaluate", str(run), "--out", str(tmp_path / "out"), "--json").out)
    assert table["accuracy"] == evaluate(run).scores["accuracy"] > 80
    assert len(table["confusion"]) == 3


def test_runs_are_compared_and_other_images_are_scored(run: Path, photos: Path, tmp_path: Path) -> None:
    done = regard("evaluate", str(run), "--against", str(run), "--on", str(photos), "--out", str(tmp_path / "out"))
    assert done.code == 0, done.err
    assert "6 images of photos\n" in done.out
    assert sum(line.startswith("accuracy ") for line in done.lines) == 2
    refused(3, "no such folder or file", "evaluate", str(run), "--on", str(tmp_path / "gone"))


def test_images_it_was_trained_on_are_recognised(run: Path, photos: Path, tmp_path: Path) -> None:
    """Also a class of them, or the folder around; not images of another folder."""
    own = run.parent / "data"
    for on, learnt in ((own, True), (run.parent, True), (own / "..", True), (photos, None)):
        scored = evaluate(run, on=on).scored
        assert scored is not None
        assert (scored.split, scored.learnt) == (None, learnt)
    assert "images of data, which it was trained on" in evaluate(run, on=own).about


def test_images_held_out_of_a_folder_are_not_those_it_was_trained_on(photos: Path, tmp_path: Path) -> None:
    for split in ("train", "test"):
        shutil.copytree(photos, tmp_path / "all" / split)
        put(tmp_path / "all" / split, 2, first=30 if split == "train" else 40)
    data = ImageFolder(train=str(tmp_path / "all"))
    for split, learnt in (("train", True), ("test", False)):
        other = ImageFolder(train=str(tmp_path / "all" / split))
        assert data.trains_on(other.origins("train")) == learnt


def test_a_packed_run_classifies_without_its_images(run: Path, photos: Path, tmp_path: Path) -> None:
    assert regard("pack", str(run), "--out", str(tmp_path / "packed")).code == 0
    assert (tmp_path / "packed" / "classification.json").exists()
    done = regard("classify", str(tmp_path / "packed"), str(photos / "down" / "70.png"), "-k", "1")
    assert done.lines[0].split("\t")[1] == "down"
    assert "classify" in (tmp_path / "packed" / "README.md").read_text()


def test_eight_bits_answer_alike(run: Path, photos: Path) -> None:
    whole, rounded = (package.classify(run, photos, int8=int8) for int8 in (False, True))
    assert [one.label for one in rounded] == [one.label for one in whole]
    told = [json.loads(line) for line in regard("classify", str(run), str(photos), "--int8", "--json").lines]
    chances = [one["classes"][0]["probability"] for one in told]
    assert chances == pytest.approx([one.probability for one in rounded], abs=1e-5)
    assert chances != pytest.approx([one.probability for one in whole], abs=1e-5)  # they were asked for


def test_a_look_inside_is_shown_written_and_refused_in_a_line(run: Path, photos: Path, tmp_path: Path) -> None:
    image = str(photos / "up" / "70.png")
    done = regard("look", str(run), image)
    assert (done.code, done.err) == (0, "")
    assert done.lines[0].startswith(("rollout of encoder self-attention", "influence of the source", "this model"))
    assert "classes: up " in done.out
    for name in ("x.png", "x.csv", "x.json", "x.html"):
        assert regard("look", str(run), image, "--out", str(tmp_path / name)).lines[-1].startswith(("Look", "Open"))
        assert (tmp_path / name).stat().st_size > 100
    assert json.loads((tmp_path / "x.json").read_text())["image"]["channels"] == 3
    assert json.loads(regard("look", str(run), "--json", given=f"{image}\n".encode()).out)["read"] == image
    assert json.loads(regard("look", str(run), image, "--target", "down", "--json").out)["written"] == "down"
    assert package.look(run, photos / "up" / "70.png").scene.written == "up"
    assert package.look(run, drawn("up", 70)).scene.read == "the image"
    refused(3, "several images; name one of them", "look", str(run), str(photos))
    refused(3, "no such file", "look", str(run), "a text")
    refused(3, "no class of this run; there are", "look", str(run), image, "--target", "cow")
    refused(3, "leave out --tokens", "look", str(run), image, "--tokens", "3")

"""regard restore: files, folders, archives and pipes; pictures of before and after, trials, and bad input."""

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from contracts.small import unchecked
from PIL import Image
from small_images import drawn, put
from small_restorers import restoring
from spoken import refused, regard

import regard as package
from regard.errors import InputError
from regard.tasks.images.places import Places
from regard.training.train import training


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A restorer that has begun to learn."""
    place = tmp_path_factory.mktemp("restorer")
    with unchecked():
        list(training(restoring(put(place / "data", 6)), out=place / "run"))
    return place / "run"


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return put(tmp_path / "photos", 1, first=70)


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.array(image)


def test_every_image_of_a_folder_is_written_and_told(run: Path, photos: Path) -> None:
    (photos / "notes.txt").write_text("no image")
    Image.fromarray(drawn("up", 3, 20, 30, 1)[:, :, 0]).save(photos / "grey.png")
    done = regard("restore", str(run), str(photos), "--quiet")
    assert (done.code, done.err) == (0, "")
    told = dict(line.split("\t") for line in done.lines)
    assert set(told.values()) == {f"restored/{name}.png" for name in ("70", "70-2", "70-3", "grey")}
    assert pixels(Path("restored/grey.png")).shape == (20, 30)
    for name, made in told.items():
        assert pixels(Path(made)).shape == pixels(Path(name)).shape
        assert not np.array_equal(pixels(Path(made)), pixels(Path(name)))


def test_what_is_written_is_what_the_call_gives(run: Path, photos: Path, tmp_path: Path) -> None:
    image = photos / "up" / "70.png"
    regard("restore", str(run), str(image), "--out", "one.png")
    (found,) = package.restore(run, image)
    assert found.path is None
    assert np.array_equal(found.pixels, pixels(Path("one.png")))
    assert np.array_equal(found.before, drawn("up", 70))
    both = package.restore(package.open_run(run), [drawn("up", 70), str(image)], out=tmp_path / "both")
    assert [one.path for one in both] == [tmp_path / "both" / name for name in ("image 1.png", "70.png")]
    assert all(np.array_equal(one.pixels, found.pixels) for one in both)
    fixed = drawn("up", 70)
    fixed.setflags(write=False)
    assert np.array_equal(package.restore(run, fixed)[0].pixels, found.pixels)


def test_a_trial_spoils_measures_and_shows(run: Path, photos: Path) -> None:
    image = str(photos / "up" / "70.png")
    words = ["restore", str(run), image, "--corrupt", "--show", "look.png", "--json", "--quiet"]
    done = regard(*words)
    assert done.err == "look at look.png\n"
    (told,) = map(json.loads, done.lines)
    assert (told["image"], told["restored"], told["rows"], told["columns"]) == (image, "restored/70.png", 9, 10)
    (found,) = package.restore(run, image, corrupt=True)
    assert told["psnr"] == pytest.approx(found.psnr)
    assert 5 < told["psnr"]["before"] < 15  # noise of 0.3, cut off at black and white
    assert Image.open(io.BytesIO(Path("look.png").read_bytes())).size[0] > 1_000  # three images
    regard(*words[:3], "--out", "two", "--show", "looks")
    assert Path("looks/70.png").is_file()
    refused(3, "look.png: there already", *words, "--out", "again")
    both = package.restore(run, [image, image], corrupt=True)
    assert not np.array_equal(both[0].before, both[1].before)  # each is spoilt in its own way
    done = regard("restore", str(run), image, image, "--corrupt", "--out", "three", "--quiet")
    decibels = [[f"{one.psnr[when]:.2f} dB" for when in ("before", "after")] for one in both]
    assert [line.split("\t")[2:] for line in done.lines] == decibels


def test_names_that_differ_in_case_alone_get_places_of_their_own(tmp_path: Path) -> None:
    places = Places(tmp_path)
    assert [places.next(name).name for name in ("a/cat.jpg", "b/Cat.png", "")] == ["cat.png", "Cat-2.png", "image.png"]


def test_names_come_from_a_pipe_and_archives_are_read_in_place(run: Path, photos: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "all"), "zip", photos)
    given = f"{photos / 'up' / '70.png'}\n{photos / 'gone.png'}\n{archive}\n\n".encode()
    done = regard("restore", str(run), "--json", "--out", "out", given=given)
    rows = list(map(json.loads, done.lines))
    assert rows[1] == {"refused": f"{photos}/gone.png: no such file"}
    assert [row["restored"] for row in rows if "image" in row] == [
        f"out/70{more}.png" for more in ("", "-2", "-3", "-4")
    ]
    assert done.code == 3
    assert done.err.splitlines()[-1] == "regard: 1 image was not restored"


def test_nothing_is_written_over(run: Path, photos: Path) -> None:
    image = photos / "up" / "70.png"
    before = image.read_bytes()
    refused(3, "there already; name another place", "restore", str(run), str(image), "--out", str(image.parent))
    assert image.read_bytes() == before
    regard("restore", str(run), str(image))
    refused(3, "--overwrite", "restore", str(run), str(image))
    assert regard("restore", str(run), str(image), "--overwrite").code == 0
    with pytest.raises(InputError, match="overwrite=True"):
        package.restore(run, image, out="restored")
    single = ("restore", str(run), str(image), "--out", "single.png", "--show", "both.png")
    assert [regard(*single).code, regard(*single).code, regard(*single, "--overwrite").code] == [0, 3, 0]
    several = regard("restore", str(run), str(photos), "--out", "one.png")
    assert (several.code, several.out, Path("one.png").exists()) == (3, "", False)
    with pytest.raises(InputError, match="one picture, and there are several"):
        package.restore(run, photos, show="one.png")
    assert "one picture, and there are several images; name a folder" in several.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["https://example.org/cat.png"], "nothing is fetched from the network"),
        (["gone.png"], "gone.png: no such file"),
        (["photos/*.gif"], "no image matches this pattern"),
        ([" "], "an empty name"),
        (["-", "photos"], "not from both"),
        (["photos", "--out", "all.jpg"], "pictures are written as .png; name one, or a folder"),
        (["photos", "--show", "all.jpg"], "pictures are written as .png, .svg, .pdf; name one, or a folder"),
    ],
)
def test_what_names_no_image_is_refused(words: list[str], said: str, run: Path, photos: Path) -> None:
    refused(3, said, "restore", str(run), *words)


def test_what_is_no_image_is_one_line_and_the_others_go_on(run: Path, photos: Path) -> None:
    (photos / "text.png").write_bytes(b"hello")
    refused(3, "text.png: no image", "restore", str(run), str(photos / "text.png"))
    done = regard("restore", str(run), str(photos))
    assert len(done.lines) == 3
    assert done.code == 3
    assert done.err.splitlines()[-1] == "regard: 1 image was not restored"
    with pytest.raises(InputError, match="no image"):
        package.restore(run, photos / "text.png")


def test_a_place_that_cannot_be_written_is_one_line(run: Path, photos: Path) -> None:
    Path("file").write_text("x")
    refused(1, "file", "restore", str(run), str(photos), "--out", "file/inside")


def test_only_a_restorer_restores(run: Path, photos: Path, trained: tuple[Path, object]) -> None:
    refused(3, "not a restorer; its task is translation", "restore", str(trained[0]), str(photos))
    refused(3, "not a classifier; its task is restoration", "classify", str(run), str(photos))


@pytest.mark.parametrize("given", [None, 3, b"a.png", {"a": 1}, [None], [np.zeros((4, 4))], np.zeros((0, 3), np.uint8)])
def test_what_is_no_image_in_python_is_refused(given: object, run: Path) -> None:
    with unchecked(), pytest.raises(InputError, match="wanted|empty"):
        package.restore(run, given)  # type: ignore[arg-type]


def test_runs_are_evaluated_beside_each_other_and_otherwise_spoilt(run: Path, photos: Path) -> None:
    done = regard("evaluate", str(run), "--against", str(run), "--on", str(photos), "--out", "out")
    assert done.code == 0, done.err
    assert "3 images of photos\n" in done.out
    assert sum(line.strip().startswith("PSNR") for line in done.lines) == 2
    for ending in ("png", "csv"):  # under the name of the data, beside what else was examined
        assert len(list(Path("out").glob(f"restored-photos-*.{ending}"))) == 1
    found = [
        json.loads(regard("evaluate", str(run), "--out", "out", "--json", *more).out)["psnr_corrupted"]
        for more in ([], ["corruption.strength=0.05"])
    ]
    assert found[1] > found[0] + 5
    refused(2, "cannot be changed once a run is trained", "evaluate", str(run), "task.size=3")


def test_images_it_was_trained_on_are_recognised(run: Path, photos: Path) -> None:
    for on, learnt in ((run.parent / "data", True), (photos, None)):
        scored = json.loads(regard("evaluate", str(run), "--on", str(on), "--out", "out", "--json").out)["scored"]
        assert (scored["split"], scored["learnt"]) == (None, learnt)


def test_there_is_nothing_to_look_at_and_what_to_do_instead(run: Path, photos: Path) -> None:
    image = str(photos / "up" / "70.png")
    refused(3, "regard restore RUN IMAGE --show x.png", "look", str(run), image)
    with pytest.raises(InputError, match=r"regard\.restore\(run, image, show=…\)"):
        package.look(run, image)

"""Images that users ask about: what a name stands for, and how many are held at a time."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from painted import classes, colour, image, tree

from regard.datasets.images import asked
from regard.datasets.images.asked import Read, asked_images, in_groups
from regard.errors import InputError


def colours(path: Path) -> list[list[int]]:
    return [one.pixels()[0, 0].tolist() for one in asked_images([path])]


@pytest.mark.parametrize("table", ["file,class\n{0},a\n{1},b\n", "{0},a\n{1},b\n", "image\n{0}\n{1}\n", "{0}\n{1}\n"])
def test_a_table_need_not_say_what_its_images_show(table: str, tmp_path: Path) -> None:
    tree(tmp_path, {"0.png": image(0), "1.png": image(1)})
    (tmp_path / "some.csv").write_text(table.format("0.png", "1.png"))
    assert colours(tmp_path / "some.csv") == [list(colour(0)), list(colour(1))]


@pytest.mark.parametrize("label", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_nor_need_a_parquet_file(label: bool, named: bool, tmp_path: Path) -> None:
    rows = [{"bytes": image(n), **({"path": f"{n}.png"} if named else {})} for n in range(3)]
    pq.write_table(pa.table({"image": rows, **({"label": [0, 1, 0]} if label else {})}), tmp_path / "some.parquet")
    assert colours(tmp_path / "some.parquet") == [list(colour(n)) for n in range(3)]


def test_a_table_without_images_says_what_would_be_one(tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text("where,what\na.png,b\n")
    with pytest.raises(
        InputError, match=r"which column is the image is not clear; there are: where, what\ncall it 'im"
    ):
        colours(tmp_path / "some.csv")


def test_no_more_are_held_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is read when its turn comes, however many there are."""
    monkeypatch.setattr(asked, "HELD", 100)
    read: list[int] = []

    def some() -> Iterator[Read | InputError]:
        for number, size in enumerate((40, 40, 40, 500, 1, 1)):
            read.append(number)
            yield InputError("no image") if number == 1 else (str(number), np.zeros((1, 1, size), np.uint8))

    groups = in_groups(some(), 3)
    assert len(next(groups)) == 3
    assert read == [0, 1, 2]
    assert [len(group) for group in groups] == [1, 2]


def test_a_folder_that_may_not_be_looked_into_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.datasets.images import tree as room

    folder, look = Path(tree(tmp_path / "all", classes("cat", "dog", count=2))), room.os.scandir

    def closed(path: Path) -> object:
        if path.name == "dog":
            raise PermissionError(13, "Permission denied")
        return look(path)

    monkeypatch.setattr(room.os, "scandir", closed)
    assert [(one.name, one.bad) for one in room.Tree(folder).entries()] == [
        ("cat/0.png", ""), ("cat/1.png", ""), ("dog", "not to be read")
    ]  # fmt: skip

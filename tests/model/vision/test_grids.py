"""Positions in rows and columns, and what becomes of them when images have another size."""

import pytest
import torch
from torch import Tensor

from regard.model.build import build
from regard.model.positions import Grid, Learned, Rotary, Sinusoidal, Where, regrid
from regard.model.weights import named, stretched
from regard.recipe import RecipeError

GRID = Grid(3, 5, 2)


def vit(size: list[int], pooling: str = "cls", **encoder: object) -> torch.nn.Module:
    stack = {"kind": "transformer", "layers": 2, "attention": {"kind": "multihead", "heads": 2}} | encoder
    body = {"kind": "patches", "width": 16, "patch": [2, 3], "pooling": pooling, "encoder": stack}
    return build({"model": {"kind": "image_classifier", "size": size, "body": body}})


def test_tokens_stand_row_by_row_behind_those_that_stand_nowhere() -> None:
    rows, columns = GRID.places(torch.device("cpu"))
    assert GRID.count == 17
    assert rows.tolist() == [0, 0] + [0] * 5 + [1] * 5 + [2] * 5
    assert columns.tolist() == [0, 0] + list(range(5)) * 3


def test_waves_tell_the_row_in_one_half_and_the_column_in_the_other() -> None:
    scheme = Sinusoidal(14)
    scheme.lay_out(GRID)
    waves = scheme.embed(torch.zeros(1, 17, 14), Where(0, 17))[0]
    assert (waves[:2] == 0).all()
    patches = waves[2:].view(3, 5, 14)
    assert torch.equal(patches[:, :, :7], patches[:, :1, :7].expand(3, 5, 7))
    assert torch.equal(patches[:, :, 7:], patches[:1, :, 7:].expand(3, 5, 7))
    assert len(patches.flatten(0, 1).unique(dim=0)) == 15


@pytest.mark.parametrize("width", [4, 6, 8, 12])
def test_turned_products_depend_on_how_many_rows_and_columns_lie_between(width: int) -> None:
    scheme = Rotary(width)
    scheme.check_head(width)
    scheme.lay_out(GRID)
    query, key = torch.randn(2, 1, 1, 1, width, dtype=torch.float64)
    asked, keys = (scheme.rotate(each.expand(1, 1, 17, -1), Where(0, 17))[0, 0] for each in (query, key))
    assert torch.equal(asked[:2], query.view(1, -1).expand(2, -1))
    scores = (asked[2:] @ keys[2:].T).view(3, 5, 3, 5)
    torch.testing.assert_close(scores[0, 1, 1, 3], scores[1, 2, 2, 4])
    torch.testing.assert_close(scores[0, 0, 0, 1], scores[2, 3, 2, 4])
    assert not torch.isclose(scores[0, 0, 0, 1], scores[0, 0, 1, 0])
    assert not torch.isclose(scores[0, 0, 0, 1], scores[0, 1, 0, 0])


def test_heads_too_narrow_for_rows_and_columns_are_refused() -> None:
    with pytest.raises(RecipeError, match="one pair by the row, one by the column; choose fewer heads"):
        vit([4, 6], positions="rotary", attention={"kind": "multihead", "heads": 8})


@pytest.mark.parametrize("limit", [3, 13, 1024])
def test_learned_positions_are_as_many_as_there_are_patches(limit: int) -> None:
    model = vit([8, 9], positions={"kind": "learned", "limit": limit})
    assert model.body.encoder.positions.table.weight.shape == (1 + 4 * 3, 16)
    assert model.body.encoder.limit == 13
    assert model(torch.zeros(1, 3, 8, 9)).shape == (1, 10)


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "rotary", "learned"])
def test_rows_are_told_from_columns(positions: str) -> None:
    """A stroke across differs from a stroke down; without positions only if patches are cut through."""
    model = vit([8, 12], pooling="mean", positions=positions).double().eval()
    across, down = torch.zeros(2, 1, 3, 8, 12, dtype=torch.float64)
    across[..., 2:4, :] = 1  # one row of four patches
    down[..., :, 3:6] = 1  # one column of four
    assert torch.allclose(model(across), model(down)) == (positions == "none")


def table(grid: Grid) -> Tensor:
    return torch.randn(grid.count, 4, generator=torch.Generator().manual_seed(0))


def test_the_same_grid_keeps_its_table_and_a_plain_one_stays_plain() -> None:
    given = table(GRID)
    assert torch.equal(regrid(given, GRID, GRID), given)
    plain = regrid(torch.ones(17, 4), GRID, Grid(7, 2, 2))
    torch.testing.assert_close(plain, torch.ones(16, 4))


def test_what_stands_nowhere_keeps_its_vector_or_goes() -> None:
    given = table(GRID)
    assert torch.equal(regrid(given, GRID, Grid(6, 6, 2))[:2], given[:2])
    assert torch.equal(regrid(given, GRID, Grid(3, 5, 1)), torch.cat([given[:1], given[2:]]))
    assert torch.equal(regrid(given, GRID, Grid(3, 5)), given[2:])
    with pytest.raises(ValueError, match="2 tokens outside the grid cannot be those of 3"):
        regrid(given, GRID, Grid(3, 5, 3))


def test_half_precision_is_drawn_out_in_full_and_rounded_once() -> None:
    given = table(GRID).bfloat16()
    found = regrid(given, GRID, Grid(4, 4, 2))
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, regrid(given.float(), GRID, Grid(4, 4, 2)).bfloat16())


def test_weights_for_another_size_differ_in_their_positions_alone() -> None:
    small, large = vit([8, 9], positions="learned"), vit([12, 18], positions="learned")
    given = {name: tensor.detach() for name, tensor in named(small).items()}
    found = stretched(given, small, large)
    place = "body.encoder.positions.table.weight"
    assert {name for name in given if found[name] is not given[name]} == {place}
    assert torch.equal(found[place], regrid(given[place], Grid(4, 3, 1), Grid(6, 6, 1)))
    assert {name: tensor.shape for name, tensor in found.items()} == {
        name: tensor.shape for name, tensor in named(large).items()
    }


def test_from_a_class_token_to_the_mean_its_position_goes() -> None:
    former, model = vit([8, 9], positions="learned"), vit([8, 9], "mean", positions="learned")
    given = {name: tensor.detach() for name, tensor in named(former).items()}
    place = "body.encoder.positions.table.weight"
    assert torch.equal(stretched(given, former, model)[place], given[place][1:])
    back = {name: tensor.detach() for name, tensor in named(model).items()}
    assert stretched(back, model, former)[place] is back[place]


def test_texts_keep_their_positions() -> None:
    model = build({"model": {"kind": "language_model", "width": 8, "decoder": {"kind": "transformer", "layers": 1,
        "attention": {"kind": "multihead", "heads": 2}, "positions": {"kind": "learned", "limit": 9}}}})  # fmt: skip
    given = {name: tensor.detach() for name, tensor in named(model).items()}
    assert stretched(given, model, model) == given
    assert [part.limit for part in model.modules() if isinstance(part, Learned)] == [9]

import json

import pytest
import torch
from torch import nn

from regard import matmul
from regard.errors import InputError
from regard.matmul import choose_matmul, multiply_with

MODEL = nn.Sequential(nn.Linear(96, 160), nn.Linear(160, 32), nn.LayerNorm(32))


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    monkeypatch.delenv(matmul.VARIABLE, raising=False)


def answer_with(monkeypatch, speedup, error):
    asked = []
    monkeypatch.setattr(matmul, "measure", lambda sizes: asked.append(sizes) or (speedup, error))
    return asked


@pytest.mark.parametrize(
    ("speedup", "error", "library"),
    [(2.1, 1.5, "onednn"), (1.2, 1.0, "mkl"), (3.0, 1000.0, "mkl"), (0.4, 1.0, "mkl"), (1.25, 4.0, "onednn")],
)
def test_onednn_is_taken_where_it_is_faster_and_as_exact(monkeypatch, speedup, error, library):
    answer_with(monkeypatch, speedup, error)
    choice = choose_matmul(MODEL)
    assert choice.library == library
    assert f"{speedup:.2f}" in str(choice)
    assert ("rounds" in str(choice)) == (error > 4)
    assert ("too little to change" in str(choice)) == (speedup == 1.2)


def test_what_was_measured_is_kept_for_the_same_sizes(monkeypatch, tmp_path):
    asked = answer_with(monkeypatch, 2.0, 1.0)
    assert choose_matmul(MODEL) == choose_matmul(MODEL)
    choose_matmul(MODEL, rows=8)
    assert asked == [[(512, 96, 160), (512, 160, 32)], [(8, 96, 160), (8, 160, 32)]]
    for file in (tmp_path / "machine").iterdir():
        assert json.loads(file.read_text())["processor"] == matmul.describe_processor()
        file.write_text('{"speedup": "fast"}')
    assert choose_matmul(MODEL).library == "onednn"
    assert len(asked) == 3


@pytest.mark.parametrize("speedup", ["1" + "0" * 400, "NaN", "-2", "0", "Infinity", "[2]", "null"])
@pytest.mark.parametrize("row", ['{"speedup": %s, "error": 1}', '{"speedup": 2, "error": %s}'])
def test_a_damaged_measurement_is_made_anew(monkeypatch, tmp_path, row, speedup):
    asked = answer_with(monkeypatch, 2.0, 1.0)
    choose_matmul(MODEL)
    [file] = (tmp_path / "machine").iterdir()
    file.write_text(row % speedup)
    assert choose_matmul(MODEL) == matmul.Matmul("onednn", 2.0, 1.0)
    assert len(asked) == 2


def test_another_instruction_set_is_measured_anew(monkeypatch):
    asked = answer_with(monkeypatch, 2.0, 1.0)
    choose_matmul(MODEL)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    choose_matmul(MODEL)
    assert len(asked) == 2


@pytest.mark.parametrize("wanted", ["mkl", "onednn"])
def test_a_library_that_is_named_is_not_measured(monkeypatch, wanted):
    asked = answer_with(monkeypatch, 1.0, 1.0)
    assert choose_matmul(MODEL, wanted).library == wanted
    monkeypatch.setenv(matmul.VARIABLE, wanted)
    assert choose_matmul(MODEL).library == wanted
    assert not asked


def test_a_wrong_name_in_the_environment_is_refused(monkeypatch):
    monkeypatch.setenv(matmul.VARIABLE, "blas")
    with pytest.raises(InputError, match="REGARD_MATMUL: expected auto, mkl or onednn, got 'blas'"):
        choose_matmul(MODEL)


def test_a_model_without_matrices_needs_no_measurement(monkeypatch):
    asked = answer_with(monkeypatch, 9.0, 1.0)
    assert choose_matmul(nn.Conv2d(3, 8, 3)).library == "mkl"
    assert choose_matmul(MODEL.bfloat16()).library == "mkl"
    MODEL.float()
    assert not asked


def test_the_switch_is_put_back_even_after_an_error():
    before = torch.backends.mkldnn.matmul.fp32_precision
    with pytest.raises(KeyError), multiply_with("onednn"):
        assert torch.backends.mkldnn.matmul.fp32_precision == "bf16"
        with multiply_with("mkl"):
            assert torch.backends.mkldnn.matmul.fp32_precision == "ieee"
        assert torch.backends.mkldnn.matmul.fp32_precision == "bf16"
        raise KeyError
    assert torch.backends.mkldnn.matmul.fp32_precision == before


def test_a_measurement_sees_what_is_exact_and_leaves_the_threads_alone():
    threads = torch.get_num_threads()
    speedup, error = matmul.measure([(64, 48, 80)])
    assert speedup > 0
    assert 0.1 < error < 10 or error > 100  # float32 in both, or rounded to bfloat16: nothing lies between
    assert torch.get_num_threads() == threads


def test_products_rounded_to_bfloat16_are_seen(monkeypatch):
    class Rounding:
        """As oneDNN on a processor with AMX, where the switch is on."""

        def __init__(self, library):
            self.library = library

        def __enter__(self):
            self.before = torch.Tensor.__matmul__
            if self.library == "onednn":
                monkeypatch.setattr(
                    torch.Tensor, "__matmul__", lambda a, b: torch.mm(a.bfloat16().float(), b.bfloat16().float())
                )

        def __exit__(self, *_):
            monkeypatch.setattr(torch.Tensor, "__matmul__", self.before)

    monkeypatch.setattr(matmul, "multiply_with", Rounding)
    assert matmul.measure([(64, 48, 80)])[1] > 100

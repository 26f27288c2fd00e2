"""What the compiled step leaves alone, what it leaves to torch, and what it does with weights that are no numbers."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from compiled import Compiled, close
from contracts.small import Case, small, tokens
from torch import Tensor, nn

from regard.decoding.compiled import caller
from regard.decoding.compiled import stepper as room
from regard.decoding.compiled.machine_code import Code
from regard.decoding.compiled.stepper import Stepper
from regard.model.quantize import quantize
from regard.model.watch import silenced, watch

MARK = 777.0


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with torch.inference_mode():
        yield


def language_model(seed: int = 0, **decoder: Any) -> Any:
    table = small("decoder", "transformer", positions=small("positions", "rotary"), **decoder)
    return Case("model", small("model", "language_model", decoder=table)).build(seed)


def begun(model: Any, rows: int = 3, prompt: int = 5) -> Any:
    memory = model.start(rows=rows)
    model.step(tokens(rows, prompt), memory)
    return memory


def next_logits(model: Any, memory: Any, seed: int = 7) -> Tensor:
    found: Tensor = model.head(model.step(tokens(memory.rows, 1, seed), memory))[:, -1]
    return found


def marked(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """The same numbers inside a larger tensor, so that whatever is written beside them is seen."""
    larger = torch.full([size + 6 for size in tensor.shape], MARK)
    inside = larger[tuple(slice(3, 3 + size) for size in tensor.shape)]
    inside.copy_(tensor.nan_to_num())  # where nothing is held yet, anything may stand
    return inside, larger


@pytest.mark.parametrize("pattern", ["causal", "window", "local_global"])
def test_nothing_is_written_but_the_new_column(code: Code, pattern: str) -> None:
    model = language_model(pattern=small("pattern", pattern))
    memory, stepper = begun(model), Stepper(code, model)
    stepper.step(tokens(3, 1), memory, None)  # whatever has to grow has grown
    around: list[tuple[Tensor, Tensor, Tensor]] = []
    for entry in memory.layers:
        for held in (getattr(entry, "_buffers", None), getattr(entry, "_recent", None), getattr(entry, "_fixed", None)):
            for place, tensor in enumerate(held or []):
                held[place], larger = marked(tensor)
                around.append((held[place], larger, held[place].clone()))
    stepper.step(tokens(3, 1), memory, None)
    changed = [(now != before).any(3).any(1).sum(1).tolist() for now, _, before in around]
    apart = pattern == "local_global"  # keys and values of the first positions stay as they are
    assert changed == [[1, 1, 1], [1, 1, 1], *([[0, 0, 0], [0, 0, 0]] if apart else [])] * 2
    for inside, larger, _ in around:
        inside.fill_(MARK)
        assert (larger == MARK).all()


@pytest.mark.parametrize("rows", [3, 9])
@pytest.mark.parametrize("eight", [False, True])
def test_nothing_is_written_behind_the_rooms_of_threads(
    code: Code, rows: int, eight: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[np.ndarray[Any, Any]] = []

    class Numpy:
        """Arrays with marks behind them."""

        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        def zeros(self, size: Any, kind: Any) -> Any:
            if kind is not np.float32:
                return np.zeros(size, kind)
            array = np.full(size + 64, MARK, kind)
            made.append(array)
            return array[:size]

    monkeypatch.setattr(caller, "np", Numpy())
    model = language_model(mlp=small("mlp", "swiglu"))
    if eight:
        quantize(model)
    memory, stepper = begun(model, rows), Stepper(code, model)
    for _ in range(3):
        stepper.step(tokens(rows, 1), memory, model.head)
    assert len(made) >= 4
    for array in made:
        assert (array[-64 - 16 :] == MARK).all()  # rooms begin up to 15 numbers late, and are made 32 larger


def test_a_memory_grows_past_its_buffers(code: Code) -> None:
    model = language_model()
    here, there = begun(model, prompt=1), begun(model, prompt=1)
    for step in range(70):
        close(Compiled(code, model).step(tokens(3, 1, step), here)[:, -1], model.step(tokens(3, 1, step), there)[:, -1])
    assert here.length == there.length == 71
    assert here.nbytes == there.nbytes


@pytest.mark.parametrize("where", ["decoder.layers.1.mlp.up.weight", "decoder.layers.0.attention.key_value.bias"])
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_what_is_no_number_stays_none(code: Code, where: str, value: float) -> None:
    model = language_model()
    memory = begun(model)
    dict(model.named_parameters())[where].view(-1)[:] = value
    logits = Stepper(code, model).step(tokens(3, 1), memory, model.head)
    assert logits is not None
    assert logits.isnan().all()


def test_logits_without_a_bias_and_of_some_words_only(code: Code) -> None:
    from regard.model.head import select_rows

    model, chosen = language_model(), torch.tensor([1, 4, 11])
    wanted = next_logits(model, begun(model))
    for head, columns in ((model.head, slice(None)), (select_rows(model.head, chosen), chosen)):
        logits = Stepper(code, model).step(tokens(3, 1, 7), begun(model), head)
        assert logits is not None
        close(logits, wanted[:, columns])


def test_a_changed_weight_is_seen(code: Code) -> None:
    """In place it is read at once; elsewhere torch reads it."""
    model = language_model()
    stepper = Stepper(code, model)
    before = stepper.step(tokens(3, 1, 7), begun(model), model.head)
    for parameter in model.decoder.close.parameters():
        parameter.mul_(2.0)
    after = stepper.step(tokens(3, 1, 7), begun(model), model.head)
    assert before is not None
    assert after is not None
    close(after, 2 * before)
    for rows in (3, 9):  # as it stands, and packed
        for part in (model.head, model.decoder.layers[0].mlp.up):
            found = stepper.step(tokens(rows, 1, 7), begun(model, rows), model.head)
            assert found is not None
            close(found, next_logits(model, begun(model, rows)))
            part.weight.mul_(2.0)
    model.decoder.layers[0].mlp.up.weight.data = model.decoder.layers[0].mlp.up.weight.data.clone()
    assert stepper.step(tokens(3, 1, 7), begun(model), model.head) is None


def test_who_watches_or_switches_heads_off_sees_torch(code: Code) -> None:
    model = language_model()
    memory, stepper = begun(model), Stepper(code, model)
    with watch(model):
        assert stepper.step(tokens(3, 1), memory, None) is None
        assert memory.length == 5
    with silenced(model, {"decoder.layers.0.attention": [0]}):
        assert stepper.step(tokens(3, 1), memory, None) is None
    assert stepper.step(tokens(3, 1), memory, None) is not None


def test_what_is_left_to_torch(code: Code) -> None:
    """No position before, other rows, gradients, autocast, dropout: nothing is done then."""
    model = language_model(dropout=0.1)
    memory, stepper = begun(model), Stepper(code, model)
    assert stepper.step(tokens(2, 1), memory, None) is None
    assert stepper.step(tokens(3, 1), model.start(rows=3), None) is None
    with torch.inference_mode(False), torch.enable_grad():
        assert stepper.step(tokens(3, 1), memory, None) is None
    with torch.autocast("cpu", torch.bfloat16):
        assert stepper.step(tokens(3, 1), memory, None) is None
    model.train()
    assert stepper.step(tokens(3, 1), memory, None) is None
    assert memory.length == 5
    model.eval()
    assert stepper.step(tokens(3, 1), memory, None) is not None
    assert memory.length == 6


def test_models_that_are_otherwise_are_left_to_torch(code: Code) -> None:
    class Own(nn.Linear):
        """A part that is nearly as usual."""

    hooked, own, double = language_model(), language_model(), language_model().double()
    hooked.decoder.layers[0].register_forward_hook(lambda *_: None)
    own.decoder.layers[1].mlp.up = Own(24, 96)
    for model in (hooked, own, double):
        with pytest.raises(room.NotCoveredError):
            Stepper(code, model)


def test_a_few_rows_in_eight_bits_are_torchs(code: Code) -> None:
    """What comes in is rounded as torch's products of language models round it, a router's too."""
    for mlp in (small("mlp", "swiglu"), small("mlp", "experts")):
        model = language_model(mlp=mlp)
        quantize(model)
        memory, other = begun(model), begun(model)
        states = Stepper(code, model).step(tokens(3, 1), memory, None)
        assert states is not None
        close(states, model.step(tokens(3, 1), other)[:, -1])


@pytest.mark.parametrize("rows", [7, 20, 40, 70])
def test_many_rows_in_eight_bits(code: Code, rows: int) -> None:
    """What comes in is rounded, too; every row and block of columns has a scale of its own.

    So it is near the product of float32, and a row's numbers are the same in any company, to the bit.
    """
    model = language_model(mlp=small("mlp", "swiglu"))
    wanted = next_logits(model, begun(model, rows))
    quantize(model)
    stepper = Stepper(code, model)
    found = stepper.step(tokens(rows, 1, 7), begun(model, rows), model.head)
    assert found is not None
    assert (found - wanted).abs().max() < 0.05 * wanted.abs().max()
    memory, others = begun(model, rows), begun(model, rows)
    for entry in others.layers:
        for held in entry.tensors():
            held[1:] *= 3.0  # all but the first row see something else
    given = tokens(rows, 1, 7)
    other = given.clone()
    other[1:] = (other[1:] + 1) % 11
    one, two = stepper.step(given, memory, model.head), stepper.step(other, others, model.head)
    assert one is not None
    assert two is not None
    assert torch.equal(one[0], two[0])
    assert not torch.equal(one[1:], two[1:])


def test_steps_of_many_threads_at_once(code: Code) -> None:
    """Several callers, each with helpers: every one gets the numbers it would get alone."""
    model, failed = language_model(), list[BaseException]()
    wanted = next_logits(model, begun(model))
    before = torch.get_num_threads()

    def work() -> None:
        try:
            torch.set_num_threads(3)
            stepper = Stepper(code, model)
            with torch.inference_mode():
                for _ in range(60):
                    found = stepper.step(tokens(3, 1, 7), begun(model), model.head)
                    assert found is not None
                    close(found, wanted)
        except BaseException as error:
            failed.append(error)

    crew = [threading.Thread(target=work) for _ in range(4)]
    for one in crew:
        one.start()
    for one in crew:
        one.join()
    torch.set_num_threads(before)
    assert not failed

"""Writers of text as peers: each reads prompts, writes on, and says how long it took to the first token.

All have the same shape and random weights, but for llama.cpp, which reads a file. A turn gives back the microseconds
until every row had its first new token.
"""

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import torch

from peers.shapes import SHAPES, model_of

Precision = Literal["float32", "int8"]
Turn = Callable[[], int]
GGUF_KINDS = {"f32": 0, "q8_0": 7, "q4_0": 2}  # numbers of llama.cpp


class WritingWork(NamedTuple):
    """So many rows, each of a prompt of random tokens and so many new ones."""

    shape: str
    rows: int = 1
    prompt: int = 128
    new: int = 128

    def prompts(self) -> list[list[int]]:
        """The same for everybody."""
        words = int(SHAPES[self.shape]["vocab_size"])
        generator = torch.Generator().manual_seed(1)
        return torch.randint(10, words, (self.rows, self.prompt), generator=generator).tolist()


class Watch:
    """Notes when something happened for the first time since it began."""

    def __init__(self) -> None:
        self._began, self.first = time.perf_counter(), 0

    def note(self) -> None:
        if not self.first:
            self.first = int(1e6 * (time.perf_counter() - self._began))


def prepare_regard_writing(work: WritingWork, precision: Precision) -> Turn:
    from regard.allocator import keep_memory
    from regard.decoding.compiled.machine_code import MACHINE_CODE
    from regard.decoding.engine import Engine
    from regard.decoding.request import Request, Token
    from regard.decoding.sample import Greedy
    from regard.model.quantize import quantize

    keep_memory()
    MACHINE_CODE.make()
    model = model_of(work.shape)
    if precision == "int8":
        quantize(model)
    engine = Engine(model, Greedy(), stop_tokens=[])
    requests = [Request(prompt, None, work.new) for prompt in work.prompts()]

    def turn() -> int:
        watch, begun = Watch(), set[int]()
        for event in engine.generate(requests):
            if isinstance(event, Token) and len(begun) < len(requests):
                begun.add(event.place)
                if len(begun) == len(requests):
                    watch.note()
        return watch.first

    return turn


def hugging_face(shape: str) -> Any:
    """The same model of `transformers`."""
    transformers: Any = import_module("transformers")
    sizes = SHAPES[shape]
    heads = sizes["attention"]
    torch.manual_seed(1)
    if shape == "gpt2-small":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=sizes["vocab_size"])).eval()
    config = transformers.LlamaConfig(
        vocab_size=sizes["vocab_size"],
        hidden_size=sizes["width"],
        intermediate_size=sizes["mlp"]["hidden"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=heads["heads"],
        num_key_value_heads=heads["kv_heads"],
        tie_word_embeddings=True,
    )
    return transformers.LlamaForCausalLM(config).eval()


def prepare_hugging_face_writing(work: WritingWork) -> Turn:
    transformers: Any = import_module("transformers")
    model, prompts = hugging_face(work.shape), torch.tensor(work.prompts())
    search = transformers.GenerationConfig(
        do_sample=False, min_new_tokens=work.new, max_new_tokens=work.new, eos_token_id=None, pad_token_id=0
    )

    def turn() -> int:
        watch = Watch()

        def noted(ids: Any, _scores: Any, **_more: Any) -> Any:
            watch.note()
            return torch.zeros(len(ids), dtype=torch.bool)

        with torch.inference_mode():
            model.generate(
                prompts,
                attention_mask=torch.ones_like(prompts),
                generation_config=search,
                stopping_criteria=transformers.StoppingCriteriaList([noted]),
            )
        return watch.first

    return turn


class Numbered:
    """All that the converter asks of a tokenizer; a token is named by its number."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.bos_token, self.eos_token, self.unk_token = "0", "1", "2"

    def get_vocab(self) -> dict[str, int]:
        return {str(number): number for number in range(self.size)}

    def convert_ids_to_tokens(self, number: int) -> str:
        return str(number)


def prepare_ctranslate2_writing(work: WritingWork, precision: Precision, abreast: bool = False) -> Turn:
    ctranslate2: Any = import_module("ctranslate2")
    converters: Any = import_module("ctranslate2.converters.transformers")
    model = hugging_face(work.shape)
    loader = converters.GPT2Loader() if work.shape == "gpt2-small" else converters.LlamaLoader()
    names = Numbered(int(SHAPES[work.shape]["vocab_size"]))
    with torch.no_grad(), TemporaryDirectory() as folder:
        spec = loader(model, names)
        spec.validate()
        spec.optimize(quantization=precision)
        spec.save(folder)
        inter, intra = (torch.get_num_threads(), 1) if abreast else (1, torch.get_num_threads())
        writer = ctranslate2.Generator(folder, compute_type=precision, inter_threads=inter, intra_threads=intra)
    prompts = [[str(token) for token in prompt] for prompt in work.prompts()]

    def turn() -> int:
        watch, begun = Watch(), set[int]()

        def noted(step: Any) -> bool:
            begun.add(step.batch_id)
            if len(begun) == work.rows:
                watch.note()
            return False

        writer.generate_batch(
            prompts,
            max_batch_size=work.rows // (2 if abreast else 1),
            min_length=work.new,
            max_length=work.new,
            sampling_topk=1,
            include_prompt_in_result=False,
            callback=noted,
        )
        return watch.first

    return turn


def prepare_llama_writing(work: WritingWork, file: Path, kind: str) -> Turn:
    """llama.cpp, one row; it turns a file of any kind into the kind that is asked for itself."""
    llama: Any = import_module("llama_cpp")
    made = file.with_name(f"{file.stem}.{kind}.gguf")
    if not made.is_file():
        asked = llama.llama_model_quantize_default_params()
        asked.ftype, asked.allow_requantize = GGUF_KINDS[kind], True
        llama.llama_model_quantize(str(file).encode(), str(made).encode(), asked)
    threads = torch.get_num_threads()
    room = work.prompt + work.new + 8
    writer = llama.Llama(str(made), n_ctx=room, n_batch=512, n_threads=threads, n_threads_batch=threads, verbose=False)
    (prompt,) = work.prompts()

    def turn() -> int:
        watch = Watch()
        writer.reset()
        writer.eval(prompt)
        token = writer.sample(temp=0.0)
        watch.note()
        for _ in range(work.new - 1):
            writer.eval([token])
            token = writer.sample(temp=0.0)
        return watch.first

    return turn

"""A tokenizer that was learnt elsewhere."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

from annotated_doc import Doc

from regard.datasets.tokenizer.tokenizer import Tokenizer, open_engine
from regard.datasets.tokenizer.trainer import TokenizerTrainer
from regard.disk import read_json
from regard.errors import InputError, RecipeError
from regard.recipe import File

PAD = ("<pad>", "[PAD]", "<|pad|>", "<|finetune_right_pad_id|>")
BOS = ("<s>", "<bos>", "<|begin_of_text|>", "[CLS]", "<|im_start|>", "<|endoftext|>")
EOS = ("</s>", "<eos>", "<|end_of_text|>", "[SEP]", "<|im_end|>", "<|endoftext|>")


class Pretrained(TokenizerTrainer):
    """A `tokenizer.json` of another model: GPT-2, Llama, Marian, or any other of the `tokenizers` library."""

    def __init__(
        self,
        *,
        file: Annotated[File, Doc("The tokenizer.json of the other model.")],
        bos: Annotated[str, Doc("Its token that begins a text; empty means that the usual names are tried.")] = "",
        eos: Annotated[str, Doc("Its token that ends a text; empty means that the usual names are tried.")] = "",
        pad: Annotated[str, Doc("Its token that fills up rows; empty means that the usual names are tried.")] = "",
    ) -> None:
        self.file, self.named = file, {"bos": bos, "eos": eos, "pad": pad}

    def train(self, texts: Iterable[str], tick: Callable[[], None] = lambda: None) -> Tokenizer:
        path = Path(self.file)
        try:
            engine = open_engine(read_json(path, links=True))
        except InputError as error:
            raise InputError(f"tokenizer.file: {error}") from error
        vocabulary, found = engine.get_vocab(), dict[str, int | None]()
        for role, usual in (("bos", BOS), ("eos", EOS), ("pad", PAD)):
            said = self.named[role]
            if said and said not in vocabulary:
                raise RecipeError(f"tokenizer.{role}: {path} has no token {said!r}")
            found[role] = next((vocabulary[name] for name in (said, *usual) if name in vocabulary), None)
        return Tokenizer(engine, found["pad"], found["bos"], found["eos"])

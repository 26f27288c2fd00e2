"""A tokenizer that was learnt elsewhere."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

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
    """A `tokenizer.json` of another model (GPT-2, Llama, Marian, any of the `tokenizers` library), or of a run."""

    def __init__(
        self,
        *,
        file: Annotated[File, Doc("The tokenizer.json of the other model, or of a run.")],
        bos: Annotated[str, Doc("Its token that begins a text; empty means that the usual names are tried.")] = "",
        eos: Annotated[str, Doc("Its token that ends a text; empty means that the usual names are tried.")] = "",
        pad: Annotated[str, Doc("Its token that fills up rows; empty means that the usual names are tried.")] = "",
    ) -> None:
        self.file, self.named = file, {"bos": bos, "eos": eos, "pad": pad}

    def train(self, texts: Iterable[str], tick: Callable[[], None] = lambda: None) -> Tokenizer:
        path = Path(self.file)
        try:
            made = _opened(read_json(path, links=True))
        except InputError as error:
            raise InputError(f"tokenizer.file: {error}") from error
        vocabulary = made.engine.get_vocab()
        for role, said in self.named.items():
            if said and said not in vocabulary:
                raise RecipeError(f"tokenizer.{role}: {path} has no token {said!r}")
        ids = {role: vocabulary[said] for role, said in self.named.items() if said}
        return replace(made, pad=ids.get("pad", made.pad), bos=ids.get("bos", made.bos), eos=ids.get("eos", made.eos))


def _opened(table: Mapping[str, Any]) -> Tokenizer:
    """One that a run has kept, with the special tokens it has; of another, those with the usual names."""
    if "tokenizer" in table and "prefix" in table:
        return Tokenizer.open(table)
    engine = open_engine(table)
    vocabulary = engine.get_vocab()
    pad, bos, eos = (
        next((vocabulary[name] for name in names if name in vocabulary), None) for names in (PAD, BOS, EOS)
    )
    return Tokenizer(engine, pad, bos, eos)

"""The task of language: texts in, the next token to learn from, bits to judge by, a writer to go on with them."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from math import exp, log, nan
from typing import Annotated, Any, Literal

import torch
from annotated_doc import Doc
from pydantic import Field
from torch import Tensor

from regard.datasets.data import Data, Report, Split, note_untested, short_hash
from regard.datasets.documents import Documents
from regard.datasets.encode import encode
from regard.datasets.stream import Stream, lead
from regard.datasets.texts import TextFiles
from regard.datasets.tokenizer import Tokenizer, TokenizerTrainer
from regard.datasets.tokenizer.trainer import LEAST, USUAL
from regard.decoding.search import Search
from regard.errors import InputError, RecipeError
from regard.listener import SILENT, Listener
from regard.looking.scene import Scene
from regard.model.assembly import LanguageModel
from regard.model.memory import Held, Memory
from regard.model.recurrent import RecurrentDecoder
from regard.recipe import Count, Number, Part, Share, choose
from regard.tasks.language.batches import Lanes, TextBatch, Windows
from regard.tasks.language.evaluation import LanguageScores, bins
from regard.tasks.language.facts import CHAT, FILE, TOKENIZER, Facts, open_tokenizer, tokenizer_file
from regard.tasks.language.generator import TextGenerator
from regard.tasks.language.loss import Reader, check_numbers, language_loss
from regard.tasks.language.scene import language_scene
from regard.tasks.task import Exam, Kept, Loss, Task

QUICK = 100_000  # held-out tokens that are read in a quick exam
MOST = 2**26  # characters from which a vocabulary is learnt at most: words are counted in memory
LEARNT: tuple[Split, ...] = ("train", "valid")
OFTEN = {"characters": 270, "bytes": LEAST}  # tokens that a text in Latin letters gives


class Language(Task):
    """Texts, learnt token by token: what comes next, given all before it [N4:129-139]."""

    metrics = {"loss": -1}  # noqa: RUF012
    assembly = LanguageModel
    example = "regard generate {run}"
    at_use = ("decoding", "task.stride")
    at_reading = ("data.text",)
    inherits = {"tokenizer": ("target", "head")}  # noqa: RUF012
    batch_option = "task.batch_tokens"

    data: Documents

    def __init__(
        self,
        kept: Kept | None,
        *,
        data: Annotated[Part[Documents], Doc("Texts to learn from: your own files, or built-in ones.")],
        tokenizer: Annotated[Part[TokenizerTrainer], Doc("How text is cut into tokens.")] = choose("bpe"),
        decoding: Annotated[Part[Search], Doc("How the next token is chosen, once it is trained.")] = choose("sample"),
        context: Annotated[
            int,
            Field(ge=2),  # one to begin with, and one to write
            Doc("Tokens in a window: so far back a model learns to look."),
        ] = 256,
        batch_tokens: Annotated[Count, Doc("Tokens in a batch: windows times their length.")] = 4096,
        documents: Annotated[
            Literal["joined", "apart"],
            Doc("Whether a window reads on from one document into the next, or each sees only itself."),
        ] = "joined",
        carry_state: Annotated[
            bool,
            Doc("Whether a recurrent model goes on from window to window (truncated BPTT), 16 at a time."),
        ] = False,
        label_smoothing: Annotated[
            Share, Doc("Share of the right token's weight that is spread over all, against overconfidence; 0 is none.")
        ] = 0.0,
        stride: Annotated[
            Number,
            Doc("Tokens from one window of an evaluation to the next: fewer give each more context; 0 is no overlap."),
        ] = 0,
    ) -> None:
        super().__init__(kept)
        if carry_state and documents == "apart":
            raise ValueError(
                "carry_state: documents that are kept apart have nothing to carry; choose documents=joined"
            )
        if stride > context:
            raise ValueError(
                f"stride: {stride} leaves tokens out between windows of {context}; choose at most {context}"
            )
        self.data, self.search, self._trainer = data.build(), decoding.build(), tokenizer.build()
        self._trainer.prefix = ""  # a text goes on: nothing stands before its first word
        self.context, self.batch_tokens, self.label_smoothing = context, batch_tokens, label_smoothing
        self.apart, self.carries, self.stride = documents == "apart", carry_state, stride or context
        self._streams: dict[Split, Stream] = {}
        self._carried: Memory | None = None

    # --- what is learnt from ----------------------------------------------------------------------------------------

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The one the run has kept, or else learnt now."""
        return self._learnt(SILENT) if self.kept is None else open_tokenizer(self.kept)

    @cached_property
    def facts(self) -> Facts:
        """What begins and ends a text."""
        if self.kept is not None and FILE in self.kept:
            return Facts.open(self.kept, len(self.tokenizer))
        return Facts.of(self.tokenizer)

    def _learnt(self, listener: Listener) -> Tokenizer:
        """From the training texts, or from as many pieces of them, evenly chosen, as can be looked at."""
        total, so_far = self.data.count("train"), [0]
        size = self.data.characters("train")
        every = -(-size // MOST) or 1
        if every > 1:
            listener.say(f"the vocabulary is learnt from 1 in {every:,} pieces of {size:,} characters, evenly chosen")

        def texts() -> Iterator[str]:
            for number, (piece,) in enumerate(self.data.read("train")):
                so_far[0] = number
                if number % every == 0:
                    yield piece
            so_far[0] = 0

        def tick() -> None:
            listener.at("learning the vocabulary", so_far[0], total if so_far[0] else 0)

        tick()
        made = self._trainer.train(texts(), tick)
        if self._trainer.note:
            listener.say(self._trainer.note)
        if len(made) < self._trainer.asked:
            listener.say(
                f"tokenizer.vocab_size: {self._trainer.asked:,} were asked for, and the text gives {len(made):,}"
            )
        return made

    def inherit(self, section: str, kept: Kept) -> None:
        self.tokenizer = open_tokenizer(kept)
        if FILE in kept:
            self.facts = Facts.open(kept, len(self.tokenizer))

    def prepare(self, listener: Listener) -> dict[Split, Report]:
        if self.kept is None:
            self.data.survey(listener)
        if self.kept is None and "tokenizer" not in vars(self):
            self.tokenizer = self._learnt(listener)
        reports = {split: self._learnable(split, listener) for split in LEARNT}
        size = len(self._streams["train"])
        if size <= self.context:
            few = f"the training text has {size:,} tokens, and a window {self.context:,}"
            report = reports["train"]
            if report.dropped <= report.kept:
                raise InputError(f"{few}; lower task.context")
            keys = ", or say data.text=KEY" if any(why.startswith("with") for why in report.left_out) else ""
            raise InputError(f"{few}, since most was left out: {report}\nmend these lines{keys}, or lower task.context")
        if not len(self._streams["valid"]):
            reports["valid"].notes.append(f"so no score will tell how well it learns: {self.data.more_held_out}")
        if self.kept is None:
            self.facts = self._seen()
            reports["test"] = self.data.report("test")
            note_untested(reports["test"], reports["valid"], self.data.more_tested)
        return reports

    def _seen(self) -> Facts:
        """What a model of characters has not seen; of one that goes on, neither before nor now."""
        before = self.facts.unseen or (range(len(self.tokenizer)) if self._trainer.single else ())
        if not before:
            return self.facts
        seen = {*self._streams["train"].distinct(), *self.tokenizer.special}
        return replace(self.facts, unseen=tuple(token for token in before if token not in seen))

    def _learnable(self, split: Split, listener: Listener) -> Report:
        """A split of its own data is encoded and kept at hand; what is to be told of it."""
        self._streams[split], report = self._encoded(self.data, split, listener)
        return report

    def _encoded(self, data: Data[Any], split: Split, listener: Listener) -> tuple[Stream, Report]:
        corpus = encode(data, split, (self.tokenizer,), listener)
        stream = Stream(corpus, self.facts.marks, lead(self.tokenizer))
        if len(stream):
            corpus.report.notes.append(f"{len(stream):,} tokens")
        return stream, corpus.report

    def _examined(self, exam: Exam) -> Stream:
        """What a model is examined on; only what is its own is kept for another time."""
        if exam.data is not self.data:
            return self._encoded(exam.data, exam.split, exam.listener)[0]
        if exam.split not in self._streams:
            self._learnable(exam.split, exam.listener)
        return self._streams[exam.split]

    def sizes(self) -> dict[str, int]:
        return {"vocab_size": max(len(self.tokenizer), self.facts.vocab_size)}

    @classmethod
    def expected(cls, recipe: Mapping[str, Any]) -> dict[str, int]:
        tokenizer = recipe.get("tokenizer")
        size = tokenizer.get("vocab_size") if isinstance(tokenizer, Mapping) else 0
        kind = tokenizer.get("kind") if isinstance(tokenizer, Mapping) else tokenizer
        return {"vocab_size": size if isinstance(size, int) and size > 0 else OFTEN.get(str(kind), USUAL)}

    def files(self) -> dict[str, bytes]:
        return {TOKENIZER: tokenizer_file(self.tokenizer), FILE: self.facts.file()}

    def check_model(self, model: LanguageModel) -> None:
        limit = model.limit
        if limit is not None and self.context > limit:
            raise RecipeError(
                f"model.decoder.positions.limit: {limit} positions, and task.context is {self.context}; "
                "raise the one or lower the other"
            )
        if self.carries and not isinstance(model.decoder, RecurrentDecoder):
            raise RecipeError("task.carry_state: only a recurrent decoder has a state to carry; leave it out")

    def batches(self, seed: int) -> "Windows | Lanes":
        rows = max(1, self.batch_tokens // self.context)
        if self.carries:
            return Lanes(self._streams["train"], self.context, rows, seed)
        return Windows(self._streams["train"], self.context, rows, seed, self.apart)

    # --- learning ---------------------------------------------------------------------------------------------------

    def loss(self, model: LanguageModel, batch: TextBatch) -> Loss:
        if not self.carries:
            return language_loss(model, batch, self.label_smoothing)
        memory = model.start(rows=len(batch.inputs))
        if self._carried is not None and batch.goes_on is not None:
            for entry, before in zip(memory.held(), self._carried.held(), strict=True):
                pairs = zip(before.held, entry.held, strict=True)
                entry.replace(*(held.where(batch.goes_on[:, None], start) for held, start in pairs))
        found = language_loss(model, batch, self.label_smoothing, memory)
        if model.training:
            for entry in memory.held():
                entry.replace(*(tensor.detach() for tensor in entry.held))
            self._carried = memory
        return found

    def carried(self, model: LanguageModel) -> dict[str, Tensor]:
        if not self.carries:
            return {}
        memory = self._carried or model.start(rows=self.batches(0).rows)
        return {f"{i}/{j}": held for i, entry in enumerate(memory.held()) for j, held in enumerate(entry.held)}

    def carry(self, state: Mapping[str, Tensor]) -> None:
        layers: dict[int, list[Tensor]] = {}
        for name in sorted(state):
            layers.setdefault(int(name.partition("/")[0]), []).append(state[name])
        entries = [Held(*layers[number]) for number in sorted(layers)]
        self._carried = Memory(len(entries[0].held[0]), entries) if entries else None

    # --- use --------------------------------------------------------------------------------------------------------

    def answerer(self, model: LanguageModel, quick: bool = False) -> TextGenerator:
        template = (self.kept or {}).get(CHAT)
        chat = None if template is None else template.decode("utf-8", "replace")
        return TextGenerator(model, self.tokenizer, self.facts, self.search, self.context, chat, carries=self.carries)

    def scene(self, answerer: TextGenerator, text: str, target: str = "", tokens: int = 0) -> Scene:
        if target:
            raise InputError(
                "a language model reads one text: write the rest behind it, and leave out ",
                call="target=…",
                flag="--target",
            )
        return language_scene(answerer, text, tokens)

    def evaluate(self, answerer: TextGenerator, exam: Exam) -> LanguageScores | None:
        stream = self._examined(exam)
        stride = self.context if exam.quick or self.carries else self.stride  # carried on, windows have no overlap
        reader = Reader(self.context, stride, self.apart, self.carries)
        start = time.perf_counter()
        found = reader.read(answerer.model, stream, QUICK if exam.quick else None, exam.stopped, exam.listener)
        if found is None:
            return None
        loss = found.total / found.tokens if found.tokens else nan
        if found.tokens and not exam.quick:  # in training somebody else looks whether it went astray
            check_numbers(torch.tensor(found.total))
        documents, characters, size = (0, 0, 0) if exam.quick else self._measured(exam.data, exam.split)
        free = documents - 1 if self.facts.begin != self.facts.end else 0  # that a document begins behind another's end
        bits = loss * (len(stream) - 1 - free) / log(2)
        per_byte = bits / size if size else nan
        scores = {"loss": loss} | ({"bits_per_byte": per_byte} if size else {})
        return LanguageScores(
            scores=scores if found.tokens else {},
            tokens=found.tokens,
            documents=documents,
            loss=loss,
            perplexity=exp(min(loss, 700.0)),
            bits_per_character=bits / characters if characters else nan,
            bits_per_byte=per_byte,
            context=self.context,
            stride=reader.stride,
            vocabulary=short_hash(self.tokenizer.table()),
            by_position=[] if exam.quick or self.carries else bins(found),
            seconds=time.perf_counter() - start,
        )

    def _measured(self, data: Data[Any], split: Split) -> tuple[int, int, int]:
        """Documents, characters and bytes of a split, an end for every document."""
        documents, characters, size, last = 0, 0, 0, 0
        for number, (piece,) in data.numbered(split, Report()):
            documents, last = documents + (number != last), number
            characters, size = characters + len(piece), size + len(piece.encode())
        return documents, characters + documents, size + documents

    def manner(self, answerer: TextGenerator) -> str:
        new = f", {self.stride:,} new" if self.stride < self.context else ""
        return f"windows of {self.context:,} tokens" + (
            ", state carried from each to the next" if self.carries else new
        )

    def unlike(self, other: "Language") -> list[str]:
        if self.tokenizer.table() != other.tokenizer.table():
            return ["they have other vocabularies: bits per byte compare them, perplexities per token do not"]
        return []

    def data_from(self, named: str) -> Documents:
        text = self.said.get("data.text", self.data.text if isinstance(self.data, TextFiles) else "text")
        if not isinstance(text, str) or not text:
            raise RecipeError(f"data.text: wanted the name of a key or column, given {text!r}")
        other = TextFiles(train=named, test=named, text=text)
        other.keys["test"] = "on"
        return other

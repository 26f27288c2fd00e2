"""The task of translation: pairs in, a loss to learn from, BLEU to judge by, a translator to answer."""

import time
from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from math import exp, nan
from typing import Annotated, Any, Literal

from annotated_doc import Doc

from regard.datasets.data import Report, Split, note_few, note_untested, short_hash
from regard.datasets.encode import Encoded, encode
from regard.datasets.files import Files
from regard.datasets.pairs import Pair, Pairs
from regard.datasets.sentences import single_share
from regard.datasets.tokenizer import TokenizerTrainer
from regard.datasets.tokenizer.trainer import USUAL
from regard.decoding.sample import Greedy
from regard.decoding.search import Search
from regard.errors import InputError, RecipeError
from regard.listener import SILENT, Listener
from regard.looking.scene import Scene
from regard.model.assembly import Seq2Seq
from regard.recipe import Count, Part, Share, choose
from regard.tasks.task import Exam, Kept, Loss, Task
from regard.tasks.translation.batches import PairBatch, PairBatches
from regard.tasks.translation.checks import check_model
from regard.tasks.translation.evaluation import TranslationScores
from regard.tasks.translation.facts import FILE as FACTS
from regard.tasks.translation.facts import Facts
from regard.tasks.translation.loss import bits_per_byte, held_out_loss, translation_loss
from regard.tasks.translation.scene import translation_scene
from regard.tasks.translation.scores import NOTHING, by_length, score
from regard.tasks.translation.shortlist import FILE as SHORTLIST
from regard.tasks.translation.shortlist import Shortlist
from regard.tasks.translation.tokenizers import TokenizerPair
from regard.tasks.translation.translator import Translator

LEARNT: tuple[Split, ...] = ("train", "valid")
SCORED = 1000  # held-out pairs translated in a quick exam
TOKENS = 4096  # positions in a batch of an exam
SAMPLE = 10_000  # training sources whose sentences are counted


class Translation(Task):
    """Sentence pairs, learnt word by word with the right beginning given (teacher forcing)."""

    metrics = {"loss": -1, "bleu": 1, "chrf": 1}  # noqa: RUF012
    assembly = Seq2Seq
    example = "regard translate {run} 'your text'"
    own_data = "data.kind=files data.train=FILE"
    at_use = ("decoding", "task.shortlist", "task.split")
    at_reading = ("data.source", "data.target")
    inherits = {"tokenizer": ("source", "target", "head")}  # noqa: RUF012
    batch_option = "task.batch_tokens"

    data: Pairs

    def __init__(
        self,
        kept: Kept | None,
        *,
        data: Annotated[Part[Pairs], Doc("Sentence pairs to learn from: your own files, or generated ones.")],
        tokenizer: Annotated[Part[TokenizerTrainer], Doc("How text is cut into tokens.")] = choose("bpe"),
        decoding: Annotated[Part[Search], Doc("How translations are chosen, once it is trained.")] = choose("beam"),
        batch_tokens: Annotated[Count, Doc("Positions in a batch: pairs times the tokens of the longer side.")] = 4096,
        max_length: Annotated[
            Count, Doc("Most tokens on a side; longer pairs are left out, and the report says how many.")
        ] = 128,
        label_smoothing: Annotated[
            Share,
            Doc("Share of the right word's weight that is spread over all words, against overconfidence; 0 is none."),
        ] = 0.1,
        scheduled_sampling: Annotated[
            Share,
            Doc("Share of words that the decoder is fed from its own guesses while training; 0 feeds the right ones."),
        ] = 0.0,
        shortlist: Annotated[
            bool, Doc("Whether only words that the source may call for are scored when translating: faster.")
        ] = False,
        split: Annotated[
            Literal["auto", "always", "never"],
            Doc(
                "Whether texts are translated sentence by sentence; auto does so where nearly all training sources "
                "were one sentence. What is too long is always split."
            ),
        ] = "auto",
    ) -> None:
        super().__init__(kept)
        self.data, self.search, self._trainer = data.build(), decoding.build(), tokenizer.build()
        self.batch_tokens, self.max_length, self.shortlisted = batch_tokens, max_length, shortlist
        self.label_smoothing, self.scheduled_sampling = label_smoothing, scheduled_sampling
        self.split = split
        self._splits: dict[Split, Encoded] = {}
        self._scored: list[Pair] = []

    @cached_property
    def tokenizers(self) -> TokenizerPair:
        """Those the run has kept, or else learnt now."""
        return self._learnt(SILENT) if self.kept is None else TokenizerPair.open(self.kept)

    def _learnt(self, listener: Listener) -> TokenizerPair:
        return TokenizerPair.train(self.data, self._trainer, listener)

    def inherit(self, section: str, kept: Kept) -> None:
        self.tokenizers = TokenizerPair.open(kept)

    def prepare(self, listener: Listener) -> dict[Split, Report]:
        if self.kept is None:
            self.data.survey(listener)
        if self.kept is None and "tokenizers" not in vars(self):
            self.tokenizers = self._learnt(listener)
        if not len(self._encoded("train", listener)):
            raise InputError(f"no training pair has at most {self.max_length} tokens a side; raise task.max_length")
        if not self.facts.longest:
            raise InputError("the tokenizer knows nothing of any training source; choose another tokenizer")
        reports = {split: self._encoded(split, listener).report for split in LEARNT}
        note_few(reports["valid"], self.data.more_held_out)
        if self.kept is None:  # a resumed run has said it before
            reports["train"].notes.append(self.facts.note)
            reports["test"] = self.data.report("test")
            note_untested(reports["test"], reports["valid"], self.data.more_tested)
        self._scored = list(islice(self.data.read("valid"), SCORED))  # after this no file of the user is read again
        return reports

    def _encoded(self, split: Split, listener: Listener = SILENT) -> Encoded:
        if split not in self._splits:
            self._splits[split] = self._encode(self.data, split, listener)
        return self._splits[split]

    def _encode(self, data: Pairs, split: Split, listener: Listener = SILENT) -> Encoded:
        two = self.tokenizers
        encoded = encode(data, split, (two.source, two.target), listener)
        return encoded.within(self.max_length, f"over {self.max_length} tokens")

    @cached_property
    def facts(self) -> Facts:
        """Those the run has kept, or what the data say now: sentences are counted in the first of the sources.

        Old runs do not know their sentences: if they learnt from files, those are taken to be one a line.
        """
        if self.kept is not None:
            return Facts.open(self.kept, assumed=float(isinstance(self.data, Files)))
        longest = int(self._encoded("train").sides[0].lengths.max())
        sources = islice((source for source, _ in self.data.read("train")), SAMPLE)
        single = round(single_share(sources, self.data.source), 4)
        return Facts(longest, single, self.data.source, self.data.target)

    def sizes(self) -> dict[str, int]:
        return {
            "source_vocab_size": len(self.tokenizers.source),
            "target_vocab_size": len(self.tokenizers.target),
        }

    @classmethod
    def expected(cls, recipe: Mapping[str, Any]) -> dict[str, int]:
        tokenizer = recipe.get("tokenizer")
        size = tokenizer.get("vocab_size") if isinstance(tokenizer, Mapping) else 0
        size = size if isinstance(size, int) and size > 0 else USUAL
        return {"source_vocab_size": size, "target_vocab_size": size}

    def files(self) -> dict[str, bytes]:
        two = self.tokenizers
        learnt = Shortlist.learn(self._encoded("train"), len(two.source), len(two.target))
        return two.files() | {FACTS: self.facts.file(), SHORTLIST: learnt.file()}

    def check(self, model: Seq2Seq) -> None:
        check_model(model, self.tokenizers, self._encoded("train"))

    def batches(self, seed: int) -> PairBatches:
        return PairBatches(self._encoded("train"), self.tokenizers.ids, self.batch_tokens, seed)

    def loss(self, model: Seq2Seq, batch: PairBatch) -> Loss:
        return translation_loss(model, batch, self.label_smoothing, self.scheduled_sampling)

    def answerer(self, model: Seq2Seq, quick: bool = False) -> Translator:
        shortlist = None
        if self.shortlisted and not quick:
            content = (self.kept or {}).get(SHORTLIST, b"")
            two = self.tokenizers
            shortlist = Shortlist.open(content, len(two.source), len(two.target), two.target.special)
        return Translator(
            model,
            self.tokenizers,
            self.facts.longest,
            Greedy() if quick else self.search,
            shortlist,
            split=self.split == "always" or (self.split == "auto" and self.facts.sentences),
            language=self._language("source", str(self.said.get("data.source", self.data.source))),
        )

    def scene(self, answerer: Translator, text: str, target: str = "", tokens: int = 0) -> Scene:
        if tokens:
            raise InputError(
                "a translator writes as much as the text asks for; leave out ", call="tokens=…", flag="--tokens"
            )
        return translation_scene(answerer, text, target)

    def evaluate(self, answerer: Translator, exam: Exam) -> TranslationScores | None:
        pairs = exam.data
        assert isinstance(pairs, Pairs)
        own = exam.quick and pairs is self.data
        exam.listener.at("reading the data")
        rows = dict(enumerate(self._scored) if own else pairs.numbered(exam.split, Report()))
        read = list(rows.values())
        corpus = self._encoded(exam.split) if own else self._encode(pairs, exam.split, exam.listener)
        batches = PairBatches(corpus, self.tokenizers.ids, TOKENS, 0)
        loss = held_out_loss(answerer.model, batches, exam.stopped, exam.listener)
        sources, references = [source for source, _ in read], [target for _, target in read]
        start, translations = time.perf_counter(), [""] * len(read)
        for done, (row, found) in enumerate(answerer.stream(sources, exam.stopped), 1):
            translations[row] = found.text
            exam.listener.at("answering", done, len(read))
        seconds = time.perf_counter() - start
        if exam.stopped():
            return None
        exam.listener.at("scoring")
        language = self._language("target", pairs.target)
        quality = score(translations, references, language) if read else NOTHING
        scores = {"loss": loss} if len(corpus) else {}
        return TranslationScores(
            scores=scores | ({"bleu": quality.bleu, "chrf": quality.chrf} if read else {}),
            pairs=len(read),
            loss=loss,
            loss_pairs=len(corpus),
            perplexity=exp(min(loss, 700.0)),
            bits_per_byte=nan if exam.quick else bits_per_byte(loss, corpus, rows),
            bleu=quality.bleu,
            chrf=quality.chrf,
            bleu_lowercase=quality.bleu_lowercase,
            exact=sum(one == other for one, other in zip(translations, references, strict=True)) / max(1, len(read)),
            signatures=quality.signatures,
            vocabulary=short_hash(self.tokenizers.target.table()),
            by_length=[] if exam.quick else by_length(sources, translations, references, language, exam.listener),
            seconds=seconds,
            sources=sources,
            translations=translations,
            references=references,
        )

    def manner(self, answerer: Translator) -> str:
        return str(answerer.search) + (", shortlist" if answerer.shortlist is not None else "")

    def unlike(self, other: "Translation") -> list[str]:
        ways = [f"{one.data.source} → {one.data.target}" for one in (self, other)]
        said = [f"one translates {ways[0]}, the other {ways[1]}"] if ways[0] != ways[1] else []
        if self.tokenizers.target.table() != other.tokenizers.target.table():
            said.append("they have other vocabularies: bits per byte compare them, perplexities per token do not")
        return said

    def _language(self, side: Literal["source", "target"], said: str) -> str:
        """What a side is written in, by which words and sentences end; the number of a column does not tell."""
        known: str = getattr(self.facts, side) if self.kept is not None and said.isdigit() else ""
        return known or said

    def data_from(self, named: str) -> Pairs:
        columns = [self.said.get(f"data.{side}", getattr(self.data, side)) for side in ("source", "target")]
        try:
            other = Files(train=named, test=named, source=columns[0], target=columns[1])
        except ValueError as error:
            raise RecipeError(f"data.source={columns[0]} data.target={columns[1]}: {error}") from None
        other.keys["test"] = "on"
        return other

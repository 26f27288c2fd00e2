"""Language models on the command line and in Python: train, go on, evaluate, generate, score."""

import gzip
import json
from pathlib import Path

import pytest
from spoken import Done, refused, regard

from regard import InputError, RecipeError, evaluate, generate, open_run, score
from regard.run import Run

TEXT = "\ufffd\n" + "".join(f"The fox number {n} says {n * n}: yes, no and perhaps.\n" for n in range(300))
MODEL = """
[model]
kind = "language_model"
width = 16
decoder = { kind = "transformer", layers = 1, attention = { heads = 2 } }
[training]
steps = 20
optimizer = { learning_rate = 0.02 }
schedule = { kind = "constant" }
checkpoints = { validate_every = 10, save_every = 5 }
"""
HEAD = """
[task]
kind = "language"
context = 32
batch_tokens = 128
[data]
train = "{text}"
test_share = 0.1
[tokenizer]
kind = "characters"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("language")
    (folder / "text.txt").write_text(TEXT)
    (folder / "fox.toml").write_text(HEAD.replace("{text}", str(folder / "text.txt")) + MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(folder / "cache"))
        done = regard("train", str(folder / "fox.toml"), "--out", str(folder / "run"))
        assert done.code == 0, done.err
    return folder / "run", done


@pytest.fixture
def run(made: tuple[Path, Done]) -> str:
    return str(made[0])


def test_what_becomes_of_the_text_and_what_comes_next_is_told(made: tuple[Path, Done]) -> None:
    said = made[1].out
    assert "tokens" in said
    assert f"regard generate {made[0]}" in said


def test_it_is_gone_on_with_to_the_bit(made: tuple[Path, Done], tmp_path: Path) -> None:
    recipe = str(made[0].parent / "fox.toml")
    assert regard("train", recipe, "training.steps=12", "--out", str(tmp_path / "cut"), "-q").code == 0
    assert regard("train", str(tmp_path / "cut"), "--resume", "training.steps=20", "-q").code == 0
    weights = "checkpoints/step-20/weights.safetensors"
    assert (tmp_path / "cut" / weights).read_bytes() == (made[0] / weights).read_bytes()


def test_another_vocabulary_takes_what_has_no_words_in_it(run: str, made: tuple[Path, Done], tmp_path: Path) -> None:
    """And what begins anew is said."""
    (tmp_path / "owl.txt").write_text("The owl asks who, WHO; and why: %\n" * 99)
    owl = ["train", f"from={run}", f"data.train={tmp_path / 'owl.txt'}", "training.steps=2"]
    done = regard(*owl, "tokenizer.kind=bytes", "--out", str(tmp_path / "owl"))
    assert done.code == 0, done.err
    assert "copied" in done.out + done.err
    parts = regard(*owl, "from.parts=decoder", "--out", str(tmp_path / "parts"))
    assert parts.code == 0, parts.err
    for facts in (Run.open(tmp_path / name).facts["from"] for name in ("owl", "parts")):
        assert {name.partition(".")[0] for name in facts["fresh"]} == {"target"}  # the head is the same table
        assert facts["copied"] > 0
    assert regard("generate", str(tmp_path / "owl"), "The owl", "-n", "3").code == 0


def test_it_writes_and_the_prompt_comes_first(run: str) -> None:
    done = regard("generate", run, "The fox", "-n", "10")
    assert done.code == 0
    assert done.out.startswith("The fox")
    assert done.err == "ended: after 10 tokens; --tokens N writes more\n"
    bare = regard("generate", run, "The fox", "-n", "10", "--no-echo")
    assert "The fox" + bare.out == done.out
    assert regard("generate", run, "The fox", "-n", "10", "--seed", "7").out != done.out
    full = regard("generate", run, "The fox", "-n", "99", "--greedy")
    assert full.err == "ended: its context of 32 tokens is full; --slide forgets the older half and goes on\n"
    slid = regard("generate", run, "The fox", "-n", "99", "--greedy", "--slide")
    assert slid.out.startswith(full.out.rstrip("\n"))


def test_several_are_written_each_under_its_line(run: str) -> None:
    done = regard("generate", run, "-n", "5", "--samples", "2", given=b"The\nno\n")
    heads = [line for line in done.lines if line.startswith("──")]
    assert heads == [f"── text {n}, sample {s} ──" for n in (1, 2) for s in (1, 2)]
    rows = [json.loads(line) for line in regard("generate", run, "-n", "5", "--json", given=b"The\nno\n").lines]
    assert [row["prompt"] for row in rows] == ["The", "no"]
    assert all(len(row["tokens"]) == 5 and row["why"] == "length" for row in rows)
    assert rows[0]["log_prob"] == pytest.approx(sum(token["log_prob"] for token in rows[0]["tokens"]), abs=1e-4)
    assert rows[0]["text"] == "".join(token["text"] for token in rows[0]["tokens"])


@pytest.mark.parametrize("how", [["--greedy"], ["--set", "decoding.kind=beam"], ["--temperature", "0"]], ids=" ".join)
def test_no_samples_are_written_where_nothing_is_drawn(how: list[str], run: str) -> None:
    refused(
        3,
        "nothing is drawn here, so that all samples would be the same text",
        "generate",
        run,
        "a",
        *how,
        "--samples",
        "2",
    )
    with pytest.raises(InputError, match=r"the same text; leave out samples=…"):
        generate(run, "a", "decoding.kind=greedy", samples=2)


def test_a_pipe_may_be_one_prompt(run: str) -> None:
    (row,) = [
        json.loads(line) for line in regard("generate", run, "--whole", "--json", "-n", "3", given=b"a\nb\n").lines
    ]
    assert row["prompt"] == "a\nb\n"
    refused(3, "--whole takes a file or a pipe", "generate", run, "a", "--whole")


def test_surprise_is_shown_without_colours_too(run: str) -> None:
    done = regard("generate", run, "The fox", "-n", "10", "--probabilities")
    assert any(mark in done.out for mark in "·░▒▓█")
    assert "−log₂ probability: · 0–1" in done.out
    assert max(map(len, done.lines[-1:])) <= 80


def test_what_is_told_of_one_text_is_told_of_several_in_the_end(run: str) -> None:
    done = regard("generate", run, "The fox", "no", "-n", "99", "--greedy", "--set", "decoding.min_length=99")
    assert done.code == 0, done.err
    assert "2 of 2 texts ended: its context of 32 tokens is full; --slide forgets the older half" in done.err
    done = regard("generate", run, "The fox", "no", "-n", "3", "--probabilities")
    assert done.lines[-1].startswith("−log₂ probability: · 0–1")
    assert "ended" not in done.err


def test_a_file_is_one_prompt_with_its_lines_packed_or_not(run: str, tmp_path: Path) -> None:
    lines = "The fox\nnumber 7"
    (tmp_path / "plain.txt").write_text("\ufeff" + lines)
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(lines.encode()))
    told = [
        regard("generate", run, "--whole", "--file", str(tmp_path / name), "-n", "4", "--greedy").out
        for name in ("plain.txt", "packed.txt.gz")
    ]
    told.append(regard("generate", run, "--whole", "-n", "4", "--greedy", given=lines.encode()).out)
    assert told[0].startswith(lines)
    assert len(set(told)) == 1


def test_prompts_that_are_not_all_text_are_told(run: str) -> None:
    done = regard("generate", run, "-n", "3", "--greedy", given=b"fox \xff\nno\n")
    assert done.code == 0
    assert "the pipe: line 1: not UTF-8: what cannot be read is taken as \ufffd" in done.err
    assert "fox \ufffd" in done.out


def test_a_beam_search_goes_on_with_a_text_too(run: str) -> None:
    asked = ["generate", run, "The fox", "-n", "9", "--set", "decoding.kind=beam", "--set", "decoding.min_length=9"]
    done = regard(*asked)
    assert done.code == 0, done.err
    assert len(done.out.rstrip("\n")) == len("The fox") + 9
    assert "ended: after 9 tokens" in done.err


def test_what_ends_a_text_is_not_shown_with_its_surprise_either(run: str) -> None:
    (row,) = regard("generate", run, "The fox", "-n", "12", "--greedy", "--json").lines
    text = json.loads(row)["text"]
    stop = text[-1]
    asked = ["-n", "12", "--greedy", "--stop", stop, "--probabilities"]
    for prompts in (["The fox"], ["The fox", "The fox"]):
        done = regard("generate", run, *prompts, *asked)
        shown = done.out.translate(dict.fromkeys(map(ord, "·░▒▓█")))
        assert "The fox" + text[: text.index(stop)] + "\n" in shown


def test_every_line_is_scored_with_a_line(run: str) -> None:
    likely, unlikely = "The fox number 7 says", "syas 7 rebmun xof ehT"
    done = regard("score", run, given=f"{likely}\n\n{unlikely}\n".encode())
    rows = [line.split("\t") for line in done.lines]
    assert [row[3] for row in rows] == [likely, "", unlikely]
    assert float(rows[0][0]) / int(rows[0][1]) > float(rows[2][0]) / int(rows[2][1])
    assert rows[1][:2] == ["0.000", "0"]
    (row,) = [json.loads(line) for line in regard("score", run, likely, "--json").lines]
    assert row["log_prob"] == pytest.approx(float(rows[0][0]), abs=1e-3)
    assert "".join(token["text"] for token in row["tokens"]) == likely


def test_it_is_evaluated_on_other_texts(run: str, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("nothing of the kind " * 30)
    done = regard("evaluate", run, "--on", str(tmp_path / "other.txt"), "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["bits_per_byte"] > evaluate(run).facts()["bits_per_byte"]
    assert regard("evaluate", run, "--set", "task.stride=4").code == 0


def test_what_is_scored_of_other_files_is_all_of_them_and_perhaps_learnt(run: str, tmp_path: Path) -> None:
    own, other = Path(run).parent / "text.txt", tmp_path / "other.txt"
    other.write_text("nothing of the kind " * 30)
    (tmp_path / "link.txt").symlink_to(own)
    for file, learnt in ((other, None), (own, True), (tmp_path / "link.txt", True)):
        scored = evaluate(run, on=file).scored
        assert scored is not None
        assert (scored.whole, scored.learnt) == (True, learnt)
    said = regard("evaluate", run, "--on", str(own)).out
    assert (
        " ".join(said.split("answered by")[0].split()) == f"{len(TEXT) + 1:,} tokens of {own}, which it was trained on"
    )
    assert f"tokens of the test split of {own}\n" in evaluate(run).about
    assert evaluate(run, on=other).about.startswith(f"601 tokens of {other}\nanswered by step")


def test_how_other_files_are_read_is_said_at_use(run: str, tmp_path: Path) -> None:
    """Whatever the run learnt from, and its own data stay what they were."""
    file, plain = tmp_path / "other.jsonl", tmp_path / "other.txt"
    file.write_text(json.dumps({"body": "nothing of the kind " * 30, "n": 7}) + "\n")
    plain.write_text("nothing of the kind " * 30)
    refused(3, "keys with texts are: body; say data.text=KEY", "evaluate", run, "--on", str(file))
    wanted = evaluate(run, on=plain).facts()["bits_per_byte"]
    for words in (["data.text=body"], ["--set", "data.text=body"]):
        done = regard("evaluate", run, "--on", str(file), *words, "--json")
        assert (done.code, done.err) == (0, "")
        assert json.loads(done.out)["bits_per_byte"] == pytest.approx(wanted)
    opened = open_run(run, "data.text=body")
    assert opened.task.data.fingerprint() == opened.run.facts["data"]
    assert opened.answering("decoding.kind=greedy").task.said == {"data.text": "body"}
    refused(3, "data.text: says how other files are read", "evaluate", run, "data.text=body")
    refused(
        2, "data.text: wanted the name of a key or column, given 7", "evaluate", run, "--on", str(file), "data.text=7"
    )
    refused(2, "what can is decoding, task.stride, data.text", "evaluate", run, "data.seed=2")


def test_a_column_of_parquet_is_named_at_use_by_a_run_of_built_in_texts(run: str, tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"body": ["nothing of the kind " * 30]}), tmp_path / "other.parquet")
    words = ["data.kind=pydoc", "training.steps=1", "--out", str(tmp_path / "help"), "-q"]
    assert regard("train", str(Path(run).parent / "fox.toml"), *words).code == 0
    found = evaluate(tmp_path / "help", "data.text=body", on=tmp_path / "other.parquet")
    assert found.facts()["documents"] == 1


def test_the_calls_do_the_same(run: str) -> None:
    trained = open_run(run)
    one, two = generate(trained, ["The fox", "no"], "decoding.kind=greedy", tokens=6)
    assert one.prompt + one.text == regard("generate", run, "The fox", "-n", "6", "--greedy").out[:-1]
    assert generate(run, "no", "decoding.kind=greedy", tokens=6)[0].text == two.text
    assert score(run, "no")[0].log_prob == pytest.approx(float(regard("score", run, "no").out.split("\t")[0]), abs=1e-3)
    for wrong in ({"tokens": 0}, {"samples": -1}):
        with pytest.raises(InputError, match="wanted a whole number"):
            generate(run, "a", **wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="samples: wanted a whole number from 1 to 4,096, given int 1000000000"):
        generate(run, "a", samples=10**9)
    refused(2, "less than or equal to 4096", "generate", run, "a", "--samples", "4097")


def test_characters_that_a_model_of_characters_has_never_seen_are_refused(run: str) -> None:
    said = "the prompt has characters that were nowhere in the texts this model has learnt from: '한', 'ö', 'Z'; leave"
    refused(3, said, "generate", run, "The 한 fox: öZ한")
    refused(3, "prompt 2 has characters", "generate", run, "--slide", given="The\nno 한\nfox\n".encode())
    refused(3, "'한', 'ö', 'Z', 'Q', 'X' …; leave them out", "generate", run, "한öZQX~")
    with pytest.raises(InputError, match=r"'\\x07'"):
        generate(run, "The\a")
    assert regard("generate", run, "", "-n", "3").code == 0
    refused(3, said.replace("the prompt", "text 1"), "score", run, "The 한 fox: öZ한")
    with pytest.raises(InputError, match="text 2 has characters"):
        score(run, ["The", "no 한"])
    with pytest.raises(InputError, match=r"the text has characters .* '한'"):
        score(run, "한")


def test_what_cannot_be_is_said_in_a_line(run: str, tmp_path: Path) -> None:
    refused(3, "a prompt of 100 tokens, and the model takes in 32", "generate", run, "x" * 99)
    words = ["generate", run, "a", "--greedy", "--top-k", "3", "--seed", "1"]
    refused(2, "--greedy leaves nothing to chance: leave out --top-k, --seed", *words)
    none = ["generate", run, "a", "--temperature", "0"]
    refused(2, "--temperature 0 leaves nothing to chance: leave out --top-p, or", *none, "--top-p", "1.5")
    refused(
        2, "decoding.kind: said twice; leave this key out, or --temperature 0", *none, "--set", "decoding.kind=beam"
    )
    twice = ["--top-k", "3", "--set", "decoding.top_k=5"]
    refused(2, "decoding.top_k: said twice; leave this key out, or --top-k", "generate", run, "a", *twice)
    refused(2, "--draft-tokens: nobody guesses; say --draft RUN too", "generate", run, "a", "--draft-tokens", "3")
    refused(2, "--draft-tokens: wanted a whole number from 0 to 64, given 65", *words[:3], "--draft-tokens", "65")
    with pytest.raises(RecipeError, match="draft_tokens: nobody guesses; say draft=RUN too"):
        generate(run, "a", draft_tokens=3)
    refused(3, "an empty text ends nothing; leave out --stop ''", "generate", run, "a", "--stop", ".", "--stop", "")
    with pytest.raises(InputError, match="an empty text ends nothing; leave out '' in stop="):
        generate(run, "a", stop=[".", ""])
    refused(3, "not UTF-8", "generate", run, "--whole", given=b"\xff")
    refused(3, r"--stop is not UTF-8: b'caf\xff'", "generate", run, "a", "--stop", "b", "--stop", "caf\udcff")
    refused(3, r"--system is not UTF-8: b'\xff'", "generate", run, "a", "--system", "\udcff")
    refused(3, "this goes on with texts; leave it out", "generate", run, "a", "--system", "Be kind.")
    refused(2, "decoding.temperature", "generate", run, "a", "--set", "decoding.temperature=-1")
    refused(2, "decoding.top_p", "generate", run, "a", "--top-p", "1.5")
    said = "decoding.repetition_penalty: wanted a number ≥ 0.001 and ≤ 1000000.0"
    refused(2, said, "generate", run, "a", "--repetition-penalty", "1e-40")
    for key in ("decoding.min_length", "decoding.no_repeat_ngram_size"):
        said = f"{key}: wanted a whole number ≥ 0 and ≤ 1000000000"
        refused(2, said, "generate", run, "a", "--set", f"{key}={2**63}")
    refused(2, "decoding.top_p", "generate", run, "a", "--set", "decoding.top_p=0.0")
    (tmp_path / "empty.txt").write_text("")
    recipe = (Path(run).parent / "fox.toml").read_text().replace(str(Path(run).parent / "text.txt"), "TEXT")
    for text, said in (("", "no text in it; it is empty"), ("short", "tokens, and a window 32; lower task.context")):
        (tmp_path / "text.txt").write_text(text)
        (tmp_path / "bad.toml").write_text(recipe.replace("TEXT", str(tmp_path / "text.txt")))
        refused(3, said, "train", str(tmp_path / "bad.toml"), "--out", str(tmp_path / "new"))
        assert not (tmp_path / "new").exists()


def test_another_text_is_learnt_from_its_weights(run: str, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("Another story about a hen and a cat.\n" * 60)
    words = [f"from={run}", f"data.train={tmp_path / 'more.txt'}", "training.steps=5"]
    done = regard("train", *words, "--out", str(tmp_path / "tuned"))
    assert done.code == 0, done.err
    assert "copied" in done.out + done.err
    assert regard("evaluate", str(tmp_path / "tuned")).code == 0
    fresh = regard("train", *words, "tokenizer.kind=bytes", "--out", str(tmp_path / "fresh"))
    assert fresh.code == 0, fresh.err
    assert "fresh: " in fresh.out + fresh.err


def test_a_draft_guesses_and_greedy_text_stays(run: str, tmp_path: Path) -> None:
    plain = regard("generate", run, "The fox", "-n", "12", "--greedy")
    done = regard("generate", run, "The fox", "-n", "12", "--greedy", "--draft", run)
    assert (done.code, done.out) == (0, plain.out)
    assert "guesses stood" in done.err
    rows = [
        json.loads(line)
        for line in regard(
            "generate", run, "-n", "12", "--json", "--draft", run, "--draft-tokens", "3", given=b"The\nno\n"
        ).lines
    ]
    for row in rows:
        assert set(row["draft"]) == {"proposed", "accepted", "steps"}
        assert row["draft"]["accepted"] <= row["draft"]["proposed"]
        assert row["draft"]["accepted"] + row["draft"]["steps"] >= len(row["tokens"])
    trained = open_run(run)
    (found,) = generate(trained, "The fox", "decoding.kind=greedy", tokens=12, draft=trained, draft_tokens=2)
    assert "The fox" + found.text + "\n" == plain.out
    assert found.drafted is not None
    assert found.drafted.accepted == found.drafted.proposed
    with pytest.raises(RecipeError, match="draft_tokens: wanted a whole number from 0 to 64"):
        generate(trained, "a", draft=trained, draft_tokens=-1)


def test_a_draft_is_trained_with_the_tokenizer_of_the_run_it_is_for(run: str, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("Another story about a hen and a cat.\n" * 60)
    words = ["tokenizer.kind=pretrained", f"tokenizer.file={run}/tokenizer.json", f"data.train={tmp_path / 'more.txt'}"]
    words += ["model.width=8", "training.steps=1", "--out", str(tmp_path / "owl"), "-q"]
    done = regard("train", str(Path(run).parent / "fox.toml"), *words)
    assert done.code == 0, done.err
    kept = [json.loads((folder / "tokenizer.json").read_text()) for folder in (Path(run), tmp_path / "owl")]
    assert kept[0] == kept[1]
    plain = regard("generate", run, "The fox", "-n", "12", "--greedy")
    drafted = regard("generate", run, "The fox", "-n", "12", "--greedy", "--draft", str(tmp_path / "owl"))
    assert (drafted.code, drafted.out) == (0, plain.out)


def test_a_draft_that_cannot_be_one_is_refused_in_a_line(run: str, tmp_path: Path) -> None:
    refused(3, "no-such-run", "generate", run, "a", "--draft", str(tmp_path / "no-such-run"))
    other = ("tokenizer.kind=bpe", "tokenizer.vocab_size=300", "training.steps=1", "--out", str(tmp_path / "owl"), "-q")
    assert regard("train", str(Path(run).parent / "fox.toml"), *other).code == 0
    refused(3, "the draft has another vocabulary", "generate", run, "a", "--draft", str(tmp_path / "owl"))
    refused(3, "tokenizer.kind=pretrained tokenizer.file=RUN/", "generate", run, "a", "--draft", str(tmp_path / "owl"))
    refused(3, "a beam search keeps several", "generate", run, "a", "--draft", run, "--set", "decoding.kind=beam")
    few = ("data.train=300", "data.valid=9", "data.test=9")
    numbers = ("train", "numbers-gru", *few, "training.steps=1", "--out", str(tmp_path / "numbers"), "-q")
    assert regard(*numbers).code == 0
    refused(
        3, "not a language model; its task is translation", "generate", run, "a", "--draft", str(tmp_path / "numbers")
    )
    weights = next((tmp_path / "owl").glob("checkpoints/*/weights.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-4] + b"\xff\xff\xff\x7f")
    done = regard("generate", run, "a", "--draft", str(tmp_path / "owl"))
    assert done.code == 3, done.err
    assert "step-1" in done.err
    assert "Traceback" not in done.err


def test_a_prompt_unlike_all_that_was_learnt_is_warned_of(made: tuple[Path, Done], tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    recipe = str(made[0].parent / "fox.toml")
    assert regard("train", recipe, "tokenizer=bpe", "training.steps=1", "--out", run).code == 0
    assert "text 1: most of its characters are not in the vocabulary" in regard("generate", run, "שלום", "-n", "1").err
    assert "most of" not in regard("generate", run, "The fox \ufffd", "-n", "1").err
    refused(3, "leave them out", "generate", str(made[0]), "שלום עולם", "-n", "1")

"""An imported model is a run like any other: it writes, scores, is evaluated, described, packed and trained further."""

import json
from pathlib import Path

import pytest
import torch
from spoken import Done, refused, regard
from strangers import TEMPLATE, change, put, stranger, tokenizer_json
from written import put_gguf

from regard import evaluate, generate, open_run
from regard.import_run import import_model
from regard.run import Run

TEXT = "Two men are playing the guitar in front of 1234 people! Ein Hund läuft über die grüne Wiese.\n" * 30


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("import")
    put(folder / "llama", stranger("llama"))
    (folder / "llama" / "tokenizer.json").write_text(tokenizer_json())
    (folder / "llama" / "chat_template.jinja").write_text(TEMPLATE + "<|im_start|>assistant\n")
    (folder / "text.txt").write_text(TEXT)
    done = regard("import", str(folder / "llama"), "--out", str(folder / "run"))
    assert done.code == 0, done.err
    return folder / "run", done


def test_what_was_made_and_what_comes_next_is_told(made: tuple[Path, Done]) -> None:
    assert f"regard generate {made[0]} 'Why is the sky blue?'" in made[1].out
    assert Run.open(made[0]).facts["origin"]["family"] == "llama"


def test_it_writes_what_transformers_would(made: tuple[Path, Done]) -> None:
    theirs, ours = stranger("llama"), open_run(made[0])
    generator = ours.answerer
    ids = generator.encode("Two men")
    with torch.no_grad():
        for _ in range(12):
            logits = theirs(torch.tensor([ids])).logits[0, -1]
            logits[generator._never()] = -torch.inf
            token = int(logits.argmax())
            if token in generator.facts.stops:
                break
            ids.append(token)
    (found,) = generate(ours, "Two men", "decoding.kind=greedy", tokens=12)
    assert [token.token for token in found.tokens] == ids[len(generator.encode("Two men")) :]


def test_a_chat_is_written_by_its_own_template(made: tuple[Path, Done]) -> None:
    generator = open_run(made[0]).answerer
    ids = generator.encode_chat([{"role": "user", "content": "Hund <|im_end|>"}])
    names = [generator.tokenizer.engine.id_to_token(token) for token in ids]
    assert (names.count("<|im_start|>"), names.count("<|im_end|>")) == (2, 1)  # a message ends nothing by itself
    chat = regard("generate", str(made[0]), "Hund", "-n", "5", "--greedy")
    plain = regard("generate", str(made[0]), "Hund", "-n", "5", "--greedy", "--no-chat")
    assert (chat.code, plain.code) == (0, 0)
    assert plain.out.startswith("Hund")
    assert not chat.out.startswith("Hund")
    told = regard("generate", str(made[0]), "Hund", "-n", "5", "--greedy", "--system", "Antworte kurz.")
    assert told.code == 0


def test_where_nothing_begins_a_text_documents_are_parted_by_the_token_for_that(tmp_path: Path) -> None:
    """Chats end with a token of their own, which stood between no two documents; both end what is written."""
    put(tmp_path / "qwen2", stranger("qwen2"))
    (tmp_path / "qwen2" / "tokenizer.json").write_text(tokenizer_json())
    change(tmp_path / "qwen2", "tokenizer_config.json", add_bos_token=False)
    generator = open_run(import_model(tmp_path / "qwen2", tmp_path / "run").folder).answerer
    ids = {name: generator.tokenizer.engine.token_to_id(name) for name in ("<|endoftext|>", "<|im_end|>")}
    facts = generator.facts
    assert (facts.begin, facts.end) == (ids["<|endoftext|>"],) * 2
    assert set(facts.stops) == {*ids.values()}
    assert facts.begin not in generator.encode("Two men")
    assert generator.encode("") == [facts.begin]


@pytest.mark.parametrize(
    ("said", "template", "drawn"),
    [
        (
            {"temperature": 0.3, "top_k": 7, "min_p": 0.1},
            True,
            {"temperature": 0.3, "top_k": 7, "min_p": 0.1, "top_p": 1},
        ),
        (
            {"temperature": 0, "top_p": 2.0, "top_k": 1.5, "repetition_penalty": True},
            False,
            {"temperature": 1, "top_p": 1},
        ),
        ({}, True, {"temperature": 0.7, "top_p": 0.9}),
        ({}, False, {"temperature": 1, "top_p": 1}),
    ],
)
def test_it_draws_as_its_makers_say(
    said: dict[str, float], template: bool, drawn: dict[str, float], tmp_path: Path
) -> None:
    """A chat of which nothing is said keeps away from unlikely words."""
    folder = put(tmp_path / "llama", stranger("llama"))
    (folder / "tokenizer.json").write_text(tokenizer_json())
    (folder / "generation_config.json").write_text(json.dumps(said))
    change(folder, "tokenizer_config.json", chat_template=TEMPLATE if template else None)
    decoding = import_model(folder, tmp_path / "run").recipe["decoding"]
    assert {name: decoding[name] for name in drawn} == drawn
    assert regard("generate", str(tmp_path / "run"), "a", "-n", "2", "--greedy", "--no-chat").code == 0


def test_it_does_what_a_trained_one_does(made: tuple[Path, Done], tmp_path: Path) -> None:
    run, text = str(made[0]), str(made[0].parent / "text.txt")
    assert regard("score", run, "Two men are playing").code == 0
    done = regard("evaluate", run, "--on", text, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["bits_per_byte"] > 0
    refused(3, "name files with --on", "evaluate", run)
    for verb in (["describe", run], ["runs", "show", run], ["pack", run, "--out", str(tmp_path / "packed")]):
        assert regard(*verb).code == 0, verb
    assert Run.open(tmp_path / "packed").facts["origin"] == Run.open(made[0]).facts["origin"]  # its licence, too
    refused(3, "from=", "train", run, "--resume")
    words = [f"from={run}", f"data.train={text}", "task.context=16", "task.batch_tokens=64", "training.steps=6"]
    done = regard("train", *words, "training.optimizer.learning_rate=0.01", "--out", str(tmp_path / "tuned"))
    assert done.code == 0, done.err
    before, after = (evaluate(one, on=text).facts()["loss"] for one in (run, str(tmp_path / "tuned")))
    assert after < before
    refused(3, "no texts to learn from", "train", f"from={run}", "--out", str(tmp_path / "none"))


@pytest.mark.parametrize("family", ["gpt2", "llama biased", "mistral", "qwen2", "mixtral"])
@pytest.mark.parametrize("form", ["folder", "gguf"])
def test_every_family_becomes_a_run_that_writes_and_is_watched(family: str, form: str, tmp_path: Path) -> None:
    theirs = stranger(family)
    if form == "gguf":
        source = put_gguf(tmp_path / "theirs.gguf", theirs)
    else:
        source = put(tmp_path / "theirs", theirs)
        (source / "tokenizer.json").write_text(tokenizer_json())
    run = str(tmp_path / "run")
    assert regard("import", str(source), "--out", run, "-q").code == 0
    words = ("Two men are", "-n", "9", "--greedy", "--no-chat", "--no-echo", "--json")
    done = regard("generate", run, *words)
    assert done.code == 0, done.err
    opened = open_run(run)
    ids = torch.tensor([opened.answerer.encode("Two men are")])
    with torch.no_grad():
        torch.testing.assert_close(opened.model(ids), theirs(ids).logits, atol=1e-4, rtol=1e-4)
    look = regard("look", run, "Two men are", "--out", str(tmp_path / "look.csv"), "-q")
    assert look.code == 0, look.err
    rows = (tmp_path / "look.csv").read_text().splitlines()
    assert len(rows) > 1


@pytest.mark.parametrize("name", ["theirs.gguf", "theirs/model.safetensors"])
def test_a_damaged_file_is_refused_in_a_line(name: str, tmp_path: Path) -> None:
    put_gguf(tmp_path / "theirs.gguf", stranger("llama"))
    (put(tmp_path / "theirs", stranger("llama")) / "tokenizer.json").write_text(tokenizer_json())
    content = (tmp_path / name).read_bytes()
    source = tmp_path / name.partition("/")[0]
    for spoilt in (content[:-1], content[:100], b"", content[:8] + b"\xff" * 8 + content[16:]):
        (tmp_path / name).write_bytes(spoilt)
        refused(3, str(source), "import", str(source), "--out", str(tmp_path / "run"))
        assert not (tmp_path / "run").exists()


def test_what_cannot_be_imported_leaves_nothing(made: tuple[Path, Done], tmp_path: Path) -> None:
    refused(3, "no such folder or file", "import", str(tmp_path / "none"), "--out", str(tmp_path / "new"))
    refused(3, "there is a run already", "import", str(made[0].parent / "llama"), "--out", str(made[0]))
    assert not (tmp_path / "new").exists()


HOSTILE = {
    "{{ ''.__class__.__mro__[1].__subclasses__() }}": "chat template: ",
    "{% include '/etc/passwd' %}": "--no-chat goes on with the text alone",
    "{{ 'a' * 10**10 }}": "more memory than it may",
}


@pytest.mark.parametrize("template", HOSTILE)
def test_a_hostile_chat_template_is_a_line_when_it_is_used(template: str, tmp_path: Path) -> None:
    put(tmp_path / "llama", stranger("llama"))
    (tmp_path / "llama" / "tokenizer.json").write_text(tokenizer_json())
    (tmp_path / "llama" / "chat_template.jinja").write_text(template)
    assert regard("import", str(tmp_path / "llama"), "--out", str(tmp_path / "run"), "-q").code == 0
    refused(3, HOSTILE[template], "generate", str(tmp_path / "run"), "Hund", "-n", "3")
    assert regard("generate", str(tmp_path / "run"), "Hund", "-n", "3", "--no-chat").code == 0


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "vocab_size", "intermediate_size"])
def test_a_config_that_does_not_match_its_weights_is_refused(key: str, tmp_path: Path) -> None:
    put(tmp_path / "llama", stranger("llama"))
    (tmp_path / "llama" / "tokenizer.json").write_text(tokenizer_json())
    config = json.loads((tmp_path / "llama" / "config.json").read_text())
    (tmp_path / "llama" / "config.json").write_text(json.dumps(config | {key: 2 * config[key]}))
    refused(3, str(tmp_path / "llama"), "import", str(tmp_path / "llama"), "--out", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()

"""regard translate: texts, files and pipes."""

import json
from pathlib import Path

import pytest
from spoken import Done, regard

from regard.tasks.translation import Translated, Translator


def test_texts_files_and_pipes_are_translated_alike_and_in_order(trained: tuple[Path, Done], tmp_path: Path) -> None:
    run = str(trained[0])
    texts = ["a b c", "f", "d e", "b a c"]
    spoken = regard("translate", run, *texts)
    assert (spoken.code, spoken.err) == (0, "")
    assert len(spoken.lines) == 4
    assert regard("translate", run, *reversed(texts)).lines == spoken.lines[::-1]
    (tmp_path / "texts").write_bytes("\r\n".join(texts).encode())
    assert regard("translate", run, "--file", str(tmp_path / "texts")).lines == spoken.lines
    assert regard("translate", run, given="\n".join(texts).encode()).lines == spoken.lines
    assert [regard("translate", run, text).lines[0] for text in texts] == spoken.lines


def test_a_text_unlike_all_that_was_learnt_is_warned_of(trained: tuple[Path, Done]) -> None:
    done = regard("translate", str(trained[0]), "a b", "שלום עולם", "a ä b c d")
    assert (done.code, len(done.lines)) == (0, 3)
    assert done.err.splitlines()[-1] == (
        "text 2: most of its characters are not in the vocabulary: expect little of the answer"
    )
    assert done.err.count("most of its") == 1


def test_empty_lines_are_kept(trained: tuple[Path, Done]) -> None:
    done = regard("translate", str(trained[0]), given=b"\na b\n\n \nc\n\n")
    full = regard("translate", str(trained[0]), "a b", "c").lines
    assert done.out.split("\n") == ["", full[0], "", "", full[1], "", ""]
    assert regard("translate", str(trained[0]), "").out == "\n"
    assert regard("translate", str(trained[0]), given=b"").out == ""


def test_translations_for_machines(trained: tuple[Path, Done]) -> None:
    done = regard("translate", str(trained[0]), "a b", "", "--json", "--n-best", "3")
    rows = [json.loads(line) for line in done.lines]
    assert [row["source"] for row in rows] == ["a b", ""]
    assert rows[1]["translations"] == [{"text": "", "score": 0.0}]
    scores = [found["score"] for found in rows[0]["translations"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert len({found["text"] for found in rows[0]["translations"]}) == 3


def test_the_n_best_are_shown_with_their_scores(trained: tuple[Path, Done]) -> None:
    run = str(trained[0])
    lines = regard("translate", run, "a b", "c", "--n-best", "2", "--beam", "4").lines
    assert len(lines) == 4
    rows = [line.split("\t") for line in lines]
    assert [float(row[0]) for row in rows[:2]] == sorted((float(row[0]) for row in rows[:2]), reverse=True)
    assert rows[0][1] == regard("translate", run, "a b", "--beam", "4").lines[0]


def test_attention_is_drawn_and_counted(trained: tuple[Path, Done]) -> None:
    run = str(trained[0])
    plain = regard("translate", run, "a b c").lines
    drawn = regard("translate", run, "a b c", "--attention").lines
    assert drawn[0] == plain[0]
    assert any(shade in "".join(drawn) for shade in "░▒▓█")
    seen = json.loads(regard("translate", run, "a b c", "--attention", "--json").out)["attention"]
    assert seen["source"] == ["a", "b", "c", "<eos>"]
    assert seen["target"][-1] == "<eos>"
    assert [len(row) for row in seen["weights"]] == [4] * len(seen["target"])
    assert [sum(row) for row in seen["weights"]] == pytest.approx([1.0] * len(seen["target"]), abs=1e-4)


def test_any_character_and_any_length_is_taken(trained: tuple[Path, Done]) -> None:
    texts = ["한국어 😀 �", "a. " * 400, "a" * 3000, "a\tb", "<eos> <pad>"]
    done = regard("translate", str(trained[0]), "--beam", "1", given="\n".join(texts).encode())
    assert (done.code, done.err.partition(": most of its characters")[0]) == (0, "the pipe: line 1")
    assert done.out.count("\n") == len(texts)


def test_whatever_a_model_writes_is_one_line_and_no_order_to_the_terminal(
    trained: tuple[Path, Done], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = "".join(map(chr, [*range(0x21), *range(0x7F, 0xA1), 0x2028, 0x2029, 0x3000])) + "한"
    answers = [Translated("a", [written], [0.0])] * 30
    monkeypatch.setattr(Translator, "stream", lambda self, texts, *_, **__: enumerate(answers[: len(texts)]))
    kept = "\xa0\u3000한"
    assert regard("translate", str(run), "a", "b").out == 2 * (" " * 66 + kept[0] + "  " + kept[1:] + "\n")
    assert json.loads(regard("translate", str(run), "a", "--json").out)["translations"][0]["text"] == written
    regard("evaluate", str(run))
    assert len((run / "translations.csv").read_text().splitlines()) == 31

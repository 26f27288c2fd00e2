"""What bash offers at <tab>, asked by bash itself with the script that Regard gives it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BASH = shutil.which("bash")
TYPED = {
    "regard tr": {"train", "translate"},
    "regard train numbers-": {"numbers-gru", "numbers-transformer"},
    "regard describe gpt-w": {"gpt-window"},
    "regard train ru": {"runs/mine"},
    "regard evaluate ": {"runs/mine"},
    "regard runs show runs/": {"runs/mine"},
    "regard train numbers-gru model.deco": {
        *("model.decoder.", "model.decoder=", "model.decoder=recurrent", "model.decoder=convolution"),
        "model.decoder=transformer",
    },
    "regard train numbers-gru model.decoder.attention.": {
        *("model.decoder.attention.kind=", "model.decoder.attention.hidden="),
    },
    "regard train runs/mine model.decoder.attention.kv": {
        *("model.decoder.attention.kv_heads=", "model.decoder.attention.kv_heads=0"),
    },
    "regard train numbers-gru data.kind = nu": {"numbers"},  # bash takes `=` for a word of its own
    "regard train numbers-gru training.machine.precision =": {"auto", "float32", "bfloat16"},
    "regard train gru-additive training.ste": {"training.steps=", "training.steps=0"},
    "regard menu attention mul": {"multihead"},
    "regard train --resu": {"--resume"},
    "regard train from = runs/": {"runs/mine"},
}
SCRIPT = """
eval "$(_REGARD_COMPLETE=source_bash $REGARD)"
while IFS= read -r typed; do
    read -r -a COMP_WORDS <<< "$typed"
    [[ "$typed" == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _regard_completion "$REGARD"
    echo "${COMPREPLY[*]}" | tr '\\n' ' '
    echo
done
"""


def environment(program: str = "", **more: str) -> dict[str, str]:
    return os.environ | {"REGARD": program} | more


@pytest.mark.skipif(BASH is None, reason="bash")
def test_bash_is_told_verbs_recipes_runs_keys_and_values(tmp_path: Path) -> None:
    mine = tmp_path / "runs" / "mine"
    mine.mkdir(parents=True)
    (mine / "recipe.toml").write_text('[model]\nkind = "seq2seq"\n[model.decoder]\nkind = "transformer"\n')
    with (mine / "recipe.toml").open("a") as file:
        file.write('attention = "multihead"\n')
    program = tmp_path / "regard"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m regard "$@"\n')
    program.chmod(0o755)
    typed = "".join(f"{line}\n" for line in TYPED)
    command = [str(BASH), "--norc", "-c", SCRIPT]
    done = subprocess.run(
        command, input=typed, capture_output=True, text=True, cwd=tmp_path, env=environment(str(program)), check=False
    )
    assert done.stderr == ""
    answers = [set(line.split()) for line in done.stdout.splitlines()]
    assert dict(zip(TYPED, answers, strict=True)) == TYPED


def test_nothing_heavy_is_imported_to_answer() -> None:
    code = """
import sys
from regard.commands import main
try:
    main()
finally:
    assert not {'torch', 'numpy', 'matplotlib', 'regard.recipe'} & set(sys.modules), sorted(sys.modules)
"""
    asked = {"_REGARD_COMPLETE": "complete_bash", "COMP_WORDS": "regard train gpt2 training.opt", "COMP_CWORD": "3"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(**asked), check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    assert "training.optimizer=muon" in done.stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script(shell: str) -> None:
    asked = environment(_REGARD_COMPLETE=f"source_{shell}")
    command = [sys.executable, "-m", "regard"]
    done = subprocess.run(command, capture_output=True, text=True, env=asked, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    assert "_REGARD_COMPLETE" in done.stdout

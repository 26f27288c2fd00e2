"""Runs of language models that mean harm: what they keep of their texts, and templates that are programs."""

from attack.spoil import PLACE, Spoil, both, folder, holds, large, link, pipe, said

FACTS, CHAT = "language.json", "chat_template.jinja"
TEMPLATES = {
    "that never ends": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "that writes for ever": "{% for a in range(99999) %}{{ 'x' * 100000 }}{% endfor %}",
    "that takes memory": "{{ ('x' * 2000000000)|length }}",
    "of a huge number": "{{ 10 ** 10 ** 8 }}",
    "that reaches inside": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "that reaches out": "{{ cycler.__init__.__globals__.os.system('touch touched') }}",
    "that reads a file": "{% include '/etc/hostname' %}{{ open('/etc/hostname').read() }}",
    "that imports": "{% import 'os' as os %}{{ os.getcwd() }}",
    "that is broken": "{% for m in messages %}{{ m.content",
    "that calls itself": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "that refuses": "{{ raise_exception('\x1b[31m no') }}",
    "that says nothing": "",
    "that says orders": "\x1b]0;x\x07{{ messages[0].content }}",
    "that says other tokens": "{% for m in messages %}<|im_start|>{{ m.role }}<tool>\x00\ud7ff{% endfor %}",
    "of marks": "\ue000" + "0" * 32 + "-1\ue001",
    "nested deep": "{% if true %}" * 3000 + "{% endif %}" * 3000,
    "of many names": "".join(f"{{% set n{number} = {number} %}}" for number in range(50_000)),
}
NUMBERS = (-1, 263, 10**9, 10**400, 1.5, True, None, "0", [], {})


def facts() -> dict[str, Spoil]:
    """Tokens that are none, in every place."""
    found: dict[str, Spoil] = {}
    for key in ("begin", "end", "vocab_size"):
        found |= {f"gpt: {key} of {value!r:.20}": said(FACTS, key, value) for value in NUMBERS}
    lists = ([], [-1], [[0]], list(range(200)), [10**30], "all", {"0": 0}, [0] * 300_000)
    found |= {f"gpt: stops of {value!r:.20}": said(FACTS, "stops", value) for value in lists}
    found |= {f"gpt: begins of {value!r:.20}": said(FACTS, "begins", value) for value in (0, "no", [])}
    found["gpt: tokens nested deep"] = said(FACTS, "stops", PLACE, raw="[" * 3000 + "]" * 3000)
    return found


def asked() -> dict[str, Spoil]:
    """What a recipe may ask of a task of language."""
    found: dict[str, Spoil] = {}
    for key in ("context", "batch_tokens", "stride"):
        for value in (0, -1, 10**9, 10**18, 1.5, "many"):
            found[f"gpt: {key} {value!r}"] = said("recipe.toml", f"task/{key}", value)
    for train in ("", "/", "/dev/zero", "/proc/self/mem", "../../beside/file.txt", "**/*", "x\x00", ["a"], 7):
        found[f"gpt: texts {train!r}"] = said("recipe.toml", "data/train", train)
    found["reader: carries what is apart"] = said("recipe.toml", "task/documents", "apart")
    found["gpt: another task"] = said("recipe.toml", "task", {"kind": "translation"})
    found["reader: another decoder"] = said("recipe.toml", "model/decoder/cell", "gru")
    return found


def files() -> dict[str, Spoil]:
    found: dict[str, Spoil] = {}
    for victim, name in (("gpt", FACTS), ("imported", FACTS), ("imported", CHAT)):
        found |= {
            f"{victim}: {name} linked": link(name, f"run/{name}"),
            f"{victim}: {name} a pipe": pipe(name),
            f"{victim}: {name} a folder": folder(name),
            f"{victim}: {name} of 20 GB": large(name, 20 * 2**30),
            f"{victim}: {name} of noise": holds(name, bytes(range(256)) * 40),
            f"{victim}: {name} empty": holds(name, b""),
        }
    return found


WRITERS = (
    facts()
    | asked()
    | files()
    | {f"imported: a template {what}": holds(CHAT, text) for what, text in TEMPLATES.items()}
    | {"imported: a state": both(folder("checkpoints/step-1"), holds("checkpoints/step-1/state.safetensors", b"x"))}
)

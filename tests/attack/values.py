"""Values that nobody expects, put at random places of a table: sizes, types, names and depths."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

Path_ = tuple[Any, ...]
NUMBERS = [0, -1, 1, 2, 3, 2**31, 2**63 - 1, 2**63, -(2**63), 10**6, 10**9, 10**12, 10**18, 10**40]
NUMBERS += [0.0, -0.0, 0.5, 1e308, -1e5, 1e-46, 1e-320, float("inf"), float("-inf"), float("nan")]
NAMES = ["", ".", "..", "../../beside/file.txt", "/etc/hostname", "step-2", "step-999999999999", "weights.safetensors"]
NAMES += ["a" * 5000, "\x1b[31mred", "[/x][bold]", "a\nb", "\x00", "\u202eabc", "{run}", "%s", "~", "a.b.c", "ß" * 300]
RAW = ["9" * 5000, "-" + "9" * 5000, "[" * 3000 + "]" * 3000, "[" * 90 + "]" * 90, "1e999", "1" + "0" * 400]
RAW += ["{}", "[]", "[[], [1], [[2]]]", "true", '"' + "x" * 200_000 + '"']
MARK = "@raw value@"


def odd(random: Random, table: Any) -> Any:
    """A value of any kind; some are others of the same table, in a place where they do not belong."""
    way = random.randrange(8)
    if way < 3:
        return random.choice(NUMBERS)
    if way == 3:
        return random.choice(NAMES)
    if way == 4:
        return random.choice([True, False, None, [], {}, [1], [[1, 2], "x"], {"kind": "x"}, {"": {}}, ["a"] * 2000])
    if way == 5:
        return MARK
    return value_at(table, random.choice(list(places(table))))


def near(random: Random, value: Any) -> Any:
    """The same kind of value, somewhat off."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return random.choice([value + 1, value - 1, value * 2, -value, value * 1000, value * 10**9, value / 2])
    if isinstance(value, str) and value:
        cut = random.randrange(len(value))
        return random.choice([value[:cut], value[cut:] * 2, value.upper(), value + "x", f"../{value}", value[::-1]])
    if isinstance(value, list):
        return random.choice([value[::-1], value * 2, value[1:], [*value, *value[:1]], [value]])
    if isinstance(value, dict):
        return random.choice([{"kind": value}, {**value, "more": 1}, list(value), dict(list(value.items())[1:])])
    return value


def places(table: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Where there are values, tables and lists themselves among them; of long lists only some."""
    yield path
    if isinstance(table, dict):
        keys: list[Any] = list(table)
    elif isinstance(table, list):
        keys = list(range(len(table)))
    else:
        return
    for key in keys if len(keys) <= 40 else [*keys[:20], *keys[-20:]]:
        yield from places(table[key], (*path, key))


def value_at(table: Any, path: Path_) -> Any:
    for key in path:
        table = table[key]
    return table


def changed(random: Random, table: Any, kinds: list[str]) -> str:
    """Change a table in one place; says which. `kinds` are words that mean something in such a table."""
    paths = [path for path in places(table) if path]
    if not paths:
        return "nothing to change"
    *above, key = random.choice(paths)
    holder = value_at(table, tuple(above))
    named = ".".join(map(str, (*above, key)))[:80]
    way = random.randrange(10)
    if way == 0:
        del holder[key]
        return f"without {named}"
    if way == 1 and isinstance(holder, dict):
        other = random.choice([*NAMES, *kinds, "kind"])
        holder[other] = holder.pop(key)
        return f"{named} renamed {other[:40]!r}"
    if way == 2 and kinds:
        holder[key] = random.choice(kinds)
    else:
        holder[key] = near(random, holder[key]) if way < 6 else odd(random, table)
    return f"{named} = {repr(holder[key])[:60]}"


def with_raw(random: Random, text: str) -> str:
    """What no library would write, in the place that was kept for it."""
    while f'"{MARK}"' in text:
        text = text.replace(f'"{MARK}"', random.choice(RAW), 1)
    return text


def changed_json(random: Random, content: bytes, kinds: list[str]) -> tuple[bytes, str]:
    table = json.loads(content)
    said = changed(random, table, kinds)
    return with_raw(random, json.dumps(table)).encode(errors="surrogatepass"), said

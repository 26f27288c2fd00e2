"""What runs beside Regard to render one template: a program of its own, which reads an order and writes an answer.

A template is a program of a stranger. Jinja's sandbox keeps it from Python's inside; this process, should that fail,
reads and writes no file, reaches nobody, and has no more memory and no more seconds; it is no wall against all that
the system could be asked for. It imports nothing of Regard.
"""

import json
import resource
import sys
from datetime import datetime
from typing import Any

LONGEST = 2**22  # characters that a template may write, and a chat may have
# what is rendered once before, so that nothing has to be imported once no file can be opened
COMMON = (
    r"{{ '\n\u00e9' ~ 1.5 ~ x|tojson(indent=1) ~ strftime_now('%d %b %Y') }}{% set a = namespace(b=1) %}{{ lipsum() }}",
    "{{ '%s'|format(1)|center(9)|wordwrap|urlize|title|escape|indent }}{{ x|groupby('a')|list }}{{ x|pprint }}",
    "{{ '<b>'|striptags }}{{ '\\N{BULLET}' }}{{ 'x'.encode('idna') }}{% set é = 1 %}",
    "{{ raise_exception('x') }}",
    "{% if",
)


class TooLongError(Exception):
    """More was written than a chat may have."""


def main() -> None:
    order = json.load(sys.stdin)
    sys.path.append(order["path"])
    resource.setrlimit(resource.RLIMIT_CPU, (order["seconds"], order["seconds"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))  # no process beside it, unless it is the administrator's
    make = _maker()
    for common in COMMON:
        with_error(make, common, {"x": []})
    resource.setrlimit(resource.RLIMIT_AS, (order["memory"], order["memory"]))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))  # no file and no connection can be opened from here on
    answer = with_error(make, order["template"], order["values"])
    json.dump(answer, sys.stdout)


def with_error(make: Any, template: str, values: dict[str, Any]) -> dict[str, str]:
    """The text, or what went wrong in a few words."""
    try:
        return {"text": _rendered(make(template), values)}
    except TooLongError:
        return {"error": f"it writes more than {LONGEST:,} characters"}
    except MemoryError:
        return {"error": "it takes more memory than it may"}
    except RecursionError:
        return {"error": "it is nested too deep"}
    except Exception as error:  # of a template anything can come
        name = type(error).__name__
        said = " ".join(str(error).split())[:200]
        return {"error": said if name == "TemplateError" else f"{said or 'it cannot be rendered'} ({name})"}


def _rendered(template: Any, values: dict[str, Any]) -> str:
    parts, left = [], LONGEST
    for part in template.generate(**values):
        left -= len(part)
        if left < 0:
            raise TooLongError
        parts.append(part)
    return "".join(parts)


def _maker() -> Any:
    """How Hugging Face makes templates: the same names, the same treatment of line ends."""
    from jinja2.exceptions import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def raise_exception(said: object) -> None:
        raise TemplateError(str(said))

    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_generation(), "jinja2.ext.loopcontrols"]
    )
    made.filters["tojson"] = _tojson
    made.globals |= {"raise_exception": raise_exception, "namespace": _namespace()}
    made.globals["strftime_now"] = lambda form: datetime.now().strftime(str(form)[:100])
    return made.from_string


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _generation() -> Any:
    """`{% generation %}` marks what a model wrote itself, for training; the text is the same."""
    from jinja2 import ext, nodes

    class Generation(ext.Extension):
        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            return nodes.Scope(parser.parse_statements(("name:endgeneration",), True), lineno=line)

    return Generation


def _namespace() -> Any:
    """What templates keep values in, without names that mean something to Python."""
    from jinja2.exceptions import SecurityError
    from jinja2.utils import Namespace

    def check(name: object) -> None:
        if not isinstance(name, str) or name.startswith("_"):
            raise SecurityError(f"{str(name)[:40]!r} is no name for a template")

    class Plain(Namespace):
        def __init__(self, *given: Any, **named: Any) -> None:
            for name in dict(*given, **named):
                check(name)
            super().__init__(*given, **named)

        def __setitem__(self, name: str, value: Any) -> None:
            check(name)
            super().__setitem__(name, value)

    return Plain


if __name__ == "__main__":
    main()

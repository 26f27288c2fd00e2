"""One choice of a menu, with the options that its constructor takes.

A constructor's positional parameters are wiring from its parent; its keyword-only parameters
are what a recipe may say. A pydantic model made from that signature checks what it does say. Each has a
sentence for its reader: `layers: Annotated[Count, Doc("Number of layers.")] = 4`.
"""

import inspect
from dis import opmap
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from annotated_doc import Doc
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, create_model

from regard.errors import InputError, RecipeError

T = TypeVar("T")
RAISE = opmap["RAISE_VARARGS"]

Count = Annotated[int, Field(ge=1)]
Number = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]


def _absolute(name: str) -> str:
    try:
        return name and str(Path(name).expanduser().absolute())
    except RuntimeError as error:  # ~ of somebody who is not here
        raise ValueError(f"a file ({error})") from error


FILE = AfterValidator(_absolute)
File = Annotated[str, FILE]
"""The name of a file or of several: made absolute where it is read, so that a recipe means the same anywhere."""


class Part(BaseModel, Generic[T]):
    """One choice from a menu with all its options, ready to be built as often as needed."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, arbitrary_types_allowed=True
    )
    entry: ClassVar[type]
    slots: ClassVar[dict[str, type]]
    kind: str
    _place: str = PrivateAttr("")

    def __class_getitem__(cls, typevar_values: Any) -> Any:
        """A part of anything is any part: pydantic would make `Part[Any]` one more class of its own."""
        return cls if typevar_values is Any else super().__class_getitem__(typevar_values)

    def build(self, *wiring: Any) -> T:
        """Call the constructor: wiring from the parent, options from the recipe."""
        options = {name: getattr(self, name) for name in type(self).model_fields if name != "kind"}
        try:
            built = self.entry(*wiring, **options)
        except (RecipeError, InputError):
            raise
        except ValueError as error:
            if not _refused(error, self.entry):  # a fault of the code, not of the recipe
                raise
            raise RecipeError(f"{self._place}: {error}") from error
        if hasattr(built, "place"):  # it names its own keys
            built.place = self._place
        return cast(T, built)

    def table(self) -> dict[str, Any]:
        """Plain nested tables, every default written out."""
        pairs = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: value.table() if isinstance(value, Part) else value for name, value in pairs}


def _refused(error: ValueError, entry: type) -> bool:
    """Whether a part itself says that it cannot be: by `raise ValueError(…)`, in Regard or where the part is written.

    What comes out of a library, or of `int("x")`, is a fault of the code.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    module = str(trace.tb_frame.f_globals.get("__name__", ""))
    raised = trace.tb_frame.f_code.co_code[trace.tb_lasti] == RAISE
    return raised and (module.partition(".")[0] == "regard" or module == entry.__module__)


def choose(kind: str, **options: Any) -> Any:
    """The default of a slot in a constructor's signature."""
    return {"kind": kind, **options}


def part_of(abstract: type, kind: str, entry: type) -> type[Part[Any]]:
    """A pydantic model from a constructor's keyword-only parameters."""
    signature = inspect.signature(entry)
    hints = get_type_hints(inspect.unwrap(vars(_maker(entry))["__init__"]), include_extras=True)
    fields: dict[str, Any] = {"kind": (Literal[kind], kind)}
    slots: dict[str, type] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        hint, said = _told(hints[name])
        if isinstance(hint, type) and issubclass(hint, Part):
            slots[name] = hint.__pydantic_generic_metadata__["args"][0]
        fields[name] = (hint, Field(default, description=said))
    base: type[Part[Any]] = Part[abstract]  # type: ignore[valid-type]
    made: type[Part[Any]] = create_model(f"{abstract.__name__}_{kind}", __base__=base, **fields)
    made.entry, made.slots = entry, slots
    return made


def _told(hint: Any) -> tuple[Any, str | None]:
    """A type without its sentence, and the sentence; of several the outermost, which knows most of the place."""
    if get_origin(hint) is not Annotated:
        return hint, None
    plain, *said = get_args(hint)
    sentences = [each.documentation for each in said if isinstance(each, Doc)]
    for more in (each for each in said if not isinstance(each, Doc)):
        plain = Annotated[plain, more]
    return plain, sentences[-1] if sentences else None


def _maker(entry: type) -> type:
    """The class whose constructor an entry has: its own, or the one above."""
    return next(kind for kind in entry.__mro__ if "__init__" in vars(kind))

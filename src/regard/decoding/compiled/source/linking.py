"""All functions in one module, optimised once.

numba would optimise every function again in each that calls it, and make each of them executable, though nobody calls
any but the last. So none is finished here until all are there.
"""

import gc
from collections.abc import Callable, Iterator
from typing import Any

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen

NO_ADDRESS = 0


class Unfinished(JITCodeLibrary):
    """A function as it was written, to be linked with those it calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        pass

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return NO_ADDRESS


def reached(library: Any, seen: set[Any]) -> Iterator[Any]:
    """A library and all whose functions it calls, each once."""
    if library not in seen:
        seen.add(library)
        yield library
        for called in library._linking_libraries:
            yield from reached(called, seen)


def linked(compiled: Callable[[], Any]) -> tuple[str, bytes]:
    """The name of a function that is compiled when asked for, and an object file of it and all that it calls.

    For a process of its own: nothing that numba compiles in it can be called.
    """
    gc.disable()  # nothing of what is made here can go before the end
    JITCPUCodegen._library_class = Unfinished
    JITCPUCodegen.set_env = lambda *_: None
    (made,) = compiled().overloads.values()
    name, first = made.fndesc.llvm_func_name, made.library
    module = first._final_module
    for library in reached(first, set()):
        if library is not first:
            module.link_in(library._final_module)
    for function in module.functions:
        if not function.is_declaration and function.name != name:
            function.linkage = "linkonce_odr"  # it may be left out where it has gone into those that call it
    JITCodeLibrary._optimize_functions(first, module)
    JITCodeLibrary._optimize_final_module(first)
    return name, first._codegen._tm.emit_object(module)

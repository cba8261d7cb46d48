"""Compilation of kernels: machine code for each kernel, including all functions that it calls.

Numba optimises and compiles every function, and again inside each of its callers. Here a `subroutine`, which kernels
call, is only typed and written as LLVM code. The `kernel` links its subroutines, everything is optimised once, and the
result is cached on disk; see `compiled.cache`.

- A kernel has a single signature, given by its annotations, and rejects other arguments.
- Kernels and subroutines neither allocate nor count references (``_nrt=False``), which halves the LLVM code. The
  caller's arrays stay alive during the call.
- A division by zero gives infinity or nan, as in NumPy, so that loops need no branch for an exception.
- Threads may run kernels at the same time (``nogil``).

Numba is extended by its own interfaces: ``pipeline_class`` and subclasses of its dispatcher and code library.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numba
import numba.core.codegen
import numba.core.compiler
import numba.core.registry
import numba.core.runtime
import numba.core.serialize
import numba.core.typeconv
import numpy as np
from numba.np.numpy_support import from_dtype

from pppca_bench.compiled import cache

_core: Any = numba.core
_types: Any = numba.types
_config: Any = numba.config
_OPTIONS: Any = {
    "nopython": True,
    "nogil": True,
    "no_cfunc_wrapper": True,
    "error_model": "numpy",
    "_nrt": False,
}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, on the first call, and cache its machine code."""
    return function if _config.DISABLE_JIT else _Kernel(function)


def subroutine(
    function: Callable[..., Any] | None = None, *, fastmath: set[str] | None = None
) -> Any:
    """Compile a function inside the kernels that call it; if Python calls it, as in tests, compile it as a kernel.

    ``fastmath`` are LLVM's fast-math flags for its floating-point operations, such as {"contract"}.
    """
    if function is None:
        return lambda decorated: subroutine(decorated, fastmath=fastmath)
    return (
        function
        if _config.DISABLE_JIT
        else _Subroutine(function, {"fastmath": fastmath} if fastmath else {})
    )


def shared(function: Callable[..., Any]) -> Any:
    """Compile a function inside kernels, as `subroutine` does, but run it as plain Python if Python calls it."""
    return function if _config.DISABLE_JIT else _Shared(function, {})


def signature_of(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the Numba types of a function's arguments, from its annotations."""
    hints = get_type_hints(function, include_extras=True)
    return tuple(_type_of(hint) for name, hint in hints.items() if name != "return")


def _type_of(hint: Any) -> Any:
    """Return the Numba type of an annotation: a number, an array of `compiled.arrays`, or a NamedTuple of these."""
    if get_origin(hint) is Annotated:
        array, n_dimensions, *flags = get_args(hint)
        dtype = get_args(get_args(array)[1])[0]
        return _types.Array(
            from_dtype(np.dtype(dtype)), n_dimensions, "C", readonly="readonly" in flags
        )
    if isinstance(hint, type) and issubclass(hint, tuple):
        fields = get_type_hints(hint, include_extras=True).values()
        return _types.BaseTuple.from_types([_type_of(field) for field in fields], hint)
    return {
        bool: _types.boolean,
        int: _types.int64,
        float: _types.float64,
        np.uint64: _types.uint64,
    }[hint]


class _SubroutineLibrary(_core.codegen.JITCodeLibrary):
    """LLVM code of a subroutine, not optimised, without the functions that it calls."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """Add the function without Numba's optimisation of single functions."""
        ll_module.data_layout = self._codegen._data_layout
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        """Skip optimisation and machine code."""
        self._finalized = True


class _KernelLibrary(_core.codegen.JITCodeLibrary):
    """LLVM code of a kernel and its subroutines, optimised once, as a whole."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._kernel_names: set[str] = set()

    def add_linking_library(self, library: Any) -> None:
        """Link a subroutine and its own subroutines, but not Numba's reference counting, which no kernel uses."""
        if library is _core.runtime.rtsys.library or library in self._linking_libraries:
            return
        super().add_linking_library(library)
        if isinstance(library, _SubroutineLibrary):
            for called in library._linking_libraries:
                self.add_linking_library(called)

    def add_llvm_module(self, ll_module: Any) -> None:
        """Add the kernel's own function or its entry point for Python."""
        # Optimisation may change how a subroutine is called. Several kernels contain it under the same name; if it were
        # visible, all kernels would call the version in the kernel that was loaded first.
        defined = (function for function in ll_module.functions if not function.is_declaration)
        self._kernel_names |= {
            function.name for function in defined if function.linkage.name == "external"
        }
        ll_module.data_layout = self._codegen._data_layout
        self._final_module.link_in(ll_module)

    def _optimize_final_module(self) -> None:
        # Python calls only the kernel itself. LLVM may inline and remove internal functions.
        for function in self._final_module.functions:
            if not function.is_declaration and function.name not in self._kernel_names:
                function.linkage = "internal"
        # A single pass at level 2. Numba's two passes, for reference counts and at level 3, take 1.5 times as long, and
        # the code is not faster.
        manager, builder = self._codegen._module_pass_manager(opt=2)
        manager.run(self._final_module, builder)


class _SubroutineCompiler(_core.compiler.Compiler):
    def __init__(
        self,
        typing: Any,
        target: Any,
        _library: Any,
        args: Any,
        result: Any,
        flags: Any,
        *rest: Any,
    ) -> None:
        flags.no_compile = True
        super().__init__(
            typing,
            target,
            _SubroutineLibrary(target.codegen(), "subroutine"),
            args,
            result,
            flags,
            *rest,
        )


class _KernelCompiler(_core.compiler.Compiler):
    def __init__(self, typing: Any, target: Any, _library: Any, *rest: Any) -> None:
        library = _KernelLibrary(target.codegen(), "kernel")
        library.enable_object_caching()
        super().__init__(typing, target, library, *rest)


class _Subroutine(_core.registry.CPUDispatcher):
    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self._own_options = options
        targetoptions = _OPTIONS | {"no_cpython_wrapper": True} | options
        super().__init__(function, targetoptions=targetoptions, pipeline_class=_SubroutineCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile a single version for constants (Numba's literal types) and variables of the same type."""
        return super().get_call_template([_types.unliteral(argument) for argument in args], kws)

    def add_overload(self, cres: Any) -> None:
        """Register the compiled subroutine, which has no machine code for Python to call."""
        # A subroutine has no entry point, but Numba needs a dictionary key.
        cres = cres._replace(entry_point=cres.fndesc)
        self.targetctx.insert_user_function(cres.entry_point, cres.fndesc, [cres.library])
        self.overloads[tuple(cres.signature.args)] = cres

    @cached_property
    def _kernel(self) -> "_Kernel":
        return _Kernel(self.py_func, self._own_options)

    def __call__(self, *args: Any) -> Any:
        return self._kernel(*args)


class _Shared(_Subroutine):
    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


class _Kernel(_core.registry.CPUDispatcher):
    def __init__(self, function: Any, options: dict[str, Any] | None = None) -> None:
        super().__init__(
            function, targetoptions=_OPTIONS | (options or {}), pipeline_class=_KernelCompiler
        )
        # Kernels of other packages or inside functions are not cached: their names and sources may be ambiguous.
        if (
            function.__module__.startswith(f"{cache.PACKAGE.name}.")
            and function.__name__ == function.__qualname__
        ):
            self._cache = _KernelCache(function.__module__, function.__name__)

    def ensure_compiled(self) -> None:
        """Compile the kernel for its signature, or load it from the cache."""
        if not self.overloads:
            self._compilation_chain_init_hook()
            self.compile(signature_of(self.py_func))

    def add_overload(self, cres: Any) -> None:
        """Register the compiled kernel, and connect its subroutines with the globals of their modules."""
        for env in cres._find_referenced_environments():
            cres.library.codegen.set_env(env.env_name, env)
        super().add_overload(cres)

    def _compile_for_args(self, *args: Any, **_kws: Any) -> Any:
        # Numba calls this method on the first call, and if arguments need conversion: writable arrays to read-only
        # arrays, and named tuples of other classes with equal fields, which Numba cannot always distinguish.
        self.ensure_compiled()
        declared, compiled = next(iter(self.overloads.items()))
        for name, expected, value in zip(
            self._compiler.pysig.parameters, declared, args, strict=True
        ):
            given = self.typeof_pyval(value)
            conversion = self.typingctx.can_convert(given, expected)
            if conversion is None or conversion > _core.typeconv.Conversion.safe:
                kind = "a C-contiguous " if isinstance(expected, _types.Array) else ""
                raise TypeError(
                    f"{name} in {self.__name__}: expected {kind}{expected}, got {given}. Convert it."
                )
        return compiled.entry_point


class _KernelCache:
    """Cache of a kernel on disk, with the methods that Numba's dispatchers call."""

    def __init__(self, module: str, function: str) -> None:
        # Digest of the sources when the kernel is defined: later edits do not change the code that Python loaded.
        self._name = cache.file_name(module, function)

    def load_overload(self, _signature: Any, target_context: Any) -> Any:
        """Return the compiled kernel, or None if it is not cached for this processor."""
        target_context.refresh()
        content = cache.load(self._name)
        if content is None:
            return None
        processor, data = _core.serialize.loads(content)
        if processor != target_context.codegen().magic_tuple():
            return None
        return _core.compiler.CompileResult._rebuild(target_context, *data)

    def save_overload(self, _signature: Any, cres: Any) -> None:
        """Save a compiled kernel."""
        cache.save(self._name, _core.serialize.dumps((cres.codegen.magic_tuple(), cres._reduce())))

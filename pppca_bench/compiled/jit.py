"""Compile kernels: one piece of machine code for each, which the functions that it calls are part of.

Left to itself Numba optimises every function and emits machine code for it, and does both once more inside each of its
callers, and theirs. Here a function that kernels call, a `part`, is typed and written in LLVM's language, no more. The
`kernel` takes in its parts as they are, all is optimised once, and the result is kept on disk: see `compiled.cache`.

- A kernel is compiled for one signature, which its annotations state; other arguments are refused.
- Kernels and parts neither allocate nor count references (``_nrt=False``): callers hand them arrays, which stay alive
  during the call. That halves what LLVM has to read.
- A division by zero gives infinity or nan, as in NumPy, so that loops need not leave for an exception.
- Threads may run kernels side by side (``nogil``).

Numba's classes are extended where it lets libraries extend it, by ``pipeline_class`` and subclasses of its dispatcher
and code library; none of its own objects is changed.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numba
import numba.core.caching
import numba.core.codegen
import numba.core.compiler
import numba.core.registry
import numba.core.runtime
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
    """Compile a function that Python calls, at its first call, and keep its machine code."""
    return function if _config.DISABLE_JIT else _Kernel(function)


def part(function: Callable[..., Any] | None = None, *, fastmath: set[str] | None = None) -> Any:
    """Compile a function inside the kernels that call it.

    Python may call it too, as tests do: then it is compiled by itself, by its annotations, as a kernel would be.

    Parameters
    ----------
    fastmath : set of str, optional
        What LLVM may assume of its floating-point operations, such as {"contract"}; nothing by default.
    """
    if function is None:
        return lambda decorated: part(decorated, fastmath=fastmath)
    return function if _config.DISABLE_JIT else _Part(function, {"fastmath": fastmath} if fastmath else {})


def shared(function: Callable[..., Any]) -> Any:
    """Compile a function inside kernels, as `part` does, while Python calls it as plain Python: for small sums."""
    return function if _config.DISABLE_JIT else _Shared(function, {})


def signature_of(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the Numba types of the arguments that a function's annotations state."""
    hints = get_type_hints(function, include_extras=True)
    return tuple(_type_of(hint) for name, hint in hints.items() if name != "return")


def _type_of(hint: Any) -> Any:
    """Return the Numba type of an annotation: a number, an array of `compiled.arrays`, a NamedTuple of these."""
    if get_origin(hint) is Annotated:
        array, n_dimensions, *flags = get_args(hint)
        dtype = get_args(get_args(array)[1])[0]
        return _types.Array(from_dtype(np.dtype(dtype)), n_dimensions, "C", readonly="readonly" in flags)
    if isinstance(hint, type) and issubclass(hint, tuple):
        fields = get_type_hints(hint, include_extras=True).values()
        return _types.BaseTuple.from_types([_type_of(one) for one in fields], hint)
    return {bool: _types.boolean, int: _types.int64, float: _types.float64, np.uint64: _types.uint64}[hint]


class _PartLibrary(_core.codegen.JITCodeLibrary):
    """The code of a part, as it was written, with all that it calls still outside."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """Take the function in without the passes over single functions that Numba makes first."""
        ll_module.data_layout = self._codegen._data_layout
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        """Do nothing: no optimisation, no machine code."""
        self._finalized = True


class _KernelLibrary(_core.codegen.JITCodeLibrary):
    """The code of a kernel and of all parts below it, which is optimised once, as a whole."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._own: set[str] = set()

    def add_linking_library(self, library: Any) -> None:
        """Link a part and what it calls in turn; Numba's reference counting is left out, as nothing here calls it."""
        if library is _core.runtime.rtsys.library or library in self._linking_libraries:
            return
        super().add_linking_library(library)
        if isinstance(library, _PartLibrary):
            for called in library._linking_libraries:
                self.add_linking_library(called)

    def add_llvm_module(self, ll_module: Any) -> None:
        """Take in the kernel's own function or its entry from Python."""
        # A helper that several kernels may hold, each with its own way to be called after optimisation, is not the
        # kernel's own: left visible, all would run the one that was loaded first.
        defined = (function for function in ll_module.functions if not function.is_declaration)
        self._own |= {function.name for function in defined if function.linkage.name == "external"}
        ll_module.data_layout = self._codegen._data_layout
        self._final_module.link_in(ll_module)

    def _optimize_final_module(self) -> None:
        # Only the kernel itself is called from outside: what is called once may move into its caller and disappear.
        for function in self._final_module.functions:
            if not function.is_declaration and function.name not in self._own:
                function.linkage = "internal"
        # One run at LLVM's second level. Numba's two, a cheap one for the sake of reference counts and one at the third
        # level, take half as long again, and their code is no faster.
        manager, builder = self._codegen._module_pass_manager(opt=2)
        manager.run(self._final_module, builder)


class _PartCompiler(_core.compiler.Compiler):
    def __init__(self, typing: Any, target: Any, _library: Any, args: Any, result: Any, flags: Any, names: Any) -> None:
        flags.no_compile = True
        super().__init__(typing, target, _PartLibrary(target.codegen(), "part"), args, result, flags, names)


class _KernelCompiler(_core.compiler.Compiler):
    def __init__(self, typing: Any, target: Any, _library: Any, args: Any, result: Any, flags: Any, names: Any) -> None:
        library = _KernelLibrary(target.codegen(), "kernel")
        library.enable_object_caching()
        super().__init__(typing, target, library, args, result, flags, names)


class _Part(_core.registry.CPUDispatcher):
    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self._own_options = options
        self._kernel: _Kernel | None = None
        targetoptions = _OPTIONS | {"no_cpython_wrapper": True} | options
        super().__init__(function, targetoptions=targetoptions, pipeline_class=_PartCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile one version for numbers, whether they stand in the source as literals or not."""
        return super().get_call_template([_types.unliteral(one) for one in args], kws)

    def add_overload(self, cres: Any) -> None:
        """Enter what was compiled; there is no machine code that Python could call."""
        # Whatever can be a key may stand for the entry point that a part lacks.
        cres = cres._replace(entry_point=cres.fndesc)
        self.targetctx.insert_user_function(cres.entry_point, cres.fndesc, [cres.library])
        self.overloads[tuple(cres.signature.args)] = cres

    def ensure_compiled(self) -> None:
        """Compile the part by itself, as a kernel, or load it where it is kept."""
        self._alone.ensure_compiled()

    def __call__(self, *args: Any) -> Any:
        return self._alone(*args)

    @property
    def _alone(self) -> "_Kernel":
        if self._kernel is None:
            self._kernel = _Kernel(self.py_func, self._own_options)
        return self._kernel


class _Shared(_Part):
    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


class _Kernel(_core.registry.CPUDispatcher):
    def __init__(self, function: Any, options: dict[str, Any] | None = None) -> None:
        super().__init__(function, targetoptions=_OPTIONS | (options or {}), pipeline_class=_KernelCompiler)
        # Others' kernels and those inside functions are not kept: their names and sources do not tell them apart.
        if function.__module__.startswith(f"{cache.PACKAGE.name}.") and function.__name__ == function.__qualname__:
            self._cache = _KernelCache(function.__module__, function.__name__)

    def ensure_compiled(self) -> None:
        """Compile the kernel for its one signature, or load it where it is kept."""
        if not self.overloads:
            self._compilation_chain_init_hook()
            self.compile(signature_of(self.py_func))

    def add_overload(self, cres: Any) -> None:
        """Enter what was compiled, and tell the parts inside where their module's globals are."""
        for env in cres._find_referenced_environments():
            cres.library.codegen.set_env(env.env_name, env)
        super().add_overload(cres)

    def _compile_for_args(self, *args: Any, **_kws: Any) -> Any:
        """Return the machine code for arguments that Numba finds no version for, which the first call's are.

        So are those that need a conversion, such as arrays that may be written where read-only ones are declared, and
        named tuples of different classes but equal fields, which Numba cannot always tell apart.
        """
        self.ensure_compiled()
        declared = dict(zip(self._compiler.pysig.parameters, next(iter(self.overloads)), strict=True))
        for (name, expected), value in zip(declared.items(), args, strict=True):
            given = self.typeof_pyval(value)
            if (
                conversion := self.typingctx.can_convert(given, expected)
            ) is None or conversion > _core.typeconv.Conversion.safe:
                kind = "a C-contiguous " if isinstance(expected, _types.Array) else ""
                raise TypeError(f"{name} in {self.__name__}: expected {kind}{expected}, got {given}. Convert it.")
        return next(iter(self.overloads.values())).entry_point


class _KernelCache(_core.caching._Cache):
    """Load a kernel from the first folder that has it; save it into the first that can be written, if any."""

    def __init__(self, module: str, function: str) -> None:
        # Named here, when the kernel is defined: an edit between now and its compilation makes no code of two versions.
        self._name = cache.file_name(module, function)

    @property
    def cache_path(self) -> str:
        """The folder of first choice."""
        return str(cache.folders()[0])

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel, or None where it is not kept."""
        target_context.refresh()
        for folder in cache.folders():
            data = _file(folder, self._name).load((sig, target_context.codegen().magic_tuple()))
            if data is not None:
                return _core.compiler.CompileResult._rebuild(target_context, *data)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, and remove what was compiled of its earlier sources."""
        key, content = (sig, data.codegen.magic_tuple()), data._reduce()
        for folder in cache.folders():
            try:
                folder.mkdir(parents=True, exist_ok=True)
                _file(folder, self._name).save(key, content)
                cache.remove_old(folder, self._name)
            except OSError:
                continue
            return

    def enable(self) -> None:
        """Do nothing: it always is."""

    def disable(self) -> None:
        """Do nothing: it never is."""

    def flush(self) -> None:
        """Do nothing: files go by their names."""


class _KernelFile(_core.caching.IndexDataCacheFile):
    """Numba's pair of files, an index and the machine code; either counts as missing unless its digest is right."""

    def _load_index(self) -> Any:
        return super()._load_index() if cache.is_intact(Path(self._index_path)) else {}

    def _load_data(self, name: str) -> Any:
        if not cache.is_intact(Path(self._data_path(name))):
            raise FileNotFoundError(name)
        return super()._load_data(name)

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        with super()._open_for_write(filepath) as file, io.BytesIO() as buffer:
            yield buffer
            file.write(cache.sealed(buffer.getvalue()))


def _file(folder: Any, name: str) -> _KernelFile:
    return _KernelFile(str(folder), name, source_stamp=name)

"""Building blocks of vector operations: vector type, operations from LLVM instructions, processor registers.

`operation` pairs LLVM instructions with an equivalent NumPy function, the twin. With NUMBA_DISABLE_JIT=1 the twin runs
in their place; a vector is then an array of shape (8,), or a number if all eight numbers are equal.
"""

import inspect
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
import numba.core.cgutils
import numba.core.codegen
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

cgutils: Any = numba.core.cgutils
_codegen: Any = numba.core.codegen
_config: Any = numba.config

WIDTH: Final = 8
"""Numbers in a vector, which fill an AVX-512 register; for other processors LLVM splits the vector."""

INTERPRETED: Final = bool(_config.DISABLE_JIT)
"""Whether kernels run as plain Python."""

INT: Final = ir.IntType(64)
VECTOR: Final = ir.VectorType(ir.DoubleType(), WIDTH)
INTS: Final = ir.VectorType(INT, WIDTH)
LANE_INDEX: Final = ir.IntType(32)


class VectorType(types.Type):
    """Numba's type of a vector."""


vector: Any = VectorType("Vector")
tile: Any = types.UniTuple(vector, WIDTH)  # type: ignore[no-untyped-call]


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector_type: Any) -> None:
        super().__init__(manager, vector_type, VECTOR)  # type: ignore[no-untyped-call]


def constant(number: float, vector_type: Any = VECTOR) -> Any:
    """Return a constant vector of equal numbers; the type `INTS` is a vector of 64-bit integers."""
    return ir.Constant(vector_type, [number] * vector_type.count)


def shuffle(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    """Write the vector of the numbers in the given lanes: 0 to 7 are the lanes of a, 8 to 15 the lanes of b."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(LANE_INDEX, WIDTH), lanes))


def splatted(builder: Any, number: Any) -> Any:
    """Write the vector with ``number`` in all lanes."""
    # Insert the number in lane 0 and copy that lane to all lanes: LLVM emits a single instruction for both.
    undefined = ir.Constant(ir.VectorType(number.type, WIDTH), ir.Undefined)
    return shuffle(
        builder, builder.insert_element(undefined, number, LANE_INDEX(0)), undefined, [0] * WIDTH
    )


def llvm_call(builder: Any, name: str, *args: Any) -> Any:
    """Write a call of an LLVM intrinsic, such as llvm.sqrt, whose arguments and result are vectors of equal size."""
    vector_type = args[0].type
    function_type = ir.FunctionType(vector_type, [vector_type] * len(args))
    name = f"{name}.v{vector_type.count}f64"
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), args)


def llvm_fma(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Write a b + c, rounded once; processors without a fused multiply-add call a function."""
    return llvm_call(builder, "llvm.fma", a, b, c)


class Call(NamedTuple):
    """Call of an operation during compilation: Numba types and LLVM values of its arguments."""

    context: Any
    builder: Any
    types: Any
    args: Any

    def integer(self, position: int) -> Any:
        """Return an integer argument of any type as a 64-bit integer."""
        return self.context.cast(
            self.builder, self.args[position], self.types[position], types.intp
        )

    def data(self, position: int) -> Any:
        """Return the address of an array's first number."""
        if self.types[position].layout != "C":
            raise TypeError(
                f"array of a vector: expected C-contiguous, got {self.types[position]}. Copy it."
            )
        return self.context.make_array(self.types[position])(
            self.context, self.builder, self.args[position]
        ).data

    def addresses(self, first: int, n_rows: int = 1) -> list[Any]:
        """Return the addresses of vectors in n_rows successive rows of the matrix that is argument ``first``.

        The two arguments after the matrix are the row and column of the first vector.
        """
        data, b = self.data(first), self.builder
        matrix = self.context.make_array(self.types[first])(self.context, b, self.args[first])
        row, column = self.integer(first + 1), self.integer(first + 2)
        n_columns = b.extract_value(matrix.shape, 1)
        # Row-major: (row + k) · n_columns + column numbers after the first.
        rows = [b.add(b.mul(b.add(row, INT(k)), n_columns), column) for k in range(n_rows)]
        return [b.bitcast(b.gep(data, [start]), VECTOR.as_pointer()) for start in rows]


def operation(
    emit: Callable[[Call], Any], result: Any = vector, *, literal: bool = False
) -> Callable[[Any], Any]:
    """Create an operation from ``emit``, which writes the LLVM instructions of a call, and from the decorated twin.

    ``result`` is the Numba type of the result; with ``literal``, integer literals keep their values at compile time.
    """

    def decorate(twin: Any) -> Any:
        def define(_typing: Any, *argument_types: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                value = emit(Call(context, builder, signature.args, args))
                return context.get_dummy_value() if result == types.void else value

            return result(*argument_types), generate

        # Numba binds arguments by the signature: the typing context, then the twin's parameters.
        parameters = inspect.signature(twin).parameters.values()
        context = inspect.Parameter("_typing", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        define.__name__, define.__doc__ = twin.__name__, twin.__doc__
        define.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
        callable_in_kernels: Any = (
            twin if INTERPRETED else intrinsic(prefer_literal=literal)(define)
        )
        callable_in_kernels.twin = twin
        return callable_in_kernels

    return decorate


def elementwise(name: str, write: Callable[..., Any], twin: Callable[..., Any]) -> Any:
    """Create a lane-by-lane operation from its LLVM instruction."""
    twin.__name__ = name
    return operation(lambda call: write(call.builder, *call.args))(twin)


# ---- Registers of the target processor, which determine the tiles of kernels.

_PROBE: Final = """
define <8 x double> @sum(<8 x double> %x) {
  %y = fadd <8 x double> %x, %x
  ret <8 x double> %y
}
"""


class Registers(NamedTuple):
    """Vector registers of a processor: float64 numbers per register, and number of registers."""

    n_numbers: int
    n_registers: int


def _registers() -> Registers:
    """Return the registers in which LLVM adds eight numbers for the processor and features that Numba compiles for.

    The feature names do not suffice, since LLVM avoids the widest registers on some processors.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    given = _config.CPU_FEATURES
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=_config.CPU_NAME or llvm.get_host_cpu_name(),
        features=_codegen.get_host_cpu_features() if given is None else given,
    )
    assembly = machine.emit_assembly(llvm.parse_assembly(_PROBE))
    if "zmm" in assembly:
        return Registers(8, 32)
    if "ymm" in assembly:
        return Registers(4, 16)
    return Registers(2, 16 if "xmm" in assembly else 32)


REGISTERS: Final = _registers()
"""AVX-512 has 32 registers of eight numbers, AVX2 16 of four, SSE2 16 of two, aarch64 32 of two."""

FITS_32_VECTORS: Final = REGISTERS.n_registers * REGISTERS.n_numbers >= 32 * 8
"""Whether 32 vectors of eight numbers fit into the registers; otherwise kernels use smaller tiles."""

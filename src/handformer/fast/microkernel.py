"""The innermost loop of a matrix product, written as vector instructions.

Numba's loops can't say "keep these twelve vectors in registers"; LLVM's instructions can. All of
this works on addresses and on steps in bytes, so any layout will do.

tile        a block of the product stays in registers while k runs. For each k, a row of b's panel
            is loaded as vectors; each number in a's column is spread over a vector, multiplied
            with them and added (in one rounding, where the CPU can). A block of R x V vectors does
            R V products for R + V loads, so it is as large as the registers allow, factors
            included: 6 x 2 of 16 registers, 14 x 2 of 32 with AVX-512.
Delicate    each entry is summed over k = 0, 1, 2, ... in this order, then added to the start: its
            bits depend on its row of a and its column of b, and on nothing else.
Source      Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication",
            section 6; Van Zee and van de Geijn 2015, "BLIS", section 4.
"""

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_FEATURES = llvm.get_host_cpu_features()
SUITED = bool(_FEATURES.get("avx2") and _FEATURES.get("fma"))  # whether the CPU is one of these
_VECTOR, ROWS = (64, 14) if _FEATURES.get("avx512f") else (32, 6)  # bytes of a vector; rows
WIDTH = 2 * _VECTOR  # of a block's row, in bytes

_BYTE, _WORD, _LANE = ir.IntType(8), ir.IntType(64), ir.IntType(32)
_instruction: Callable[[Callable[..., Any]], Any] = intrinsic


def tile_of(rows: int, width: int, vector_bytes: int) -> Any:
    """The instruction for blocks of so many rows, `width` bytes each."""

    @_instruction
    def tile(
        typingctx: Any, like: Any, k: Any, a: Any, a_row: Any, a_column: Any, last: Any, b: Any,
        start: Any, start_row: Any, out: Any, out_row: Any,
    ) -> Any:  # fmt: skip
        """out = start + a @ b for one block. `like` is any array of the numbers' dtype.

        b is a panel: k rows of `width` bytes, one behind the other. The rows of a end with number
        `last`; the rest of the block repeats it.
        """

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _, k, a, a_row, a_column, last, b, start, start_row, out, out_row = arguments
            number, size = _number(context, signature)
            vector = ir.VectorType(number, vector_bytes // size)
            places = range(0, width, vector_bytes)
            block = [(i, j) for i in range(rows) for j in places]

            def within(address: Any, step: Any, i: int, j: int) -> Any:
                row = _at(builder, address, builder.mul(step, _WORD(i)))
                return builder.gep(row, [_WORD(j)])

            lines = []
            for i in range(rows):
                exists = builder.icmp_signed("<", _WORD(i), last)
                row = builder.select(exists, _WORD(i), last)
                lines.append(_at(builder, a, builder.mul(a_row, row)))

            before = builder.block
            loop, after = (builder.append_basic_block(name) for name in ("k", "done"))
            builder.cbranch(builder.icmp_signed(">", k, _WORD(0)), loop, after)
            builder.position_at_end(loop)
            count, a_at, b_at = (builder.phi(_WORD) for _ in range(3))
            sums = [builder.phi(vector) for _ in block]
            panel = _at(builder, b, b_at)
            factors = [_load(builder, builder.gep(panel, [_WORD(j)]), vector) for j in places]
            ends: list[Any] = []
            for line in lines:  # a's numbers one after the other: no register is left for more
                entry = _load(builder, builder.gep(line, [a_at]), number)
                spread = _spread(builder, entry, vector)
                for factor in factors:
                    ends.append(_multiply_add(builder, spread, factor, sums[len(ends)]))
            steps = (_WORD(1), a_column, _WORD(width))
            moved = [builder.add(*pair) for pair in zip((count, a_at, b_at), steps, strict=True)]
            for value, end in zip((count, a_at, b_at, *sums), (*moved, *ends), strict=True):
                value.add_incoming(ir.Constant(value.type, None), before)
                value.add_incoming(end, loop)
            builder.cbranch(builder.icmp_signed("<", moved[0], k), loop, after)

            builder.position_at_end(after)
            totals = [builder.phi(vector) for _ in block]
            for total, end in zip(totals, ends, strict=True):
                total.add_incoming(ir.Constant(vector, None), before)
                total.add_incoming(end, loop)
            for total, at in zip(totals, block, strict=True):
                first = _load(builder, within(start, start_row, *at), vector)
                _store(builder, builder.fadd(first, total), within(out, out_row, *at))
            return context.get_dummy_value()

        return types.void(like, *[types.intp] * 10), code

    return tile


def _copy_of(count: Callable[[int], int]) -> Any:
    """The instruction that copies `count` numbers lying side by side, given a number's bytes."""

    @_instruction
    def copy(typingctx: Any, like: Any, source: Any, target: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number, size = _number(context, signature)
            source, target = (_at(builder, address, _WORD(0)) for address in arguments[1:])
            numbers = _load(builder, source, ir.VectorType(number, count(size)))
            _store(builder, numbers, target)
            return context.get_dummy_value()

        return types.void(like, types.intp, types.intp), code

    return copy


tile = tile_of(ROWS, WIDTH, _VECTOR)
copy_number = _copy_of(lambda size: 1)
copy_column = _copy_of(lambda size: ROWS)  # of a block of a
copy_row = _copy_of(lambda size: WIDTH // size)  # of a panel of b


@_instruction
def transpose(
    typingctx: Any, like: Any, source: Any, source_row: Any, target: Any, target_row: Any
) -> Any:
    """Write a square, 16 bytes wide, with rows and columns exchanged."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, source, source_row, target, target_row = arguments
        number, size = _number(context, signature)
        n = 16 // size
        vector = ir.VectorType(number, n)
        rows = [
            _load(builder, _at(builder, source, builder.mul(source_row, _WORD(i))), vector)
            for i in range(n)
        ]
        low, high = (
            ir.Constant(ir.VectorType(_LANE, n), [i // 2 + i % 2 * n + half for i in range(n)])
            for half in (0, n // 2)
        )
        for _ in range(n.bit_length() - 1):  # a riffle of the rows' halves, log2(n) times
            rows = [
                builder.shuffle_vector(rows[i], rows[i + n // 2], lanes)
                for i in range(n // 2)
                for lanes in (low, high)
            ]
        for i, row in enumerate(rows):
            place = _at(builder, target, builder.mul(target_row, _WORD(i)))
            _store(builder, row, place)
        return context.get_dummy_value()

    return types.void(like, *[types.intp] * 4), code


def _number(context: Any, signature: Any) -> tuple[Any, int]:
    """The type of the numbers, and the bytes that one takes."""
    number = context.get_value_type(signature.args[0].dtype)
    return number, context.get_abi_sizeof(number)


def _at(builder: Any, address: Any, offset: Any) -> Any:
    return builder.gep(builder.inttoptr(address, _BYTE.as_pointer()), [offset])


def _load(builder: Any, place: Any, kind: Any) -> Any:
    return builder.load(builder.bitcast(place, kind.as_pointer()), align=1)


def _store(builder: Any, value: Any, place: Any) -> None:
    builder.store(value, builder.bitcast(place, value.type.as_pointer()), align=1)


def _spread(builder: Any, number: Any, vector: Any) -> Any:
    nowhere = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nowhere, number, _LANE(0))
    zeros = ir.Constant(ir.VectorType(_LANE, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, nowhere, zeros)


def _multiply_add(builder: Any, x: Any, y: Any, z: Any) -> Any:
    kind = ir.FunctionType(x.type, [x.type] * 3)
    name = f"llvm.fmuladd.v{x.type.count}{x.type.element.intrinsic_name}"
    known = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(known, [x, y, z])

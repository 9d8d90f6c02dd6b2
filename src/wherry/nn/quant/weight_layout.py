"""How quantised weights lie in memory: the order that kernels of each GPU architecture read, which Paddle keeps on the CPU too.

A weight is an int8 matrix [rows, columns] of numbers of 8 or 4 bits; a layout is a permutation of them, an offset that makes them
unsigned, and for 4 bits two numbers to a byte, the first in the low half. Architecture 70 keeps rows; 75 to 90 go by columns, with
rows in the order of matrix instructions and 64 rows of neighbouring columns in turn.
Source: paddle/phi/kernels/impl/weight_quantize_kernel_impl.h.
"""

from dataclasses import dataclass

from wherry import _C_ops
from wherry.core import dtype as dt
from wherry.tensor.tensor import Tensor

_TILE = 64
_COLUMN_UNIT = 16


@dataclass(frozen=True)
class Layout:
    """Numbers of `bits` bits for a GPU architecture; plain: columns in order and nothing else (the weights of llm.int8)."""

    bits: int
    arch: int
    plain: bool = False

    @property
    def in_register(self) -> tuple[int, ...]:
        """The order of the numbers of one 32-bit register: the even ones first, which for 8 bits swaps the middle two."""
        return (0, 2, 1, 3) if self.bits == 8 else (0, 2, 4, 6, 1, 3, 5, 7)

    @property
    def by_rows(self) -> bool:
        """Whether the matrix stays in row-major order."""
        return self.arch == 70 and not self.plain

    @property
    def columns_together(self) -> int:
        """Columns whose tiles of rows lie in turn."""
        return 16 // self.bits

    def row_order(self) -> list[int]:
        """The order of rows for the matrix instruction, within the rows that one instruction reads."""
        numbers = 32 // self.bits
        return [8 * ((r % numbers) // 2) + r % 2 + 2 * (r // numbers) for r in range(8 * 16 // self.bits)]

    def check(self, rows: int, columns: int, function: str) -> None:
        """Raise ValueError for a matrix that the layout cannot hold."""
        row_unit = 1 if self.plain or self.by_rows else _TILE
        if rows % row_unit or columns % _COLUMN_UNIT:
            raise ValueError(
                f"{function}: for {self.bits} bits and arch {self.arch} expected rows divisible by {row_unit} and columns divisible by "
                f"{_COLUMN_UNIT}, received [{rows}, {columns}]"
            )


def _inverse(order: tuple[int, ...] | list[int]) -> list[int]:
    back = [0] * len(order)
    for place, source in enumerate(order):
        back[source] = place
    return back


def _permuted(x: Tensor, order: tuple[int, ...] | list[int], axis: int) -> Tensor:
    """Groups of consecutive numbers along an axis of a matrix, each in the given order."""
    shape, size = list(x.shape), len(order)
    split = [*shape[:axis], shape[axis] // size, size, *shape[axis + 1 :]]
    index = _C_ops.stack([_C_ops.full((), place, dt.int64) for place in order], 0)
    return _C_ops.reshape(_C_ops.index_select(_C_ops.reshape(x, split), index, axis + 1), shape)


def packed(x: Tensor, layout: Layout) -> Tensor:
    """An int8 matrix [rows, columns] as stored: [columns * bits / 8, rows]."""
    rows, columns = x.shape
    stored = (columns * layout.bits // 8, rows)
    if layout.plain:
        return _C_ops.transpose(x, (1, 0)) if layout.bits == 8 else _C_ops.reshape(_two_in_a_byte(x), stored)
    if not layout.by_rows:
        x = _C_ops.transpose(_permuted(x, layout.row_order(), 0), (1, 0))
        together = layout.columns_together
        tiles = _C_ops.reshape(x, (columns // together, together, rows // _TILE, _TILE))
        x = _C_ops.transpose(tiles, (0, 2, 1, 3))
    registers = _C_ops.reshape(x, (-1, len(layout.in_register)))
    ordered = _permuted(registers, layout.in_register, 1)
    if layout.bits == 8:
        # The highest bit turned is 128 added.
        return _C_ops.reshape(_C_ops.bitwise_xor(ordered, _C_ops.full_like(ordered, -128)), stored)
    return _C_ops.reshape(_two_in_a_byte(_C_ops.add(ordered, _C_ops.full_like(ordered, 8))), stored)


def unpacked(stored: Tensor, layout: Layout) -> Tensor:
    """The int8 matrix [rows, columns] that is stored."""
    rows, columns = stored.shape[1], stored.shape[0] * 8 // layout.bits
    if layout.plain:
        return (
            _C_ops.transpose(stored, (1, 0)) if layout.bits == 8 else _C_ops.reshape(_halves(stored), (rows, columns))
        )
    if layout.bits == 8:
        x = _C_ops.bitwise_xor(stored, _C_ops.full_like(stored, -128))
    else:
        x = _halves(stored)
        x = _C_ops.subtract(x, _C_ops.full_like(x, 8))
    x = _permuted(_C_ops.reshape(x, (-1, len(layout.in_register))), _inverse(layout.in_register), 1)
    if layout.by_rows:
        return _C_ops.reshape(x, (rows, columns))
    together = layout.columns_together
    tiles = _C_ops.reshape(x, (columns // together, rows // _TILE, together, _TILE))
    x = _C_ops.reshape(_C_ops.transpose(tiles, (0, 2, 1, 3)), (columns, rows))
    return _permuted(_C_ops.transpose(x, (1, 0)), _inverse(layout.row_order()), 0)


def _two_in_a_byte(x: Tensor) -> Tensor:
    """Pairs of numbers as bytes: the low four bits of the first, then those of the second."""
    pairs = _C_ops.cast(_C_ops.reshape(x, (-1, 2)), dt.uint8)
    pairs = _C_ops.bitwise_and(pairs, _C_ops.full_like(pairs, 15))
    first, second = _C_ops.unbind(pairs, 1)
    both = _C_ops.add(first, _C_ops.multiply(second, _C_ops.full_like(second, 16)))
    return _C_ops.view_dtype(both, dt.int8)


def _halves(stored: Tensor) -> Tensor:
    """The two unsigned numbers of each byte, as int8."""
    numbers = _C_ops.cast(_C_ops.view_dtype(_C_ops.reshape(stored, (-1,)), dt.uint8), dt.int16)
    low = _C_ops.bitwise_and(numbers, _C_ops.full_like(numbers, 15))
    high = _C_ops.bitwise_and(
        _C_ops.floor_divide(numbers, _C_ops.full_like(numbers, 16)), _C_ops.full_like(numbers, 15)
    )
    return _C_ops.cast(_C_ops.reshape(_C_ops.stack([low, high], 1), (-1,)), dt.int8)

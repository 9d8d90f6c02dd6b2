"""Element-wise operations against the table's references, at special values, in any shape and layout, with broadcasting."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import wherry as paddle
from tests.op_table.row import Row
from tests.properties.strategies import FLOATS, INTS, arrays, elements, examples, layouts, tensor
from tests.suites import table
from wherry._generated.op_defs import OPS

SAME_SHAPE = ("UnchangedInferMeta", "FloatInferMeta", "RealAndImagInferMeta", "SquareInferMeta", "IsfiniteInferMeta")
# Near what no float reaches, the reference's own rounding decides.
ROUGH = {"digamma": 1e-7, "lgamma": 1e-7, "erfinv": 1e-6, "tan": 1e-6}


def plain_rows(inputs: int, metas: tuple[str, ...]) -> dict[str, Row]:
    """The rows of operations of so many tensors and no attributes, by name."""
    found: dict[str, Row] = {}
    for row in table.ROWS:
        op = OPS[row.op]
        fits = len(op.inputs) == inputs and not op.attrs and len(op.outputs) == 1 and op.infer_meta in metas
        # These are of matrices, whose shape they keep.
        real = row.op not in ("cofactor", "inverse") and any(d in FLOATS + INTS for d in row.dtypes)
        if fits and real and row.reference is not None and not row.random and "special" not in row.exempt:
            found.setdefault(row.op, row)
    return found


UNARY = plain_rows(1, SAME_SHAPE)
BINARY = plain_rows(2, ("ElementwiseInferMeta", "CompareInferMeta", "LogicalInferMeta", "BitwiseInferMeta"))


def compare(row: Row, given_arrays: list[Any]) -> None:
    with np.errstate(all="ignore"):
        expected = np.asarray(row.reference(*given_arrays))  # type: ignore[misc]
    found = getattr(paddle._C_ops, row.op)(*[tensor(a) for a in given_arrays])
    assert tuple(found.shape) == expected.shape
    values = found.numpy()
    if values.dtype.kind in "fc":
        # Where the reference's formula has no value at an infinity, the operation may have the limit.
        given_nan = np.logical_or.reduce(np.broadcast_arrays(*[np.isnan(a) for a in given_arrays]))
        unsaid = np.isnan(expected) & ~given_nan
        values, expected = np.where(unsaid, 0, values), np.where(unsaid, 0, expected)
        narrow = values.dtype.itemsize // (2 if values.dtype.kind == "c" else 1) == 4
        rtol = max(ROUGH.get(row.op, 0.0), 2e-6 if narrow else 1e-13) * 8
        # At its zeros sinc is the rounding of pi; x - tanh(x) that of its terms.
        atol = 1e-7 if row.op in ("sinc", "tanh_shrink") else 1e-37 if narrow else 1e-300
        np.testing.assert_allclose(values, expected.astype(values.dtype), rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(values, expected)


def test_there_is_something_to_check() -> None:
    assert len(UNARY) > 35 and len(BINARY) > 20


@examples(300)
@given(st.data())
def test_one_operand(data: Any) -> None:
    row = UNARY[data.draw(st.sampled_from(sorted(UNARY)))]
    dtypes = tuple(d for d in row.dtypes if d in FLOATS + INTS)
    x = data.draw(arrays(dtypes, special=True))
    # The reference goes through float64, which does not hold larger integers.
    compare(row, [x % 2**50 if x.dtype == np.int64 else x])


@examples(300)
@given(st.data())
def test_two_operands(data: Any) -> None:
    row = BINARY[data.draw(st.sampled_from(sorted(BINARY)))]
    dtypes = [d for d in row.dtypes if d in FLOATS + INTS]
    dtype = data.draw(st.sampled_from(dtypes))
    pair = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_dims=4, max_side=4))
    special = np.dtype(dtype).kind == "f" and row.op not in ("elementwise_pow", "logaddexp", "kron")
    values = [
        data.draw(layouts(data.draw(hnp.arrays(dtype, shape, elements=elements(dtype, special)))))
        for shape in pair.input_shapes
    ]
    if np.dtype(dtype).kind in "iu" and row.op in ("floor_divide", "remainder", "trunc_divide", "elementwise_pow"):
        values[1] = np.abs(values[1]) % 5 + 1
    if np.dtype(dtype).kind == "f" and row.op in ("floor_divide", "remainder", "trunc_divide"):
        # Between integers the quotient is exact, or far from a step.
        values = [np.where(np.isfinite(v) & (np.abs(v) < 1e6), np.round(v), v) for v in values]
        if any((np.abs(v[np.isfinite(v)]) >= 1e6).any() for v in values):
            return
    if row.domain[0] >= 0.0:
        values = [np.abs(v) for v in values]
    if "shift" in row.op:
        values[1] = np.abs(values[1]) % 8
    compare(row, values)

"""Rows of the operations that carry gradients through in-place changes of views."""

from typing import Any

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, INTS, Case, Row
from wherry._generated.op_defs import OPS
from wherry.autograd.structures import ViewStep

# The transpose of a [2, 3, 4], then its matrices as rows: each of the two steps keeps the memory in place.
TRANSPOSED = ViewStep(OPS["transpose"], ((0, 2, 1),), 0, (2, 3, 4), (2, 4, 3))
WIDER = ViewStep(OPS["unsqueeze"], ((0,),), 0, (2, 4, 3), (1, 2, 4, 3))
# The transpose of a [3, 2] flattened: no view of NumPy's has this shape, so the second step copies.
TURNED = ViewStep(OPS["transpose"], ((1, 0),), 0, (3, 2), (2, 3))
FLAT = ViewStep(OPS["reshape"], ((6,),), 0, (2, 3), (6,))
NOTHING = ViewStep(OPS["transpose"], ((1, 0),), 0, (0, 2), (2, 0))


def walked(x: np.ndarray, chain: tuple[Any, ...]) -> np.ndarray:
    """The view, from its steps' own names."""
    for step in chain:
        if step.op.name == "transpose":
            x = x.transpose(step.attrs[0])
        elif step.op.name == "unsqueeze":
            x = np.expand_dims(x, step.attrs[0])
        else:
            x = x.reshape(step.attrs[0])
    return x


def scattered(x: np.ndarray, value: np.ndarray, chain: tuple[Any, ...]) -> np.ndarray:
    """x with the elements of the view replaced, found by number."""
    out = x.copy().reshape(-1)
    out[walked(np.arange(x.size).reshape(x.shape), chain).reshape(-1)] = value.reshape(-1)
    return out.reshape(x.shape)


ROWS = (
    Row(
        "view_replay",
        (
            Case(((2, 3, 4),), {"chain": (TRANSPOSED, WIDER)}),
            Case(((3, 2),), {"chain": (TURNED, FLAT)}),
            Case(((0, 2),), {"chain": (NOTHING,)}),
        ),
        walked,
        FLOATS + COMPLEX + INTS,
        grad_dtypes=("float64", "complex128"),
        exempt={"empty": "the chain tells sizes, which emptied inputs do not fit"},
    ),
    Row(
        "view_scatter",
        (
            Case(((2, 3, 4), (1, 2, 4, 3)), {"chain": (TRANSPOSED, WIDER)}),
            Case(((3, 2), (6,)), {"chain": (TURNED, FLAT)}),
            Case(((0, 2), (2, 0)), {"chain": (NOTHING,)}),
        ),
        scattered,
        FLOATS + COMPLEX + INTS,
        grad_dtypes=("float64", "complex128"),
        exempt={"empty": "the chain tells sizes, which emptied inputs do not fit"},
    ),
)

"""Sparse tensors: the elements that are stored, and where they are. Source: paddle's SparseCooTensor and SparseCsrTensor.

A sparse tensor holds an ordinary tensor of values, with its history, so that gradients of every order go through the values.
Positions have no gradients: their arithmetic is NumPy's.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.core.place import Place
from wherry.core.size import Size
from wherry.tensor.printing import format_elements
from wherry.tensor.tensor import Tensor

__all__: list[str] = []
METHODS = ["is_same_shape", "is_sparse_coo", "is_sparse_csr", "to_dense", "to_sparse_coo", "to_sparse_csr"]

Positions = np.ndarray


class SparseTensor:
    """What both kinds share; make one with wherry.sparse.

    A sparse tensor counts as a Tensor for isinstance, as in Paddle, but has none of the memory that operations of dense tensors take.
    """

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Tensor, which isinstance asks for after the type."""
        return Tensor

    def __getattr__(self, name: str) -> Any:
        """Refused: what the engine keeps on dense tensors, as `impl`. Raises TypeError, and AttributeError for other names."""
        if name[:1] == "_" and name[:2] != "__" and hasattr(Tensor, name):
            return self.impl
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def impl(self) -> Any:
        """Refused: the memory of a dense tensor. Raises TypeError."""
        raise TypeError(
            f"expected a dense tensor, received a {type(self).__name__}; use a function of paddle.sparse, or .to_dense()"
        )

    def __init__(self, values: Tensor, shape: Sequence[int]) -> None:
        self._values = values
        self._shape = tuple(int(n) for n in shape)

    @property
    def shape(self) -> Size:
        """The dimensions of the dense tensor that it stands for."""
        return Size(self._shape)

    @property
    def dtype(self) -> DataType:
        """The element type of the values."""
        return self._values.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    ndimension = dim

    @property
    def size(self) -> int:
        """The number of elements of the dense tensor that it stands for."""
        return math.prod(self._shape)

    @property
    def place(self) -> Place:
        """Where the memory is."""
        return self._values.place

    def __len__(self) -> int:
        return self._shape[0]

    def values(self) -> Tensor:
        """The stored elements, with their history."""
        return self._values

    def nnz(self) -> int:
        """How many elements (or blocks of dense dimensions) are stored."""
        return self._values.shape[0]

    def is_dense(self) -> bool:
        """False."""
        return False

    def is_sparse(self) -> bool:
        """True."""
        return True

    def is_sparse_coo(self) -> bool:
        """Whether positions are held as coordinates."""
        return isinstance(self, SparseCooTensor)

    def is_sparse_csr(self) -> bool:
        """Whether positions are held as compressed rows."""
        return isinstance(self, SparseCsrTensor)

    def is_same_shape(self, y: Any) -> bool:
        """Whether y, dense or sparse, has the same shape."""
        return list(self._shape) == list(y.shape)

    @property
    def stop_gradient(self) -> bool:
        """True where no gradient of the values is wanted."""
        return self._values.stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, value: bool) -> None:
        self._values.stop_gradient = value

    @property
    def is_leaf(self) -> bool:
        """True where no recorded operation made the values."""
        return self._values.is_leaf

    @property
    def grad(self) -> Any:
        """The gradient of the values, as a sparse tensor with the same positions, or None."""
        return None if self._values.grad is None else self.with_values(self._values.grad)

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Set the gradient to zeros, or drop it with set_to_zero=False."""
        self._values.clear_gradient(set_to_zero)

    clear_grad = clear_gradient

    def with_values(self, values: Tensor) -> Any:
        """A sparse tensor with the same positions and other values."""
        raise NotImplementedError

    def to_dense(self) -> Tensor:
        """The dense tensor, zero where nothing is stored; what is stored twice adds up."""
        raise NotImplementedError

    def numpy(self) -> Any:
        """The dense tensor as a NumPy array."""
        return self.to_dense().numpy()

    def detach(self) -> Any:
        """The same elements without their history."""
        return self.with_values(self._values.detach())

    def clone(self) -> Any:
        """A copy that gradients pass."""
        return self.with_values(_C_ops.assign(self._values))

    def _printed(self, parts: dict[str, Tensor]) -> str:
        lines = [
            f"Tensor(shape={list(self._shape)}, dtype=paddle.{self.dtype.name}, place={self.place}, "
            f"stop_gradient={self.stop_gradient}"
        ]
        for name, tensor in parts.items():
            lines.append(f"       {name}={format_elements(tensor.detach().numpy(), 7 + len(name) + 1)}")
        return ", \n".join(lines) + ")"


class SparseCooTensor(SparseTensor):
    """Coordinates: indices [sparse dimensions, n] and values [n, dense dimensions...]. Source: paddle.sparse.sparse_coo_tensor."""

    def __init__(self, indices: Tensor, values: Tensor, shape: Sequence[int], coalesced: bool = False) -> None:
        super().__init__(values, shape)
        self._indices = indices
        self._coalesced = coalesced

    def indices(self) -> Tensor:
        """The coordinates, one column for each stored element."""
        return self._indices

    def positions(self) -> Positions:
        """The coordinates as an int64 array."""
        return self._indices.numpy().astype(np.int64)

    def sparse_dim(self) -> int:
        """The number of dimensions that coordinates are for."""
        return self._indices.shape[0]

    def dense_dim(self) -> int:
        """The number of dimensions that each stored block has."""
        return self.ndim - self.sparse_dim()

    def __reduce__(self) -> Any:
        return SparseCooTensor, (self._indices, self._values, self._shape, self._coalesced)

    def with_values(self, values: Tensor) -> "SparseCooTensor":
        return SparseCooTensor(self._indices, values, self._shape, self._coalesced)

    def linear(self) -> Positions:
        """Each stored element's place among the sparse dimensions, in row-major order."""
        return linear_index(self.positions(), self._shape[: self.sparse_dim()])

    def is_coalesced(self) -> bool:
        """Whether the coordinates are known to be sorted and different."""
        return self._coalesced

    def coalesce(self, name: str | None = None) -> "SparseCooTensor":
        """Sorted, with what is stored twice added up. Source: paddle.sparse.coalesce."""
        if self._coalesced:
            return self
        places, inverse = np.unique(self.linear(), return_inverse=True)
        return coo_at(places, gathered_sum(self._values, inverse, places.size), self._shape, self._indices)

    def to_dense(self) -> Tensor:
        sparse = self._shape[: self.sparse_dim()]
        return _C_ops.reshape(gathered_sum(self._values, self.linear(), math.prod(sparse)), self._shape)

    def to_sparse_coo(self, sparse_dim: int) -> "SparseCooTensor":
        """The tensor itself; raises NotImplementedError for another number of sparse dimensions than it has."""
        if sparse_dim != self.sparse_dim():
            raise NotImplementedError(
                f"to_sparse_coo: expected sparse_dim {self.sparse_dim()}, which the tensor has, received {sparse_dim}; go by .to_dense()"
            )
        return self

    def to_sparse_csr(self) -> "SparseCsrTensor":
        """Compressed rows; raises ValueError for dense dimensions, or other than two or three dimensions."""
        if self.dense_dim() or self.ndim not in (2, 3):
            raise ValueError(
                f"to_sparse_csr: expected two or three sparse dimensions and no dense one, received shape {list(self._shape)} with "
                f"{self.sparse_dim()} sparse dimensions"
            )
        x = self.coalesce()
        positions = x.positions()
        rows = self._shape[-2]
        batches = self._shape[0] if self.ndim == 3 else 1
        row = positions[-2] + (positions[0] * rows if self.ndim == 3 else 0)
        counts = np.bincount(row, minlength=batches * rows).reshape(batches, rows)
        crows = np.concatenate([np.zeros((batches, 1), np.int64), np.cumsum(counts, 1)], 1).reshape(-1)
        index = self._indices.dtype
        return SparseCsrTensor(index_tensor(crows, index), index_tensor(positions[-1], index), x.values(), self._shape)

    def __repr__(self) -> str:
        return self._printed({"indices": self._indices, "values": self._values})


class SparseCsrTensor(SparseTensor):
    """Compressed rows: for each row where its elements begin, and each element's column. Source: paddle.sparse.sparse_csr_tensor."""

    def __init__(self, crows: Tensor, cols: Tensor, values: Tensor, shape: Sequence[int]) -> None:
        super().__init__(values, shape)
        self._crows = crows
        self._cols = cols

    def crows(self) -> Tensor:
        """Where the elements of each row begin, and the end of the last; for three dimensions one matrix after the other."""
        return self._crows

    def cols(self) -> Tensor:
        """The column of each element."""
        return self._cols

    def __reduce__(self) -> Any:
        return SparseCsrTensor, (self._crows, self._cols, self._values, self._shape)

    def with_values(self, values: Tensor) -> "SparseCsrTensor":
        return SparseCsrTensor(self._crows, self._cols, values, self._shape)

    def coordinates(self) -> SparseCooTensor:
        """The same elements, in the same order, by coordinates."""
        rows = self._shape[-2]
        counts = np.diff(self._crows.numpy().astype(np.int64).reshape(-1, rows + 1), axis=1).reshape(-1)
        row = np.repeat(np.arange(counts.size), counts)
        parts = [row % max(rows, 1), self._cols.numpy().astype(np.int64)]
        if self.ndim == 3:
            parts.insert(0, row // max(rows, 1))
        return SparseCooTensor(index_tensor(np.stack(parts), self._crows.dtype), self._values, self._shape)

    def to_dense(self) -> Tensor:
        return self.coordinates().to_dense()

    def to_sparse_coo(self, sparse_dim: int) -> SparseCooTensor:
        """Coordinates; raises ValueError for a sparse_dim other than the number of dimensions."""
        if sparse_dim != self.ndim:
            raise ValueError(f"to_sparse_coo: expected sparse_dim {self.ndim}, received {sparse_dim}")
        return self.coordinates().coalesce()

    def to_sparse_csr(self) -> "SparseCsrTensor":
        """The tensor itself."""
        return self

    def __repr__(self) -> str:
        return self._printed({"crows": self._crows, "cols": self._cols, "values": self._values})


def index_tensor(array: Positions, dtype: DataType = dt.int64) -> Tensor:
    """Positions as a tensor."""
    return Tensor(np.ascontiguousarray(array), dtype=dtype)


def linear_index(positions: Positions, shape: Sequence[int]) -> Positions:
    """Row-major places of coordinates [dimensions, n]."""
    place = np.zeros(positions.shape[1], np.int64)
    for coordinate, length in zip(positions, shape):
        place = place * length + coordinate
    return place


def coordinates_of(places: Positions, shape: Sequence[int]) -> Positions:
    """Coordinates [dimensions, n] of row-major places."""
    rows = []
    for length in reversed(list(shape)):
        rows.append(places % max(length, 1))
        places = places // max(length, 1)
    return np.stack(rows[::-1]) if rows else np.zeros((0, places.size), np.int64)


def taken(values: Tensor, places: Positions) -> Tensor:
    """The values at places along the first axis."""
    return _C_ops.index_select(values, index_tensor(places), 0)


def gathered_sum(values: Tensor, places: Positions, count: int) -> Tensor:
    """[count, ...]: zeros to which each value is added at its place."""
    kind = dt.int8 if values.dtype.is_bool else values.dtype
    added = _C_ops.cast(values, kind) if values.dtype.is_bool else values
    zeros = _C_ops.full((count, *values.shape[1:]), 0, kind)
    out = _C_ops.index_add(zeros, index_tensor(places), added, 0)
    return _C_ops.cast(out, values.dtype) if values.dtype.is_bool else out


def coo_at(places: Positions, values: Tensor, shape: Sequence[int], like: Tensor) -> SparseCooTensor:
    """A coalesced tensor from sorted different places of the first dimensions (as many as coordinates in `like`)."""
    sparse = like.shape[0]
    indices = index_tensor(coordinates_of(places, list(shape)[:sparse]), like.dtype)
    return SparseCooTensor(indices, values, shape, True)


# Methods of dense tensors.


def is_sparse_coo(self: Tensor) -> bool:
    """False."""
    return False


def is_sparse_csr(self: Tensor) -> bool:
    """False."""
    return False


def is_same_shape(self: Tensor, y: Any) -> bool:
    """Whether y, dense or sparse, has the same shape. Source: paddle.Tensor.is_same_shape."""
    return list(self.shape) == list(y.shape)


def to_dense(self: Tensor) -> Tensor:
    """The tensor itself."""
    return self


def to_sparse_coo(self: Tensor, sparse_dim: int) -> SparseCooTensor:
    """The elements that are not zero, by coordinates of the first sparse_dim dimensions; blocks where dimensions are left.

    Raises ValueError for a sparse_dim outside [1, ndim]. Source: paddle.Tensor.to_sparse_coo.
    """
    if not 0 < sparse_dim <= self.ndim:
        raise ValueError(f"to_sparse_coo: expected sparse_dim in [1, {self.ndim}], received {sparse_dim}")
    shape = tuple(self.shape)
    count = math.prod(shape[:sparse_dim])
    kept = self.detach().numpy().reshape(count, math.prod(shape[sparse_dim:])).any(1)
    places = np.flatnonzero(kept)
    values = taken(_C_ops.reshape(self, (count, *shape[sparse_dim:])), places)
    return SparseCooTensor(index_tensor(coordinates_of(places, shape[:sparse_dim])), values, shape, True)


def to_sparse_csr(self: Tensor) -> SparseCsrTensor:
    """The elements that are not zero, by compressed rows. Raises ValueError for other than two or three dimensions."""
    return to_sparse_coo(self, self.ndim).to_sparse_csr()

"""Checks of arguments that functions of sparse tensors share."""

from typing import Any

from wherry.api.sparse_tensor import SparseCooTensor, SparseCsrTensor, SparseTensor

Sparse = SparseCooTensor | SparseCsrTensor


def sparse_of(x: Any, function: str, name: str = "x") -> Any:
    """x if it is sparse; raises TypeError otherwise."""
    if not isinstance(x, SparseTensor):
        raise TypeError(
            f"sparse.{function}: expected {name} to be a sparse tensor, received {type(x).__name__}; make one with "
            "sparse_coo_tensor, sparse_csr_tensor, to_sparse_coo or to_sparse_csr"
        )
    return x


def coordinates(x: Any) -> SparseCooTensor:
    """A sparse tensor by coordinates, its elements in the same order."""
    return x.coordinates() if isinstance(x, SparseCsrTensor) else x


def as_kind_of(x: SparseCooTensor, like: Any) -> Any:
    """Compressed rows where `like` has them."""
    return x.to_sparse_csr() if isinstance(like, SparseCsrTensor) else x

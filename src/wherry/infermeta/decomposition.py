"""InferMeta of what takes matrices apart."""

from wherry.core import dtype as dt
from wherry.core.meta import Meta
from wherry.infermeta.common import broadcast_shapes, complex_dtype, real_dtype
from wherry.infermeta.registry import infer_meta


def _matrices(x: Meta, name: str = "x") -> None:
    if x.ndim < 2:
        raise ValueError(f"expected {name} of 2 dimensions or more (matrices), received shape {list(x.shape)}")


def _square(x: Meta, name: str = "x") -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"expected square matrices in the last two axes of {name}, received shape {list(x.shape)}")


@infer_meta("SquareInferMeta")
def square(x: Meta) -> Meta:
    """x's meta; raises ValueError for matrices that are not square."""
    _square(x)
    return x


@infer_meta("DetInferMeta")
def det(x: Meta) -> Meta:
    """Without the last two axes."""
    _square(x)
    return x.with_shape(x.shape[:-2])


@infer_meta("SlogdetInferMeta")
def slogdet(x: Meta) -> Meta:
    """Two for each matrix, along a new first axis."""
    _square(x)
    return x.with_shape((2,) + x.shape[:-2])


@infer_meta("SolveInferMeta")
def solve(x: Meta, y: Meta) -> Meta:
    """y's matrices, the batch axes broadcast."""
    _square(x)
    _matrices(y, "y")
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(f"expected as many rows in y as in x, received shapes {list(x.shape)} and {list(y.shape)}")
    return x.with_shape(broadcast_shapes(x.shape[:-2], y.shape[:-2]) + y.shape[-2:])


@infer_meta("TriangularSolveInferMeta")
def triangular_solve(x: Meta, y: Meta, upper: bool, transpose: bool, unitriangular: bool) -> Meta:
    """As for solve."""
    return solve(x, y)


@infer_meta("CholeskySolveInferMeta")
def cholesky_solve(x: Meta, y: Meta, upper: bool) -> Meta:
    """As for solve, with the matrix second."""
    _square(y, "y")
    _matrices(x)
    return solve(y, x)


@infer_meta("QrInferMeta")
def qr(x: Meta, mode: str) -> tuple[Meta, Meta]:
    """Shapes by mode: reduced, complete or r (where q is empty)."""
    _matrices(x)
    batch, (m, n) = x.shape[:-2], x.shape[-2:]
    k = min(m, n)
    if mode == "reduced":
        return x.with_shape((*batch, m, k)), x.with_shape((*batch, k, n))
    if mode == "complete":
        return x.with_shape((*batch, m, m)), x.with_shape((*batch, m, n))
    if mode == "r":
        return x.with_shape((0,)), x.with_shape((*batch, k, n))
    raise ValueError(f"expected mode 'reduced', 'complete' or 'r', received {mode!r}")


@infer_meta("SvdInferMeta")
def svd(x: Meta, full_matrices: bool) -> tuple[Meta, Meta, Meta]:
    """u, s and vh."""
    _matrices(x)
    batch, (m, n) = x.shape[:-2], x.shape[-2:]
    k = min(m, n)
    s = x.with_shape((*batch, k)).with_dtype(real_dtype(x.dtype))
    if full_matrices:
        return x.with_shape((*batch, m, m)), s, x.with_shape((*batch, n, n))
    return x.with_shape((*batch, m, k)), s, x.with_shape((*batch, k, n))


@infer_meta("SvdvalsInferMeta")
def svdvals(x: Meta) -> Meta:
    """As many as the shorter side."""
    _matrices(x)
    return x.with_shape((*x.shape[:-2], min(x.shape[-2:]))).with_dtype(real_dtype(x.dtype))


def _check_uplo(uplo: str) -> None:
    if uplo not in ("L", "U"):
        raise ValueError(f"expected UPLO 'L' or 'U', received {uplo!r}")


@infer_meta("EighInferMeta")
def eigh(x: Meta, UPLO: str) -> tuple[Meta, Meta]:
    """Real values, vectors in x's shape."""
    _square(x)
    _check_uplo(UPLO)
    return x.with_shape(x.shape[:-1]).with_dtype(real_dtype(x.dtype)), x


@infer_meta("EigvalshInferMeta")
def eigvalsh(x: Meta, uplo: str) -> Meta:
    """Real values."""
    return eigh(x, uplo)[0]


@infer_meta("EigInferMeta")
def eig(x: Meta) -> tuple[Meta, Meta]:
    """Complex values, vectors in x's shape."""
    _square(x)
    out = x.with_dtype(complex_dtype(x.dtype))
    return out.with_shape(x.shape[:-1]), out


@infer_meta("EigvalsInferMeta")
def eigvals(x: Meta) -> Meta:
    """Complex values."""
    return eig(x)[0]


@infer_meta("PinvInferMeta")
def pinv(x: Meta, rcond: float, hermitian: bool) -> Meta:
    """Rows and columns exchanged."""
    _matrices(x)
    if hermitian:
        _square(x)
    return x.with_shape((*x.shape[:-2], x.shape[-1], x.shape[-2]))


@infer_meta("LuInferMeta")
def lu(x: Meta, pivot: bool) -> tuple[Meta, Meta, Meta]:
    """Packed factors, pivots, and a number for each matrix."""
    _matrices(x)
    if not pivot:
        raise NotImplementedError(
            "expected pivot=True, received False: a decomposition without pivots is not supported"
        )
    batch = x.shape[:-2]
    return x, Meta((*batch, min(x.shape[-2:])), dt.int32), Meta(batch, dt.int32)


@infer_meta("LuUnpackInferMeta")
def lu_unpack(x: Meta, y: Meta, unpack_ludata: bool, unpack_pivots: bool) -> tuple[Meta, Meta, Meta]:
    """p [..., m, m], l [..., m, k], u [..., k, n]; empty what is not asked for."""
    _matrices(x)
    batch, (m, n) = x.shape[:-2], x.shape[-2:]
    k = min(m, n)
    if y.shape != (*batch, k) or not y.dtype.is_integer:
        raise ValueError(f"expected integer pivots of shape {[*batch, k]} for x {list(x.shape)}, received {y}")
    empty = x.with_shape((0,))
    return (
        x.with_shape((*batch, m, m)) if unpack_pivots else empty,
        x.with_shape((*batch, m, k)) if unpack_ludata else empty,
        x.with_shape((*batch, k, n)) if unpack_ludata else empty,
    )


@infer_meta("LstsqInferMeta")
def lstsq(x: Meta, y: Meta, rcond: float) -> tuple[Meta, Meta, Meta, Meta]:
    """Solutions, sums of squares, ranks and singular values."""
    _matrices(x)
    _matrices(y, "y")
    if x.shape[:-1] != y.shape[:-1]:
        raise ValueError(
            f"expected x and y to agree in all axes but the last, received shapes {list(x.shape)} and {list(y.shape)}"
        )
    batch, (m, n), k = x.shape[:-2], x.shape[-2:], y.shape[-1]
    real = real_dtype(x.dtype)
    return (
        x.with_shape((*batch, n, k)),
        Meta((*batch, k), real),
        Meta(batch, dt.int32),
        Meta((*batch, min(m, n)), real),
    )

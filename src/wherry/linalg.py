"""Linear algebra. Source: paddle.linalg."""

import math
from collections.abc import Sequence
from typing import Any

from wherry import _C_ops
from wherry._generated.api_linalg import (
    cholesky,
    cholesky_solve,
    cross,
    det,
    eig,
    eigh,
    eigvals,
    inv,
    lu_unpack,
    slogdet,
    svd,
    svdvals,
    triangular_solve,
)
from wherry._generated.api_paddle import diagonal, matmul
from wherry.api.householder import householder_product, ormqr, pca_lowrank, svd_lowrank
from wherry.api.linalg import vecdot
from wherry.api.reduction import norm
from wherry.core import dtype as dt
from wherry.tensor.tensor import Tensor

__all__ = [
    "norm",
    "matrix_norm",
    "vector_norm",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "cond",
    "corrcoef",
    "cov",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "lstsq",
    "lu",
    "lu_solve",
    "lu_unpack",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "ormqr",
    "pca_lowrank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svd_lowrank",
    "svdvals",
    "triangular_solve",
    "vecdot",
]


def _identity(x: Tensor) -> Tensor:
    return _C_ops.eye(x.shape[-1], x.shape[-1], x.dtype)


def _is_matrix_stack(x: Tensor, name: str = "x") -> None:
    if x.ndim < 2:
        raise ValueError(f"expected {name} of 2 dimensions or more (matrices), received shape {list(x.shape)}")


def _adjoint(x: Tensor) -> Tensor:
    turned = matrix_transpose(x)
    return _C_ops.conj(turned) if x.dtype.is_complex else turned


def matrix_transpose(x: Tensor, name: str | None = None) -> Tensor:
    """The last two axes exchanged. Raises ValueError below two dimensions. Source: paddle.linalg.matrix_transpose."""
    _is_matrix_stack(x)
    order = list(range(x.ndim))
    order[-2:] = [order[-1], order[-2]]
    return _C_ops.transpose(x, order)


def solve(x: Tensor, y: Tensor, left: bool = True, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The solution s of x s = y, or with left=False of s x = y, for square matrices x.

    y holds matrices, or vectors where it has one axis (or one less than x, and the sizes agree). The axes before the
    last two broadcast. Raises ValueError for other shapes and for a matrix without an inverse. Source:
    paddle.linalg.solve.
    """
    if out is not None:
        raise NotImplementedError("the argument out is not supported; assign the result")
    _is_matrix_stack(x)
    vector = y.ndim == 1 or (x.ndim - 1 == y.ndim and list(x.shape[:-1]) == list(y.shape))
    if vector:
        solved = _C_ops.solve(x if left else matrix_transpose(x), _C_ops.reshape(y, [*y.shape, 1]))
        return _C_ops.reshape(solved, list(solved.shape[:-1]))
    if left:
        return _C_ops.solve(x, y)
    return matrix_transpose(_C_ops.solve(matrix_transpose(x), matrix_transpose(y)))


def qr(x: Tensor, mode: str = "reduced", name: str | None = None) -> Any:
    """QR decomposition x = q r of each matrix in the last two axes.

    "reduced": q [..., m, k] and r [..., k, n] with k = min(m, n); "complete": square q; "r": r alone. Raises ValueError
    for another mode; the gradient of "complete" exists only for m <= n. Source: paddle.linalg.qr.
    """
    q, r = _C_ops.qr(x, mode)
    return r if mode == "r" else (q, r)


def eigvalsh(x: Tensor, UPLO: str = "L", name: str | None = None) -> Tensor:
    """Eigenvalues of symmetric or Hermitian matrices, rising, real; only the triangle UPLO is read.

    Raises ValueError for another UPLO or shapes that are not square. Source: paddle.linalg.eigvalsh.
    """
    return _C_ops.eigvalsh(x, UPLO)


def pinv(x: Tensor, rcond: Any = 1e-15, hermitian: bool = False, name: str | None = None) -> Tensor:
    """Pseudo-inverse of each matrix in the last two axes; singular values up to rcond times the largest count as zero.

    `hermitian` says that x is symmetric or Hermitian. `rcond` is a number or a tensor of one element.
    Source: paddle.linalg.pinv.
    """
    return _C_ops.pinv(x, float(rcond), hermitian)


def matrix_power(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """Square matrices multiplied n times with themselves; n = 0 gives identities, a negative n powers of the inverse.

    Raises ValueError for matrices that are not square. Source: paddle.linalg.matrix_power.
    """
    _is_matrix_stack(x)
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"expected square matrices in the last two axes of x, received shape {list(x.shape)}")
    if n == 0:
        return _C_ops.expand(_identity(x), list(x.shape)).clone()
    base = inv(x) if n < 0 else x
    count = abs(n)
    result = None
    while count:
        if count & 1:
            result = base if result is None else matmul(result, base)
        count >>= 1
        if count:
            base = matmul(base, base)
    return _C_ops.assign(x) if n == 1 else result


def multi_dot(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Product of two or more matrices, in the order that costs least; the first and the last may be vectors.

    Raises ValueError for fewer, or sizes that do not fit. Source: paddle.linalg.multi_dot.
    """
    if len(x) < 2:
        raise ValueError(f"expected at least two tensors, received {len(x)}")
    parts = list(x)
    first_is_vector, last_is_vector = parts[0].ndim == 1, parts[-1].ndim == 1
    if first_is_vector:
        parts[0] = _C_ops.reshape(parts[0], [1, parts[0].shape[0]])
    if last_is_vector:
        parts[-1] = _C_ops.reshape(parts[-1], [parts[-1].shape[0], 1])
    for i, part in enumerate(parts):
        if part.ndim != 2:
            raise ValueError(f"expected matrices between the ends, received shape {list(part.shape)} at position {i}")
        if i and parts[i - 1].shape[1] != part.shape[0]:
            raise ValueError(
                f"expected sizes that fit at positions {i - 1} and {i}, received shapes {list(parts[i - 1].shape)} and {list(part.shape)}"
            )
    product = _chain(parts)
    shape = ([] if first_is_vector else [product.shape[0]]) + ([] if last_is_vector else [product.shape[1]])
    return _C_ops.reshape(product, shape) if len(shape) < 2 else product


def _chain(parts: list[Tensor]) -> Tensor:
    """The product in the order of fewest multiplications (the classical dynamic programme)."""
    sizes = [parts[0].shape[0]] + [p.shape[1] for p in parts]
    n = len(parts)
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            options = [(cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i][j], cut[i][j] = min(options)

    def product(i: int, j: int) -> Tensor:
        return parts[i] if i == j else matmul(product(i, cut[i][j]), product(cut[i][j] + 1, j))

    return product(0, n - 1)


def matrix_rank(
    x: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    atol: Any = None,
    rtol: Any = None,
    name: str | None = None,
) -> Tensor:
    """Number of singular values (or, hermitian, absolute eigenvalues) above a bound, int64.

    The bound is `tol`, or the larger of `atol` and `rtol` times the largest value; without any of them rtol is the
    dtype's epsilon times the longer side. Each is a number or a tensor, one for each matrix. Raises ValueError for tol
    beside the others. Source: paddle.linalg.matrix_rank.
    """
    _is_matrix_stack(x)
    if tol is not None and (atol is not None or rtol is not None):
        raise ValueError("expected tol alone, or atol and rtol without tol, received both")
    x = x.detach()
    if hermitian:
        values = _C_ops.abs(_C_ops.eigvalsh(x, "L"))
        largest = _C_ops.maximum(_end(values, 0), _end(values, -1))
    else:
        values = _C_ops.svdvals(x)
        largest = _end(values, 0)
    if tol is not None:
        bound = _bound(tol, values)
    else:
        if rtol is None:
            rtol = _epsilon(values.dtype) * max(x.shape[-2:]) if atol is None else 0.0
        bound = largest * _bound(rtol, values)
        if atol is not None:
            bound = _C_ops.maximum(bound, _bound(atol, values) + largest * 0.0)
    if bound.ndim:
        bound = _C_ops.reshape(bound, [*bound.shape, 1])
    return _C_ops.sum((values > bound).astype("int64"), [-1], None, False)


def _end(values: Tensor, position: int) -> Tensor:
    """The first (0) or last (-1) of the values in the last axis; zeros where it is empty."""
    size = values.shape[-1]
    if size == 0:
        return _C_ops.full(list(values.shape[:-1]), 0.0, values.dtype)
    start = position % size
    part = _C_ops.slice(values, [values.ndim - 1], [start], [start + 1])
    return _C_ops.reshape(part, list(values.shape[:-1]))


def _bound(value: Any, values: Tensor) -> Tensor:
    if isinstance(value, Tensor):
        return value.astype(values.dtype)
    return _C_ops.full([], float(value), values.dtype)


def _epsilon(dtype: dt.DataType) -> float:
    return 2.0**-52 if dtype in (dt.float64, dt.complex128) else 2.0**-23


def lstsq(
    x: Tensor, y: Tensor, rcond: float | None = None, driver: str | None = None, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Solution of least squares of x s = y, with residuals, the rank of x and its singular values; no gradient.

    x [..., m, n], y [..., m, k], s [..., n, k]. `driver` ("gelsy" at first, "gels", "gelsd", "gelss") says what is
    filled in: residuals (where m > n and the rank is n) all but gelsy, the rank all but gels, singular values gelsd and
    gelss. Raises ValueError for another driver or other shapes. Source: paddle.linalg.lstsq.
    """
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise ValueError(f"expected driver None, 'gels', 'gelsy', 'gelsd' or 'gelss', received {driver!r}")
    _is_matrix_stack(x)
    _is_matrix_stack(y, "y")
    m, n = x.shape[-2:]
    epsilon = _epsilon(x.dtype)
    bound = epsilon * max(m, n) if rcond is None else float(rcond)
    solution, residuals, rank, values = _C_ops.lstsq(x.detach(), y.detach(), 0.0 if driver == "gels" else bound)
    nothing = _C_ops.full([0], 0.0, residuals.dtype)
    if driver == "gelsy" or m <= n or _any(rank < n):
        residuals = nothing
    if driver in ("gels", "gelsy"):
        values = nothing
    if driver == "gels":
        rank = _C_ops.full([0], 0, dt.int64)
    return solution, residuals, rank, values


def _any(condition: Tensor) -> bool:
    return int(_C_ops.sum(condition, [], None, False)) > 0


def lu(x: Tensor, pivot: bool = True, get_infos: bool = False, name: str | None = None) -> Any:
    """LU decomposition with exchanged rows: both factors packed in one tensor, and the pivots (int32, counted from 1).

    With get_infos also, for each matrix, 0 or the number of the first zero on the diagonal. Raises NotImplementedError
    for pivot=False. Source: paddle.linalg.lu.
    """
    packed, pivots, infos = _C_ops.lu(x, pivot)
    return (packed, pivots, infos) if get_infos else (packed, pivots)


def lu_solve(b: Tensor, lu: Tensor, pivots: Tensor, trans: str = "N", name: str | None = None) -> Tensor:
    """The solution of a s = b (or with a transposed "T", or conjugated and transposed "C") by a's decomposition from
    `lu`.

    Raises ValueError for another `trans`. Source: paddle.linalg.lu_solve.
    """
    if trans not in ("N", "T", "C"):
        raise ValueError(f"expected trans 'N', 'T' or 'C', received {trans!r}")
    order, low, up = _C_ops.lu_unpack(lu, pivots, True, True)
    if trans == "N":
        rows = matmul(order, b, transpose_x=True)
        return _C_ops.triangular_solve(up, _C_ops.triangular_solve(low, rows, False, False, True), True, False, False)
    if trans == "C" and lu.dtype.is_complex:
        low, up = _C_ops.conj(low), _C_ops.conj(up)
    rows = _C_ops.triangular_solve(low, _C_ops.triangular_solve(up, b, True, True, False), False, True, True)
    return matmul(order, rows)


def cholesky_inverse(x: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """Inverse of the matrix whose Cholesky factor is x. Source: paddle.linalg.cholesky_inverse."""
    return cholesky_solve(_identity(x), x, upper)


def cond(x: Tensor, p: Any = None, name: str | None = None) -> Tensor:
    """Condition number: the norm of each matrix times that of its inverse.

    p: None or 2, -2 (largest over smallest singular value, or the reverse), "fro", "nuc", 1, -1, inf, -inf. Raises
    ValueError for others, and except for 2 and -2 for matrices that are not square. Source: paddle.linalg.cond.
    """
    _is_matrix_stack(x)
    if p is None or p in (2, -2):
        values = svdvals(x)
        largest, smallest = _end(values, 0), _end(values, -1)
        return smallest / largest if p == -2 else largest / smallest
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise ValueError(f"expected p None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, received {p!r}")
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"expected square matrices for p = {p!r}, received shape {list(x.shape)}")
    return _size(x, p) * _size(inv(x), p)


def _size(x: Tensor, p: Any) -> Tensor:
    if p == "nuc":
        return _C_ops.sum(svdvals(x), [-1], None, False)
    if p == "fro":
        # Not from the elements' sizes: those have no second derivative at zeros.
        return _C_ops.p_norm(x, 2.0, (-2, -1), False)
    sums = _C_ops.sum(_C_ops.abs(x), [-2 if p in (1, -1) else -1], None, False)
    # The extreme by halves, which may overlap by one.
    pick = _C_ops.maximum if p in (1, math.inf) else _C_ops.minimum
    while sums.shape[-1] > 1:
        size = sums.shape[-1]
        half = (size + 1) // 2
        axis = [sums.ndim - 1]
        sums = pick(_C_ops.slice(sums, axis, [0], [half]), _C_ops.slice(sums, axis, [size - half], [size]))
    return _end(sums, 0)


def cov(
    x: Tensor,
    rowvar: bool = True,
    ddof: bool = True,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Covariances of the rows of x (of its columns with rowvar=False), x of 1 or 2 dimensions.

    Divides by the number of observations, less one with `ddof`. `fweights` says how often each observation comes,
    `aweights` how much it counts. Raises ValueError for more dimensions or weights that do not fit. Source:
    paddle.linalg.cov.
    """
    if x.ndim > 2 or x.ndim < 1:
        raise ValueError(f"expected x of 1 or 2 dimensions, received shape {list(x.shape)}")
    rows = _C_ops.reshape(x, [1, x.shape[0]]) if x.ndim == 1 else x
    if not rowvar and x.ndim == 2 and rows.shape[0] != 1:
        rows = matrix_transpose(rows)
    count = rows.shape[1]
    weights = None
    for name_, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        if given.ndim != 1 or given.shape[0] != count:
            raise ValueError(f"expected {name_} of shape [{count}], received {list(given.shape)}")
        if _any(given < 0):
            raise ValueError(f"expected {name_} >= 0, received a negative one")
        part = given.astype(x.dtype)
        weights = part if weights is None else weights * part
    if weights is None:
        total = float(count)
        mean = _C_ops.sum(rows, [1], None, True) / total
        divisor: Any = total - (1.0 if ddof else 0.0)
    else:
        total = weights.sum()
        mean = _C_ops.sum(rows * weights, [1], None, True) / total
        divisor = total
        if ddof:
            spread = weights if aweights is None else weights * aweights.astype(x.dtype)
            divisor = total - (1.0 if aweights is None else spread.sum() / total)
    centred = rows - mean
    other = centred if weights is None else centred * weights
    if not isinstance(divisor, Tensor) and divisor <= 0:
        divisor = 0.0
    product = matmul(centred, _adjoint(other)) / divisor
    return _C_ops.reshape(product, []) if product.size == 1 else product


def corrcoef(x: Tensor, rowvar: bool = True, name: str | None = None) -> Tensor:
    """Correlation coefficients of the rows of x (of its columns with rowvar=False), x of 1 or 2 dimensions.

    Raises ValueError for more dimensions. Source: paddle.linalg.corrcoef.
    """
    covariance = cov(x, rowvar)
    if covariance.ndim == 0:
        return covariance / covariance
    spread = _C_ops.sqrt(_C_ops.diag(covariance.real() if x.dtype.is_complex else covariance, 0, 0.0))
    n = spread.shape[0]
    scaled = covariance / _C_ops.reshape(spread, [n, 1]) / _C_ops.reshape(spread, [1, n])
    return scaled if x.dtype.is_complex else _C_ops.clip(scaled, -1.0, 1.0)


# Numerators of the Pade approximation of degree 13, and up to which 1-norm it is exact to double precision (Higham, 2005).
_PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
_PADE_NORM = 5.371920351148152


def matrix_exp(x: Tensor, name: str | None = None) -> Tensor:
    """Exponential of square matrices, by scaling, a Pade approximation, and squaring.

    Raises ValueError for matrices that are not square. Source: paddle.linalg.matrix_exp.
    """
    _is_matrix_stack(x)
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"expected square matrices in the last two axes of x, received shape {list(x.shape)}")
    if x.size == 0:
        return _C_ops.assign(x)
    sums = _C_ops.sum(_C_ops.abs(x.detach()), [-2], None, False)
    norm = max(_C_ops.reshape(sums, [-1]).tolist())
    squarings = max(0, math.ceil(math.log2(norm / _PADE_NORM))) if norm > 0.0 and math.isfinite(norm) else 0
    a = x * 2.0**-squarings
    one = _identity(x)
    a2 = matmul(a, a)
    a4 = matmul(a2, a2)
    a6 = matmul(a4, a2)
    b = _PADE
    odd = matmul(a6, a6 * b[13] + a4 * b[11] + a2 * b[9]) + a6 * b[7] + a4 * b[5] + a2 * b[3] + one * b[1]
    u = matmul(a, odd)
    v = matmul(a6, a6 * b[12] + a4 * b[10] + a2 * b[8]) + a6 * b[6] + a4 * b[4] + a2 * b[2] + one * b[0]
    result = _C_ops.solve(v - u, v + u)
    for _ in range(squarings):
        result = matmul(result, result)
    return result


def vector_norm(x: Tensor, p: float = 2.0, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The p-norm of x as one vector, or over the axes. Source: paddle.linalg.vector_norm."""
    from wherry.api.arguments import axes_of

    return _C_ops.p_norm(x, float(p), axes_of(axis), keepdim)


def matrix_norm(
    x: Tensor, p: Any = "fro", axis: Any = (-2, -1), keepdim: bool = False, name: str | None = None
) -> Tensor:
    """The norm of matrices in two axes: "fro", "nuc", 1, -1, 2, -2, inf or -inf. Source: paddle.linalg.matrix_norm."""
    if len(list(axis)) != 2:
        raise ValueError(f"matrix_norm: expected two axes, received {axis!r}")
    return norm(x, p, list(axis), keepdim)

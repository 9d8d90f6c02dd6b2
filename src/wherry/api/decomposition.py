"""Methods of Tensor, and top-level names, of functions in wherry.linalg."""

from wherry.linalg import (  # noqa: F401 (METHODS names them)
    cholesky,
    cholesky_solve,
    cond,
    corrcoef,
    cov,
    eig,
    eigvals,
    eigvalsh,
    lstsq,
    lu,
    lu_unpack,
    matrix_power,
    matrix_transpose,
    multi_dot,
    pinv,
    qr,
    solve,
)

__all__ = ["eigvalsh", "matrix_transpose"]
METHODS = [
    "cholesky",
    "cholesky_solve",
    "cond",
    "corrcoef",
    "cov",
    "eig",
    "eigvals",
    "eigvalsh",
    "lstsq",
    "lu",
    "lu_unpack",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "pinv",
    "qr",
    "solve",
]

"""Derivative rules of what takes matrices apart.

Where values coincide (singular values, eigenvalues) the vectors have no derivative; the terms with 1 / 0 are left out,
so that gradients that do not depend on the choice of vectors are right.
"""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, conj, unbroadcast


def _transposed(ops: Ops, x: Value) -> Value:
    order = list(range(x.meta.ndim))
    order[-2:] = [order[-1], order[-2]]
    return ops.transpose(x, tuple(order))


def _adjoint(ops: Ops, x: Value) -> Value:
    return conj(ops, _transposed(ops, x))


def _identity(ops: Ops, like: Value) -> Value:
    """The identity matrix of the size and dtype of square matrices."""
    size = like.meta.shape[-1]
    return ops.eye(size, size, like.meta.dtype)


def _row(ops: Ops, x: Value) -> Value:
    """Vectors as matrices of one row, so that they scale columns."""
    return ops.reshape(x, (*x.meta.shape[:-1], 1, x.meta.shape[-1]))


def _column(ops: Ops, x: Value) -> Value:
    """Vectors as matrices of one column, so that they scale rows."""
    return ops.reshape(x, (*x.meta.shape, 1))


def _as(ops: Ops, x: Value, like: Value) -> Value:
    """x in the dtype of `like` (a real one beside complex matrices)."""
    return x if x.meta.dtype is like.meta.dtype else ops.cast(x, like.meta.dtype)


def _inverse_gaps(ops: Ops, values: Value) -> Value:
    """1 / (values[j] - values[i]) at [i, j], and 0 where they coincide (so on the diagonal)."""
    gaps = ops.subtract(_row(ops, values), _column(ops, values))
    same = ops.cast(ops.equal(gaps, ops.full_like(gaps, 0.0)), values.meta.dtype)
    return ops.divide(ops.subtract(ops.full_like(same, 1.0), same), ops.add(gaps, same))


def inverse_grad(ops: Ops, out: Value, out_grad: Value) -> Value:
    held = conj(ops, out)
    return ops.scale(ops.matmul(ops.matmul(held, out_grad, True, False), held, False, True), -1.0)


def det_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.multiply(_column(ops, _column(ops, out_grad)), conj(ops, ops.cofactor(x)))


def cofactor_grad(ops: Ops, x: Value, out: Value, out_grad: Value) -> Value:
    """Of the second order, and for matrices that have an inverse."""
    held = conj(ops, out)
    turned = _adjoint(ops, ops.inverse(x))
    total = ops.sum(ops.multiply(out_grad, held), (-2, -1), None, True)
    mixed = ops.matmul(ops.matmul(held, out_grad, False, True), turned)
    return ops.subtract(ops.multiply(total, turned), mixed)


def slogdet_grad(ops: Ops, x: Value, out: Value, out_grad: Value) -> Value:
    """d log det = tr(x^-1 dx): its real part moves log|det|, its imaginary part turns a complex determinant's sign."""
    turned = _adjoint(ops, ops.inverse(x))
    sign_grad, logarithm_grad = ops.unbind(out_grad, 0)
    if x.meta.dtype.is_complex:
        sign = ops.unbind(out, 0)[0]
        turning = ops.imag(ops.multiply(sign_grad, ops.conj(sign)))
        logarithm_grad = ops.complex(ops.real(logarithm_grad), turning)
    return ops.multiply(_column(ops, _column(ops, logarithm_grad)), turned)


def solve_grad(ops: Ops, x: Value, y_meta: Meta, out: Value, out_grad: Value) -> tuple[Value, Value]:
    grad = ops.solve(_adjoint(ops, x), out_grad)
    product = ops.scale(ops.matmul(grad, conj(ops, out), False, True), -1.0)
    return unbroadcast(ops, product, x.meta), unbroadcast(ops, grad, y_meta)


def triangular_solve_grad(
    ops: Ops,
    x: Value,
    y_meta: Meta,
    out: Value,
    out_grad: Value,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
) -> tuple[Value, Value]:
    grad = ops.triangular_solve(conj(ops, x), out_grad, upper, not transpose, unitriangular)
    held = conj(ops, out)
    # out grad^T conjugated, or its transpose: what the full matrix would get; the triangle keeps its part.
    product = ops.matmul(held, grad, False, True) if transpose else ops.matmul(grad, held, False, True)
    edge = 1 if unitriangular else 0
    triangle = ops.triu(product, edge) if upper else ops.tril(product, -edge)
    return unbroadcast(ops, ops.scale(triangle, -1.0), x.meta), unbroadcast(ops, grad, y_meta)


def cholesky_grad(ops: Ops, out: Value, out_grad: Value, upper: bool) -> Value:
    factor = _adjoint(ops, out) if upper else out
    grad = _adjoint(ops, out_grad) if upper else out_grad
    inner = ops.matmul(conj(ops, factor), grad, True, False)
    half = ops.subtract(ops.tril(inner, 0), ops.scale(ops.multiply(inner, _identity(ops, inner)), 0.5))
    # factor^-H half factor^-1
    held = conj(ops, factor)
    left = ops.triangular_solve(held, half, False, True, False)
    full = _transposed(ops, ops.triangular_solve(factor, _transposed(ops, left), False, True, False))
    return ops.scale(ops.add(full, _adjoint(ops, full)), 0.5)


def cholesky_solve_grad(
    ops: Ops, x_meta: Meta, y: Value, out: Value, out_grad: Value, upper: bool
) -> tuple[Value, Value]:
    grad = ops.cholesky_solve(out_grad, y, upper)
    product = ops.scale(ops.matmul(grad, conj(ops, out), False, True), -1.0)
    both = ops.add(product, _adjoint(ops, product))
    if upper:
        factor = ops.triu(ops.matmul(ops.triu(y, 0), both), 0)
    else:
        factor = ops.tril(ops.matmul(both, ops.tril(y, 0)), 0)
    return unbroadcast(ops, grad, x_meta), unbroadcast(ops, factor, y.meta)


def qr_grad(ops: Ops, x: Value, q: Value, r: Value, q_grad: Value, r_grad: Value, mode: str) -> Value:
    rows, columns = x.meta.shape[-2:]
    if mode == "complete" and rows > columns:
        raise NotImplementedError(
            f"expected mode 'reduced' for the gradient of qr of {rows} x {columns} matrices, received 'complete': "
            "the columns that complete q are not determined by x"
        )
    if mode == "r":
        q = ops.qr(x, "reduced")[0]
        q_grad = ops.full_like(q, 0.0)
    if rows >= columns:
        return _qr_grad_tall(ops, q, r, q_grad, r_grad)
    # The first `rows` columns decide q; the others are q^H times themselves.
    first = ops.eye(columns, rows, x.meta.dtype)
    head, head_grad = ops.matmul(r, first), ops.matmul(r_grad, first)
    seen = ops.matmul(x, conj(ops, r_grad), False, True)
    own = ops.matmul(ops.matmul(x, first), conj(ops, head_grad), False, True)
    moved = ops.add(q_grad, ops.subtract(seen, own))
    left = _qr_grad_tall(ops, q, head, moved, head_grad)
    rest = ops.subtract(r_grad, ops.matmul(head_grad, first, False, True))
    return ops.add(ops.matmul(left, first, False, True), ops.matmul(q, rest))


def _qr_grad_tall(ops: Ops, q: Value, r: Value, q_grad: Value, r_grad: Value) -> Value:
    inner = ops.subtract(ops.matmul(r_grad, conj(ops, r), False, True), ops.matmul(conj(ops, q), q_grad, True, False))
    above = ops.triu(inner, 1)
    on = ops.multiply(_as(ops, ops.real(inner), inner) if inner.meta.dtype.is_complex else inner, _identity(ops, inner))
    mirrored = ops.add(ops.add(above, _adjoint(ops, above)), on)
    grad = ops.add(q_grad, ops.matmul(q, mirrored))
    return _adjoint(ops, ops.triangular_solve(r, _adjoint(ops, grad), True, False, False))


def _safe_reciprocal(ops: Ops, x: Value) -> Value:
    """1 / x, and 0 where x is 0."""
    zero = ops.cast(ops.equal(x, ops.full_like(x, 0.0)), x.meta.dtype)
    return ops.divide(ops.subtract(ops.full_like(zero, 1.0), zero), ops.add(x, zero))


def svd_grad(
    ops: Ops,
    x_meta: Meta,
    u: Value,
    s: Value,
    vh: Value,
    u_grad: Value,
    s_grad: Value,
    vh_grad: Value,
    full_matrices: bool,
) -> Value:
    rows, columns = x_meta.shape[-2:]
    if full_matrices and rows != columns:
        raise NotImplementedError(
            f"expected full_matrices=False for the gradient of svd of {rows} x {columns} matrices, received True: "
            "the vectors that complete u or vh are not determined by x"
        )
    inner_u = ops.matmul(conj(ops, u), u_grad, True, False)
    inner_v = ops.matmul(vh, conj(ops, vh_grad), False, True)
    skew_u = ops.subtract(inner_u, _adjoint(ops, inner_u))
    skew_v = ops.subtract(inner_v, _adjoint(ops, inner_v))
    gaps = _as(ops, _inverse_gaps(ops, ops.multiply(s, s)), u)
    values = _as(ops, s, u)
    inverse = _as(ops, _safe_reciprocal(ops, s), u)
    identity = _identity(ops, skew_u)
    core = ops.add(
        ops.multiply(ops.multiply(skew_u, gaps), _row(ops, values)),
        ops.multiply(_column(ops, values), ops.multiply(skew_v, gaps)),
    )
    core = ops.add(core, ops.multiply(identity, _row(ops, _as(ops, s_grad, u))))
    if u.meta.dtype.is_complex:
        # What turns a pair of vectors by a phase.
        phase = ops.multiply(ops.multiply(identity, skew_u), ops.scale(_row(ops, inverse), 0.5))
        core = ops.add(core, phase)
    grad = ops.matmul(ops.matmul(u, core), vh)
    if rows > columns:
        outside = ops.subtract(u_grad, ops.matmul(u, inner_u))
        grad = ops.add(grad, ops.matmul(ops.multiply(outside, _row(ops, inverse)), vh))
    if columns > rows:
        outside = ops.subtract(vh_grad, ops.matmul(ops.matmul(vh_grad, conj(ops, vh), False, True), vh))
        grad = ops.add(grad, ops.matmul(u, ops.multiply(_column(ops, inverse), outside)))
    return grad


def svdvals_grad(ops: Ops, x: Value, s_grad: Value) -> Value:
    u, _, vh = ops.svd(x, False)
    return ops.matmul(ops.multiply(u, _row(ops, _as(ops, s_grad, u))), vh)


def eigh_grad(ops: Ops, out_w: Value, out_v: Value, out_w_grad: Value, out_v_grad: Value) -> Value:
    inner = ops.matmul(conj(ops, out_v), out_v_grad, True, False)
    core = ops.multiply(inner, _as(ops, _inverse_gaps(ops, out_w), inner))
    core = ops.add(core, ops.multiply(_identity(ops, inner), _row(ops, _as(ops, out_w_grad, inner))))
    return ops.matmul(ops.matmul(out_v, core), conj(ops, out_v), False, True)


def eigvalsh_grad(ops: Ops, x: Value, eigenvalues_grad: Value, uplo: str) -> Value:
    vectors = ops.eigh(x, uplo)[1]
    scaled = ops.multiply(vectors, _row(ops, _as(ops, eigenvalues_grad, vectors)))
    return ops.matmul(scaled, conj(ops, vectors), False, True)


def eig_grad(ops: Ops, out_w: Value, out_v: Value, out_w_grad: Value, out_v_grad: Value) -> Value:
    held = ops.conj(out_v)
    inner = ops.matmul(held, out_v_grad, True, False)
    # Vectors keep their length: what would stretch them is taken out.
    stretch = ops.real(ops.sum(ops.multiply(held, out_v_grad), (-2,), None, False))
    gram = ops.matmul(held, out_v, True, False)
    inner = ops.subtract(inner, ops.multiply(gram, _row(ops, _as(ops, stretch, inner))))
    core = ops.multiply(inner, _inverse_gaps(ops, ops.conj(out_w)))
    core = ops.add(core, ops.multiply(_identity(ops, inner), _row(ops, out_w_grad)))
    turned = _adjoint(ops, out_v)
    return ops.solve(turned, ops.matmul(core, turned))


def eigvals_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    vectors = ops.eig(x)[1]
    turned = _adjoint(ops, vectors)
    return ops.solve(turned, ops.multiply(_column(ops, out_grad), turned))


def pinv_grad(ops: Ops, x: Value, out: Value, out_grad: Value, hermitian: bool) -> Value:
    """The formula of Golub and Pereyra, for a rank that does not change."""
    if hermitian:
        # The kernel reads the lower triangle alone.
        x = ops.add(ops.tril(x, 0), _adjoint(ops, ops.tril(x, -1)))
    held = conj(ops, out)
    direct = ops.matmul(ops.matmul(held, out_grad, True, False), held, False, True)
    turned = conj(ops, out_grad)
    # (I - x out) g^H out out^H
    wide = ops.matmul(ops.matmul(turned, out, True, False), held, False, True)
    outside = ops.subtract(wide, ops.matmul(ops.matmul(x, out), wide))
    # out^H out g^H (I - out x)
    tall = ops.matmul(ops.matmul(held, out, True, False), turned, False, True)
    beyond = ops.subtract(tall, ops.matmul(tall, ops.matmul(out, x)))
    grad = ops.add(ops.subtract(outside, direct), beyond)
    return ops.scale(ops.add(grad, _adjoint(ops, grad)), 0.5) if hermitian else grad


def _span(ops: Ops, x: Value, axis: int, start: int, end: int) -> Value:
    return ops.slice(x, (axis % x.meta.ndim,), (start,), (end,))


def lu_grad(ops: Ops, out: Value, pivots: Value, out_grad: Value) -> Value:
    """Of the packed factors; the order of the rows does not move."""
    rows, columns = out.meta.shape[-2:]
    size = min(rows, columns)
    order, low, up = ops.lu_unpack(out, pivots, True, True)
    low_grad = ops.tril(_span(ops, out_grad, -1, 0, size), -1)
    up_grad = ops.triu(_span(ops, out_grad, -2, 0, size), 0)
    low_square, low_square_grad = _span(ops, low, -2, 0, size), _span(ops, low_grad, -2, 0, size)
    up_square, up_square_grad = _span(ops, up, -1, 0, size), _span(ops, up_grad, -1, 0, size)
    below = ops.matmul(conj(ops, low_square), low_square_grad, True, False)
    above = ops.matmul(up_square_grad, conj(ops, up_square), False, True)
    if columns > size:
        up_rest, up_rest_grad = _span(ops, up, -1, size, columns), _span(ops, up_grad, -1, size, columns)
        below = ops.subtract(below, ops.matmul(up_rest_grad, conj(ops, up_rest), False, True))
    if rows > size:
        low_rest, low_rest_grad = _span(ops, low, -2, size, rows), _span(ops, low_grad, -2, size, rows)
        above = ops.subtract(above, ops.matmul(conj(ops, low_rest), low_rest_grad, True, False))
    both = ops.add(ops.tril(below, -1), ops.triu(above, 0))
    grad = _past_up(ops, _past_low(ops, both, low_square), up_square)
    if columns > size:
        grad = ops.concat([grad, _past_low(ops, up_rest_grad, low_square)], -1)
    if rows > size:
        grad = ops.concat([grad, _past_up(ops, low_rest_grad, up_square)], -2)
    return ops.matmul(order, grad)


def _past_low(ops: Ops, x: Value, low: Value) -> Value:
    """low^-H x."""
    return ops.triangular_solve(conj(ops, low), x, False, True, True)


def _past_up(ops: Ops, x: Value, up: Value) -> Value:
    """x up^-H."""
    return _adjoint(ops, ops.triangular_solve(up, _adjoint(ops, x), True, False, False))


def lu_unpack_grad(ops: Ops, x_meta: Meta, l_grad: Value, u_grad: Value, unpack_ludata: bool) -> Value:
    if not unpack_ludata:
        return ops.full(x_meta.shape, 0.0, x_meta.dtype)
    rows, columns = x_meta.shape[-2:]
    size = min(rows, columns)
    low = ops.tril(l_grad, -1)
    up = ops.triu(u_grad, 0)
    lead = (0, 0) * (x_meta.ndim - 2)
    if columns > size:
        low = ops.pad(low, (*lead, 0, 0, 0, columns - size), 0.0)
    if rows > size:
        up = ops.pad(up, (*lead, 0, rows - size, 0, 0), 0.0)
    return ops.add(low, up)

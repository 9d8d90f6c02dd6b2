"""Products, Fourier transforms, sorting and searching against NumPy and SciPy."""

from typing import Any

import numpy as np
import scipy.fft
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import wherry as paddle
from tests.properties.strategies import (
    COMPLEX,
    FLOATS,
    INTS,
    arrays,
    axis_of,
    elements,
    examples,
    layouts,
    precision,
    same,
    tensor,
)


@examples(150)
@given(st.data())
def test_matmul(data: Any) -> None:
    found = data.draw(
        hnp.mutually_broadcastable_shapes(signature="(m,k),(k,n)->(m,n)", min_side=0, max_dims=2, max_side=4)
    )
    dtype = data.draw(st.sampled_from(FLOATS + COMPLEX))
    x, y = (
        data.draw(layouts(data.draw(hnp.arrays(dtype, s, elements=elements(dtype, False))))) for s in found.input_shapes
    )
    expected = np.matmul(x.astype(np.complex128), y.astype(np.complex128))
    expected = expected if dtype in COMPLEX else expected.real
    same(paddle.matmul(tensor(x), tensor(y)), expected, precision(x))
    turned = paddle.matmul(tensor(x.swapaxes(-1, -2)), tensor(y.swapaxes(-1, -2)), True, True)
    same(turned, expected, precision(x))


@examples(80)
@given(st.data())
def test_vectors(data: Any) -> None:
    n, m = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 4))
    x, y = (data.draw(arrays(("float64",), (n,))) for _ in range(2))
    z = data.draw(arrays(("float64",), (m,)))
    a = data.draw(arrays(("float64",), (m, n)))
    same(paddle.dot(tensor(x), tensor(y)), np.dot(x, y), 1e-11)
    same(paddle.outer(tensor(x), tensor(z)), np.outer(x, z), 1e-11)
    same(paddle.mv(tensor(a), tensor(x)), a @ x, 1e-11)
    if n > 1:
        # A tensor of one element multiplies, as in Paddle.
        same(paddle.inner(tensor(a), tensor(x)), np.inner(a, x), 1e-11)
    same(paddle.kron(tensor(a), tensor(x)), np.kron(a, x), 1e-11)
    same(paddle.einsum("i,ji->j", tensor(x), tensor(a)), np.einsum("i,ji->j", x, a), 1e-11)


@examples(80)
@given(st.data())
def test_decompositions_give_back_what_they_were_given(data: Any) -> None:
    batch = data.draw(hnp.array_shapes(min_dims=0, max_dims=1, max_side=3)) if data.draw(st.booleans()) else ()
    n, m = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    a = data.draw(arrays(("float64",), (*batch, n, m)))
    square = data.draw(arrays(("float64",), (*batch, n, n)))
    linalg = paddle.linalg
    u, s, vh = linalg.svd(tensor(a))
    same((u * s.unsqueeze(-2)) @ vh, a, 1e-9)
    q, r = linalg.qr(tensor(a))
    same(q @ r, a, 1e-9)
    symmetric = square + square.swapaxes(-1, -2)
    values, vectors = linalg.eigh(tensor(symmetric))
    same((vectors * values.unsqueeze(-2)) @ vectors.transpose([*range(len(batch)), -1, -2]), symmetric, 1e-9)
    good = square + 40.0 * np.eye(n)
    same(linalg.inv(tensor(good)), np.linalg.inv(good), 1e-9)
    same(linalg.det(tensor(good)), np.linalg.det(good), 1e-9)
    same(linalg.solve(tensor(good), tensor(a)), np.linalg.solve(good, a), 1e-9)


@examples(100)
@given(st.data())
def test_fourier(data: Any) -> None:
    x = data.draw(arrays(FLOATS + COMPLEX, least=1, smallest=1))
    axis, norm = data.draw(axis_of(x)), data.draw(st.sampled_from(["backward", "ortho", "forward"]))
    n = data.draw(st.one_of(st.none(), st.integers(1, 6)))
    for name in ("fft", "ifft"):
        same(
            getattr(paddle.fft, name)(tensor(x), n, axis, norm),
            getattr(scipy.fft, name)(x, n, axis, norm),
            precision(x),
        )
    if x.dtype.kind == "f":
        same(paddle.fft.rfft(tensor(x), n, axis, norm), scipy.fft.rfft(x, n, axis, norm), precision(x))
        same(paddle.fft.fftn(tensor(x), norm=norm), scipy.fft.fftn(x, norm=norm), precision(x))


@examples(120)
@given(st.data())
def test_sorting(data: Any) -> None:
    x = data.draw(arrays(FLOATS + INTS, least=1, smallest=1))
    axis = data.draw(axis_of(x))
    ascending = np.sort(x, axis, kind="stable")
    same(paddle.sort(tensor(x), axis), ascending)
    same(paddle.sort(tensor(x), axis, descending=True), np.flip(ascending, axis))
    same(paddle.argsort(tensor(x), axis, stable=True), np.argsort(x, axis, kind="stable"))
    k = data.draw(st.integers(1, x.shape[axis]))
    values, places = paddle.topk(tensor(x), k, axis)
    same(values, np.take(np.flip(ascending, axis), range(k), axis))
    same(paddle.take_along_axis(tensor(x), places, axis), values.numpy())
    value, _ = paddle.kthvalue(tensor(x), k, axis)
    same(value, np.take(ascending, k - 1, axis))


@examples(100)
@given(st.data())
def test_searching(data: Any) -> None:
    x = data.draw(arrays(FLOATS + INTS))
    flat = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    found = paddle.unique(tensor(x), return_index=True, return_inverse=True, return_counts=True)
    for mine, his in zip(found, flat, strict=True):
        np.testing.assert_array_equal(mine.numpy().ravel(), his.ravel())
    if x.ndim:
        same(paddle.nonzero(tensor(x)), np.argwhere(x))
        same(paddle.masked_select(tensor(x), tensor(x > 0)), x[x > 0])
    edges = np.sort(x.ravel())
    wanted = data.draw(
        hnp.arrays(x.dtype, hnp.array_shapes(max_dims=2, max_side=3), elements=elements(x.dtype.name, False))
    )
    for right in (False, True):
        expected = np.searchsorted(edges, wanted, "right" if right else "left")
        same(paddle.searchsorted(tensor(edges), tensor(wanted), right=right), expected)
    same(paddle.where(tensor(x > 0), tensor(x), tensor(x)), x)

"""paddle.sparse: sparse tensors against the dense arrays they stand for, gradients through the values, refusals."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry import sparse
from wherry.autograd import gradcheck, gradgradcheck

Array = np.ndarray
RNG = np.random.default_rng(11)

INDICES = np.array([[2, 0, 0, 1], [0, 2, 0, 1]])
CROWS, COLS = [0, 2, 3, 5], [1, 3, 2, 0, 1]


def leaf(*shape: int) -> paddle.Tensor:
    return paddle.to_tensor(RNG.standard_normal(shape), dtype="float64", stop_gradient=False)


def coo(values: Any, indices: Any = INDICES, shape: tuple[int, ...] = (3, 3), **options: Any) -> Any:
    return sparse.sparse_coo_tensor(indices, values, list(shape), **options)


def csr(values: Any, shape: tuple[int, ...] = (3, 4)) -> Any:
    return sparse.sparse_csr_tensor(CROWS, COLS, values, list(shape), stop_gradient=False)


def random_coo(*shape: int, density: float = 0.4) -> tuple[Any, Array]:
    """A coalesced tensor and the array that it stands for."""
    dense = np.where(RNG.random(shape) < density, RNG.standard_normal(shape), 0.0)
    return paddle.to_tensor(dense, dtype="float64").to_sparse_coo(len(shape)), dense


def test_what_coordinates_are() -> None:
    x = coo([1.0, 2.0, 3.0, 4.0])
    assert (x.shape, x.dtype, x.ndim, x.size, x.nnz(), len(x)) == ([3, 3], paddle.float32, 2, 9, 4, 3)
    assert (x.is_sparse(), x.is_sparse_coo(), x.is_sparse_csr(), x.is_dense()) == (True, True, False, False)
    assert (x.sparse_dim(), x.dense_dim(), x.stop_gradient, x.is_coalesced()) == (2, 0, True, False)
    assert x.indices().tolist() == INDICES.tolist()
    assert x.values().tolist() == [1.0, 2.0, 3.0, 4.0]
    expected = [[3.0, 0.0, 2.0], [0.0, 4.0, 0.0], [1.0, 0.0, 0.0]]
    assert x.to_dense().tolist() == expected
    np.testing.assert_array_equal(x.numpy(), expected)
    assert sparse.sparse_coo_tensor(INDICES, [1, 2, 3, 4]).shape == [3, 3]
    dense = paddle.ones([2])
    assert (dense.is_sparse(), dense.is_sparse_coo(), dense.is_sparse_csr()) == (False, False, False)
    assert dense.to_dense() is dense


def test_blocks_and_no_elements() -> None:
    x = coo([[1.0, 2.0], [3.0, 4.0]], [[1, 0]], (2, 2))
    assert (x.sparse_dim(), x.dense_dim()) == (1, 1)
    assert x.to_dense().tolist() == [[3.0, 4.0], [1.0, 2.0]]
    none = coo(np.zeros(0), np.zeros((2, 0), np.int64), (2, 2))
    assert none.to_dense().tolist() == [[0.0, 0.0]] * 2
    assert sparse.add(none, none).nnz() == 0
    assert sparse.nn.functional.softmax(none).nnz() == 0
    assert sparse.matmul(none, paddle.ones([2, 3], "float64")).tolist() == [[0.0] * 3] * 2


def test_what_is_stored_twice_adds_up() -> None:
    x = coo([1.0, 2.0, 3.0], [[1, 0, 1], [0, 2, 0]], (2, 3))
    once = sparse.coalesce(x)
    assert (once.indices().tolist(), once.values().tolist()) == ([[0, 1], [2, 0]], [2.0, 4.0])
    assert once.is_coalesced() and once.coalesce() is once
    assert x.to_dense().tolist() == once.to_dense().tolist() == [[0.0, 0.0, 2.0], [4.0, 0.0, 0.0]]
    flags = coo([True, True], [[0, 0]], (2,))
    assert flags.to_dense().tolist() == [True, False]


def test_compressed_rows_and_back() -> None:
    x = csr([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (x.crows().tolist(), x.cols().tolist(), x.nnz(), x.is_sparse_csr()) == (CROWS, COLS, 5, True)
    dense = [[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 3.0, 0.0], [4.0, 5.0, 0.0, 0.0]]
    assert x.to_dense().tolist() == dense
    again = paddle.to_tensor(dense).to_sparse_csr()
    assert (again.crows().tolist(), again.cols().tolist()) == (CROWS, COLS)
    through = x.to_sparse_coo(2).to_sparse_csr()
    assert (through.crows().tolist(), through.cols().tolist()) == (CROWS, COLS)
    assert sparse.sparse_csr_tensor(CROWS, COLS, [1] * 5).shape == [3, 4]


def test_batches_of_compressed_rows() -> None:
    _, dense = random_coo(2, 3, 4)
    dense[1, 2] = 0.0
    x = paddle.to_tensor(dense, dtype="float64").to_sparse_csr()
    assert x.crows().shape == [8]
    np.testing.assert_array_equal(x.to_dense().numpy(), dense)
    np.testing.assert_array_equal(x.to_sparse_coo(3).to_dense().numpy(), dense)


def test_a_sparse_tensor_counts_as_a_tensor_and_is_no_dense_one() -> None:
    x = coo([1.0, 2.0, 3.0, 4.0])
    assert isinstance(x, paddle.Tensor) and isinstance(csr([1.0] * 5), sparse.SparseCsrTensor)
    for call in (paddle.sin, lambda t: paddle.add(t, paddle.ones([3, 3])), lambda t: paddle.ones([3, 3]) + t):
        with pytest.raises(TypeError):
            call(x)
    for t in (x, csr([1.0] * 5).detach()):
        for again in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
            assert type(again) is type(t)
            np.testing.assert_array_equal(again.numpy(), t.numpy())


def test_text() -> None:
    assert repr(coo([1.0, 2.0], [[0, 1], [1, 0]], (2, 2))) == (
        "Tensor(shape=[2, 2], dtype=paddle.float32, place=Place(cpu), stop_gradient=True, \n"
        "       indices=[[0, 1],\n                [1, 0]], \n       values=[1., 2.])"
    )
    assert "crows=[0, 2, 3, 5], \n       cols=[1, 3, 2, 0, 1], \n       values=[1., 2., 3., 4., 5.])" in repr(
        csr([1.0, 2.0, 3.0, 4.0, 5.0])
    )


def test_gradients_arrive_where_the_values_came_from() -> None:
    values = leaf(4)
    coo(values, stop_gradient=False).to_dense().sum().backward()
    assert values.grad.tolist() == [1.0] * 4
    x = coo([1.0, 2.0, 3.0, 4.0])
    x.stop_gradient = False
    sparse.square(x).to_dense().sum().backward()
    assert x.is_leaf and x.grad.is_sparse_coo()
    assert (x.grad.values().tolist(), x.grad.indices().tolist()) == ([2.0, 4.0, 6.0, 8.0], INDICES.tolist())
    x.clear_grad()
    assert x.grad.values().tolist() == [0.0] * 4
    assert x.detach().stop_gradient and not x.clone().stop_gradient
    # The default stops gradients, and leaves the caller's tensor as it is.
    assert coo(values).stop_gradient and not values.stop_gradient


UNARY = {
    "abs": np.abs, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh, "expm1": np.expm1,
    "log1p": np.log1p, "neg": np.negative, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "square": np.square, "tan": np.tan,
    "tanh": np.tanh, "deg2rad": np.deg2rad, "rad2deg": np.rad2deg, "isnan": np.isnan,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_the_values(name: str) -> None:
    values = np.array([0.5, 0.25, 0.125, 0.75])
    out = getattr(sparse, name)(coo(values))
    np.testing.assert_allclose(out.values().numpy(), UNARY[name](values), rtol=1e-12)
    assert out.indices().tolist() == INDICES.tolist()
    assert getattr(sparse, name)(csr([0.5] * 5)).is_sparse_csr()


def test_powers_activations_and_dtypes() -> None:
    x = coo([1.0, -2.0, 3.0, 8.0])
    assert sparse.pow(x, 2).values().tolist() == [1.0, 4.0, 9.0, 64.0]
    F = sparse.nn.functional
    for function, layer, expected in (
        (F.relu, sparse.nn.ReLU(), [1.0, 0.0, 3.0, 8.0]),
        (F.relu6, sparse.nn.ReLU6(), [1.0, 0.0, 3.0, 6.0]),
        (lambda t: F.leaky_relu(t, 0.5), sparse.nn.LeakyReLU(0.5), [1.0, -1.0, 3.0, 8.0]),
    ):
        assert function(x).values().tolist() == layer(x).values().tolist() == expected
    both = sparse.cast(x, "int32", "float64")
    assert (both.indices().dtype, both.dtype) == (paddle.int32, paddle.float64)
    rows = sparse.cast(csr([1.0] * 5), "int32")
    assert (rows.crows().dtype, rows.cols().dtype, rows.dtype) == (paddle.int32, paddle.int32, paddle.float32)
    assert sparse.deg2rad(coo([180, 0, 0, 0])).dtype is paddle.float32


@pytest.mark.parametrize("rows", [False, True])
def test_two_tensors(rows: bool) -> None:
    (x, a), (y, b) = random_coo(4, 5), random_coo(4, 5)
    if rows:
        x, y = x.to_sparse_csr(), y.to_sparse_csr()
    for name, expected in (("add", a + b), ("subtract", a - b), ("multiply", a * b)):
        out = getattr(sparse, name)(x, y)
        np.testing.assert_allclose(out.to_dense().numpy(), expected, rtol=1e-14)
        assert type(out) is type(x) and out.nnz() == ((a != 0) | (b != 0)).sum()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(sparse.divide(x, y).to_dense().numpy(), a / b)
    np.testing.assert_array_equal(sparse.multiply(x, 2).to_dense().numpy(), a * 2)
    np.testing.assert_array_equal(sparse.divide(x, 2).to_dense().numpy(), a / 2)
    assert sparse.is_same_shape(x, y) and x.is_same_shape(paddle.ones([4, 5])) and not paddle.ones([4]).is_same_shape(x)


def test_unsorted_blocks_add() -> None:
    x = coo([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[1, 0, 1]], (3, 2))
    y = coo([[10.0, 20.0]], [[2]], (3, 2))
    out = sparse.add(x, y)
    assert (out.indices().tolist(), out.values().tolist()) == ([[0, 1, 2]], [[3.0, 4.0], [6.0, 8.0], [10.0, 20.0]])
    assert sparse.divide(coo([1], [[0]], (2,)), coo([2], [[0]], (2,))).values().tolist()[0] == 0.5


def test_other_shapes() -> None:
    x, dense = random_coo(2, 3, 4)
    for perm in ([2, 0, 1], [0, 2, 1], [-1, 1, 0]):
        np.testing.assert_array_equal(sparse.transpose(x, perm).to_dense().numpy(), dense.transpose(perm))
    for shape in ([6, 4], [-1], [0, 2, 6], [4, 1, 3, 2]):
        out = sparse.reshape(x, shape).to_dense()
        np.testing.assert_array_equal(out.numpy(), dense.reshape(out.shape))
    rows = x.to_sparse_csr()
    assert sparse.transpose(rows, [0, 2, 1]).is_sparse_csr()
    np.testing.assert_array_equal(sparse.transpose(rows, [0, 2, 1]).to_dense().numpy(), dense.swapaxes(1, 2))
    np.testing.assert_array_equal(sparse.reshape(rows, [6, 4]).to_dense().numpy(), dense.reshape(6, 4))
    np.testing.assert_array_equal(sparse.slice(x, [0, 2], [1, -3], [9, -1]).to_dense().numpy(), dense[1:9, :, -3:-1])
    np.testing.assert_array_equal(sparse.slice(rows, [1], [1], [3]).to_dense().numpy(), dense[:, 1:3])


def test_shapes_of_blocks() -> None:
    values = RNG.standard_normal((2, 2, 3))
    x = coo(values, [[1, 0]], (2, 2, 3))
    dense = x.to_dense().numpy()
    np.testing.assert_array_equal(sparse.transpose(x, [0, 2, 1]).to_dense().numpy(), dense.transpose(0, 2, 1))
    np.testing.assert_array_equal(sparse.reshape(x, [1, 2, 2, 3]).to_dense().numpy(), dense[None])
    np.testing.assert_array_equal(sparse.slice(x, [1, 2], [1, 0], [2, 2]).to_dense().numpy(), dense[:, 1:2, :2])
    np.testing.assert_allclose(sparse.sum(x, 2).to_dense().numpy(), dense.sum(2), rtol=1e-14)
    np.testing.assert_allclose(sparse.sum(x, [0, 2], keepdim=True).to_dense().numpy(), dense.sum((0, 2), keepdims=True))
    np.testing.assert_allclose(sparse.sum(x, 0).to_dense().numpy(), dense.sum(0)[None], rtol=1e-14)


def test_sums() -> None:
    x, dense = random_coo(3, 4, 5)
    for axis in (0, 1, -1, [0, 2], [1, 2]):
        for keepdim in (False, True):
            key = tuple(axis) if isinstance(axis, list) else axis
            out = sparse.sum(x, axis, keepdim=keepdim)
            np.testing.assert_allclose(out.to_dense().numpy(), dense.sum(key, keepdims=keepdim), rtol=1e-12)
    np.testing.assert_allclose(sparse.sum(x).to_dense().numpy(), [dense.sum()], rtol=1e-12)
    assert sparse.sum(x, keepdim=True).shape == [1, 1, 1]
    rows = csr([1.0, 2.0, 3.0, 4.0, 5.0])
    assert sparse.sum(rows).to_dense().tolist() == [[15.0]]
    assert sparse.sum(rows, -1).to_dense().tolist() == [[3.0], [3.0], [9.0]]
    assert sparse.sum(coo(paddle.to_tensor([1, 2, 3, 4], dtype="int32"))).dtype is paddle.int64
    assert sparse.sum(coo([1.0] * 4), 0, "float64").dtype is paddle.float64


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_products(batch: tuple[int, ...], rows: bool) -> None:
    (x, a), (y, b) = random_coo(*batch, 4, 5), random_coo(*batch, 5, 3)
    if rows:
        x, y = x.to_sparse_csr(), y.to_sparse_csr()
    dense = RNG.standard_normal((*batch, 5, 3))
    right, bias = paddle.to_tensor(dense, dtype="float64"), paddle.ones([*batch, 4, 3], "float64")
    np.testing.assert_allclose(sparse.matmul(x, right).numpy(), a @ dense, rtol=1e-12, atol=1e-14)
    product = sparse.matmul(x, y)
    assert type(product) is type(x)
    np.testing.assert_allclose(product.to_dense().numpy(), a @ b, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(sparse.addmm(bias, x, right, 3.0, 2.0).numpy(), 2 * (a @ dense) + 3, rtol=1e-12)
    total = sparse.addmm(product, x, y, 3.0, 2.0).to_dense()
    np.testing.assert_allclose(total.numpy(), 5 * (a @ b), rtol=1e-12, atol=1e-14)
    left = RNG.standard_normal((*batch, 4, 2))
    across = RNG.standard_normal((*batch, 2, 5))
    kept = sparse.masked_matmul(paddle.to_tensor(left, dtype="float64"), paddle.to_tensor(across, dtype="float64"), x)
    np.testing.assert_allclose(kept.to_dense().numpy(), np.where(a != 0, left @ across, 0.0), rtol=1e-12, atol=1e-14)
    if not batch:
        vector = RNG.standard_normal(5)
        np.testing.assert_allclose(
            sparse.mv(x, paddle.to_tensor(vector, dtype="float64")).numpy(), a @ vector, rtol=1e-12, atol=1e-14
        )


def test_elements_at_the_positions_of_a_mask() -> None:
    x = paddle.arange(9, dtype="float32").reshape([3, 3])
    assert sparse.mask_as(x, coo([1.0] * 4)).values().tolist() == [6.0, 2.0, 0.0, 4.0]
    rows = sparse.mask_as(paddle.arange(12, dtype="float32").reshape([3, 4]), csr([1.0] * 5))
    assert (rows.is_sparse_csr(), rows.values().tolist()) == (True, [1.0, 3.0, 6.0, 8.0, 9.0])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_among_what_is_stored(axis: int) -> None:
    x, dense = random_coo(3, 4, 5)
    powers = np.where(dense != 0, np.exp(dense), 0.0)
    with np.errstate(invalid="ignore"):
        expected = np.nan_to_num(powers / powers.sum(axis, keepdims=True))
    np.testing.assert_allclose(sparse.nn.functional.softmax(x, axis).to_dense().numpy(), expected, rtol=1e-12)
    if axis == -1:
        out = sparse.nn.Softmax()(x.to_sparse_csr())
        np.testing.assert_allclose(out.to_dense().numpy(), expected, rtol=1e-12)
    large = sparse.nn.functional.softmax(coo([1000.0, 999.0, 1000.0, -1000.0]))
    np.testing.assert_allclose(large.to_dense().numpy()[0], [1 / (1 + np.exp(-1)), 0, 1 / (1 + np.exp(1))], rtol=1e-6)


def test_attention() -> None:
    batch, heads, length, width = 2, 2, 4, 3
    q, k, v = (RNG.standard_normal((batch, heads, length, width)) for _ in range(3))
    stored = RNG.random((batch * heads, length, length)) < 0.7
    stored[:, 0] = True
    padding, hiding = np.array([[1.0, 1, 1, 0], [1, 0, 1, 1]]), np.tri(length)
    hiding[2] = 0.0
    tensors = [paddle.to_tensor(t, dtype="float64") for t in (q, k, v)]
    mask = paddle.to_tensor(stored.astype("float64")).to_sparse_csr()
    masks = [paddle.to_tensor(m, dtype="float64") for m in (padding, hiding)]
    shown = stored.reshape(batch, heads, length, length)

    def expected(seen: Array) -> Array:
        powers = np.where(seen, np.exp(q @ k.swapaxes(2, 3) / np.sqrt(width)), 0.0)
        total = powers.sum(-1, keepdims=True)
        return np.divide(powers, total, out=np.zeros_like(powers), where=total != 0) @ v

    attention = sparse.nn.functional.attention
    np.testing.assert_allclose(attention(*tensors, mask).numpy(), expected(shown), rtol=1e-12, atol=1e-14)
    seen = shown & (padding != 0)[:, None, None, :] & (hiding != 0)
    np.testing.assert_allclose(attention(*tensors, mask, *masks).numpy(), expected(seen), rtol=1e-12, atol=1e-14)


def through(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the values of two coordinate tensors, dense at the end."""

    def of_values(a: Any, b: Any) -> Any:
        x = coo(a, stop_gradient=False)
        y = coo(b, [[0, 1, 2], [0, 1, 2]], stop_gradient=False)
        out = function(x, y)
        return out.to_dense()

    return of_values


DIFFERENTIATED: dict[str, Callable[..., Any]] = {
    "add": sparse.add,
    "subtract": sparse.subtract,
    "multiply": sparse.multiply,
    "matmul": sparse.matmul,
    "dense product": lambda x, y: sparse.matmul(x, y.to_dense()),
    "mv": lambda x, y: sparse.mv(x, y.values()),
    "masked_matmul": lambda x, y: sparse.masked_matmul(x.to_dense(), y.to_dense(), x),
    "addmm": lambda x, y: sparse.addmm(x, x, y, 2.0, 3.0),
    "softmax": lambda x, y: sparse.nn.functional.softmax(sparse.add(x, y), 0),
    "softmax of rows": lambda x, y: sparse.nn.functional.softmax(sparse.add(x, y).to_sparse_csr()),
    "sum": lambda x, y: sparse.sum(sparse.multiply(x, x), 1),
    "shapes": lambda x, y: sparse.slice(sparse.transpose(sparse.reshape(x, [1, 9]), [1, 0]), [0], [1], [8]),
    "coalesce": lambda x, y: sparse.coalesce(sparse.sin(x)).to_sparse_csr(),
    "mask_as": lambda x, y: sparse.mask_as(sparse.add(x, y).to_dense(), x),
    "dense and back": lambda x, y: x.to_dense().to_sparse_coo(1),
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients_to_second_order(name: str) -> None:
    function = through(DIFFERENTIATED[name])
    inputs = [leaf(4), leaf(3)]
    assert gradcheck(function, inputs, edges=False)
    assert gradgradcheck(function, inputs, edges=False)


def test_gradients_of_attention() -> None:
    mask = paddle.to_tensor(np.tri(3)[None]).to_sparse_csr()
    assert gradcheck(lambda q, k, v: sparse.nn.functional.attention(q, k, v, mask), [leaf(1, 1, 3, 2) for _ in "qkv"])


X = coo([1.0] * 4)
ROWS = csr([1.0] * 5)
DENSE = paddle.ones([3, 3])
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "rank": (lambda: coo([1.0], [0]), ValueError, "indices of 2 dimensions"),
    "floating": (lambda: coo([1.0], [[0.5]]), TypeError, "indices of int8, int16, int32 or int64, received float32"),
    "sparse values": (lambda: coo(X), TypeError, "expected dense values, received a SparseCooTensor"),
    "count": (lambda: coo([1.0], [[0, 1]]), ValueError, r"values for 2 indices, received shape \[1\]"),
    "dimensions": (lambda: coo([1.0], [[0]]), ValueError, "a shape of 1 dimensions for indices"),
    "outside": (lambda: coo([1.0], [[0], [3]]), IndexError, r"indices of axis 1 in \[0, 3\), received 3"),
    "negative": (lambda: coo([1.0], [[-1], [0]]), IndexError, "received -1"),
    "no shape": (lambda: sparse.sparse_coo_tensor(np.zeros((1, 0), int), []), ValueError, "expected shape"),
    "crows": (
        lambda: sparse.sparse_csr_tensor([0, 2, 1], [0, 1], [1.0, 2.0], [2, 2]), ValueError, "crows that begin with 0",
    ),
    "length of crows": (
        lambda: sparse.sparse_csr_tensor([0, 2], [0, 1], [1.0, 2.0], [2, 2]), ValueError, "crows of 3 elements",
    ),
    "column": (
        lambda: sparse.sparse_csr_tensor([0, 1], [2], [1.0], [1, 2]), IndexError, r"cols in \[0, 2\), received 2",
    ),
    "values": (lambda: sparse.sparse_csr_tensor([0, 1], [1], [[1.0]], [1, 2]), ValueError, "one value for each of 1 cols"),
    "dense": (lambda: sparse.sin(DENSE), TypeError, "sparse.sin: expected x to be a sparse tensor, received Tensor"),
    "kinds": (lambda: sparse.add(X, X.to_sparse_csr()), TypeError, "x and y of one kind"),
    "shapes": (lambda: sparse.add(X, coo([1.0], [[0], [0]], (2, 3))), ValueError, "x and y of one shape"),
    "coalesce": (lambda: sparse.coalesce(ROWS), TypeError, "expected a SparseCooTensor"),
    "perm": (lambda: sparse.transpose(X, [0, 0]), ValueError, "an order of 2 dimensions"),
    "mixed perm": (
        lambda: sparse.transpose(coo([[1.0]], [[0]], (1, 1)), [1, 0]), ValueError, "the 1 sparse dimensions to stay first",
    ),
    "elements": (lambda: sparse.reshape(X, [2, 2]), ValueError, "a shape of 9 elements"),
    "dense dimensions": (
        lambda: sparse.reshape(coo([[1.0, 2.0]], [[0]], (2, 2)), [4]), ValueError, r"ends in the dense dimensions \[2\]",
    ),
    "axis of rows": (lambda: sparse.sum(ROWS, 0), NotImplementedError, "'axis' of compressed rows"),
    "softmax of columns": (
        lambda: sparse.nn.functional.softmax(ROWS, 0), NotImplementedError, "'axis' of compressed rows",
    ),
    "lists": (lambda: sparse.slice(X, [0], [0, 1], [2]), ValueError, "of one length"),
    "product": (lambda: sparse.matmul(X, paddle.ones([2, 2])), ValueError, r"received \[3, 3\] and \[2, 2\]"),
    "kinds of factors": (lambda: sparse.matmul(X, X.to_sparse_csr()), TypeError, "x and y of one kind"),
    "vector": (lambda: sparse.mv(X, DENSE), ValueError, r"vec \[n\], received \[3, 3\] and \[3, 3\]"),
    "mask": (lambda: sparse.mask_as(DENSE, ROWS), ValueError, "x and mask of one shape"),
    "masked product": (lambda: sparse.masked_matmul(DENSE, DENSE, ROWS), ValueError, r"mask of shape \[3, 3\]"),
    "input": (lambda: sparse.addmm(X, X, DENSE), ValueError, r"a dense input of shape \[3, 3\], received SparseCooTensor"),
    "attention": (
        lambda: sparse.nn.functional.attention(DENSE, DENSE, DENSE, X), TypeError, "expected sparse_mask to be a SparseCsrTensor",
    ),
    "index dtype": (lambda: sparse.cast(X, "float32"), TypeError, "an integer index_dtype"),
    "sparse_dim": (lambda: DENSE.to_sparse_coo(3), ValueError, r"sparse_dim in \[1, 2\], received 3"),
    "blocks as rows": (lambda: DENSE.to_sparse_coo(1).to_sparse_csr(), ValueError, "no dense one"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()

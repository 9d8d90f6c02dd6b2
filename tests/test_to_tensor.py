"""to_tensor and the creation functions: dtypes, shapes, copies, refusals."""

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wherry as paddle


@pytest.fixture(autouse=True)
def _default_dtype() -> Iterator[None]:
    yield
    paddle.set_default_dtype("float32")


# Data, and the dtype and shape Paddle 3.3.1 gives it.
MADE: list[tuple[Any, str, list[int]]] = [
    (1, "int64", []),
    (1.5, "float32", []),
    (True, "bool", []),
    (1 + 2j, "complex64", []),
    ([1, 2.5], "float32", [2]),
    ([True, 2], "int64", [2]),
    ([1, 2 + 1j], "complex64", [2]),
    ([[1, 2], [3, 4]], "int64", [2, 2]),
    ((1, 2), "int64", [2]),
    ([], "float32", [0]),
    ([[], []], "float32", [2, 0]),
    (np.float64(1.5), "float64", []),
    (np.float32(1.5), "float32", []),
    (np.int32(5), "int32", []),
    (np.bool_(True), "bool", []),
    (np.array([1.0, 2.0]), "float64", [2]),
    (np.array([1, 2], "float16"), "float16", [2]),
    ([np.array([1.0, 2.0]), np.array([3.0, 4.0])], "float32", [2, 2]),
    ([np.float64(1.5), 2.0], "float32", [2]),
    ([np.int32(1), np.int32(2)], "int64", [2]),
    (np.array([1, 2], np.uint16), "bfloat16", [2]),
    (np.array([1, 2], ml_dtypes.bfloat16), "bfloat16", [2]),
    (np.array([1.5], ">f4"), "float32", [1]),
    (2**40, "int64", []),
    ([2**62], "int64", [1]),
]


@pytest.mark.parametrize("case", range(len(MADE)))
def test_dtype_and_shape_follow_the_data(case: int) -> None:
    data, dtype, shape = MADE[case]
    x = paddle.to_tensor(data)
    assert x.dtype.name == dtype
    assert x.shape == shape
    assert x.stop_gradient


def test_tensors_among_the_data() -> None:
    one, two = paddle.to_tensor(1.0), paddle.to_tensor(2.0)
    assert paddle.to_tensor([one, two]).tolist() == [1.0, 2.0]
    assert paddle.to_tensor([[one, two], [3.0, 4.0]]).dtype == paddle.float32
    assert paddle.to_tensor([1.0, paddle.to_tensor(2.0, "float64")]).dtype == paddle.float64
    assert paddle.to_tensor([paddle.to_tensor(1), 2.5]).dtype == paddle.float64
    assert paddle.to_tensor([paddle.to_tensor([1, 2]), [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert paddle.to_tensor([paddle.ones([1], "bfloat16"), [2.0]]).dtype == paddle.bfloat16


def test_data_is_copied() -> None:
    array = np.zeros(3, "float32")
    x = paddle.to_tensor(array)
    y = paddle.to_tensor(x)
    array[0] = 1.0
    x[1] = 2.0
    assert x.tolist() == [0.0, 2.0, 0.0]
    assert y.tolist() == [0.0, 0.0, 0.0]


def test_arguments() -> None:
    assert not paddle.to_tensor([1.0], stop_gradient=False).stop_gradient
    assert paddle.to_tensor(paddle.to_tensor([1.0], stop_gradient=False)).stop_gradient
    assert paddle.to_tensor(1.7, "int32").item() == 1
    assert paddle.to_tensor(300, dtype="uint8").item() == 44
    assert paddle.to_tensor([1 + 1j], dtype="float32").tolist() == [1.0]
    assert paddle.to_tensor([1], place="cpu").item() == 1
    assert paddle.to_tensor(np.arange(4.0).reshape(2, 2).T).is_contiguous()


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ("abc", TypeError),
        (None, TypeError),
        ({1, 2}, TypeError),
        (["a"], TypeError),
        (np.array(["a"]), TypeError),
        (np.array([1], np.uint32), TypeError),
        (2**70, TypeError),
        ([1, [2]], ValueError),
        ([[1, 2], [3]], ValueError),
    ],
)
def test_data_that_is_no_tensor(data: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="expected"):
        paddle.to_tensor(data)


def test_arguments_that_are_refused() -> None:
    with pytest.raises(TypeError, match="data type"):
        paddle.to_tensor(1, dtype="foo")
    with pytest.raises(NotImplementedError, match="place"):
        paddle.to_tensor(1, place="gpu:0")
    for call in (
        lambda: paddle.zeros([2], device="gpu"),
        lambda: paddle.ones([2], pin_memory=True),
    ):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(ValueError, match="sizes >= 0"):
        paddle.zeros([2, -1])
    with pytest.raises(TypeError, match="shape"):
        paddle.zeros([2.5])


def test_the_default_dtype() -> None:
    assert paddle.get_default_dtype() == "float32"
    paddle.set_default_dtype("float64")
    made = (
        paddle.to_tensor(1.5),
        paddle.zeros([1]),
        paddle.full([1], 1),
        paddle.arange(0, 1, 0.5),
        paddle.linspace(0, 1, 2),
        paddle.randn([1]),
        paddle.eye(1),
        paddle.fft.fftfreq(3),
    )
    assert [x.dtype.name for x in made] == ["float64"] * len(made)
    assert paddle.to_tensor(1 + 1j).dtype == paddle.complex128
    paddle.set_default_dtype(np.float16)
    assert paddle.get_default_dtype() == "float16"
    with pytest.raises(TypeError, match="int32"):
        paddle.set_default_dtype("int32")


def test_shapes_in_every_form() -> None:
    two = paddle.to_tensor(2)
    for shape in ([2, 3], (2, 3), paddle.to_tensor([2, 3]), [two, 3], np.array([2, 3]), [np.int64(2), 3]):
        assert paddle.zeros(shape).shape == [2, 3]
    assert paddle.zeros(3).shape == [3]
    assert paddle.zeros([]).shape == []


def test_full() -> None:
    assert paddle.full([2], True).dtype == paddle.bool
    assert paddle.full([2], 1).dtype == paddle.float32
    assert paddle.full([2], 1 + 1j).dtype == paddle.complex128
    assert paddle.full([2], paddle.to_tensor(3)).tolist() == [3.0, 3.0]
    assert paddle.full([1], "2.5").item() == 2.5
    assert paddle.full([1], 1 + 2j, "float32").item() == 1.0
    assert paddle.full([1], 300, "int8").item() == 44
    assert paddle.full_like(paddle.to_tensor([1, 2]), 2.7).tolist() == [2, 2]
    assert not paddle.zeros([1], requires_grad=True).stop_gradient
    out = paddle.ones([2])
    assert paddle.zeros([2], out=out) is out
    assert out.tolist() == [0.0, 0.0]


def test_ranges() -> None:
    assert paddle.arange(5).dtype == paddle.int64
    assert paddle.arange(5.0).dtype == paddle.float32
    assert paddle.arange(end=3).tolist() == [0, 1, 2]
    assert paddle.arange(paddle.to_tensor(1), 6, paddle.to_tensor(2)).tolist() == [1, 3, 5]
    assert paddle.arange(0, 5, 1.5, dtype="int32").tolist() == [0, 1, 2, 3, 4]
    # Every element is rounded once: a running sum in float32 would be off by thousands here.
    x = paddle.arange(0.0, 1e6, 0.1)
    assert abs(float(x[-1]) - 999999.9) < 0.1
    for step in (0, 0.5):
        with pytest.raises(ValueError, match="step"):
            paddle.arange(0, 5, step, dtype="int64")
    with pytest.raises(ValueError, match="finite"):
        paddle.arange(0, float("inf"))
    with pytest.raises(ValueError, match="num"):
        paddle.linspace(0, 1, -1)
    with pytest.raises(TypeError, match="num_rows"):
        paddle.eye(2.0)


def test_assign() -> None:
    assert paddle.assign([1.0, 2]).dtype == paddle.float64
    assert paddle.assign(3).shape == [1]
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    paddle.assign(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0]
    out = paddle.zeros([2])
    assert paddle.assign(np.array([5.0, 6.0], "float32"), out) is out
    assert out.tolist() == [5.0, 6.0]
    with pytest.raises(TypeError, match="expected"):
        paddle.assign("a")


def test_diagonals_and_triangles() -> None:
    assert paddle.diagflat(paddle.to_tensor([[1, 2]]), 1).tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    assert paddle.triu_indices(2).tolist() == [[0, 0, 1], [0, 1, 1]]
    x = paddle.ones([2, 2])
    assert x.tril_() is x
    assert x.tolist() == [[1.0, 0.0], [1.0, 1.0]]
    with pytest.raises(ValueError, match="2 dimensions"):
        paddle.tril(paddle.ones([2]))
    with pytest.raises(ValueError, match="1 or 2"):
        paddle.diag(paddle.ones([1, 1, 1]))


def test_conversions() -> None:
    array = np.zeros(2, "float32")
    shared = paddle.from_numpy(array)
    shared.add_(paddle.ones([2]))
    assert array.tolist() == [1.0, 1.0]
    assert paddle.asarray(array, copy=True).data_ptr() != shared.data_ptr()
    assert paddle.asarray(array, dtype="int32").dtype == paddle.int32
    with pytest.raises(ValueError, match="copy"):
        paddle.asarray([1, 2], copy=False)
    assert paddle.is_tensor(shared)
    assert not paddle.is_tensor(array)
    assert paddle.tolist(paddle.to_tensor([[1, 2]])) == [[1, 2]]
    assert paddle.view_as_complex(paddle.to_tensor([[1.0, 2.0]])).tolist() == [1 + 2j]
    assert not paddle.as_tensor([1.0], requires_grad=True).stop_gradient


def test_tensors_like_another() -> None:
    x = paddle.to_tensor([1, 2])
    assert x.new_zeros([2, 3]).dtype == paddle.int64
    assert x.new_ones(2, 3).tolist() == [[1, 1, 1], [1, 1, 1]]
    assert x.new_full([2], 3.7).tolist() == [3, 3]
    assert x.new_empty([4], dtype="float32").shape == [4]


def test_choices_and_products() -> None:
    x = paddle.to_tensor([1, 2, 3])
    assert paddle.combinations(x).tolist() == [[1, 2], [1, 3], [2, 3]]
    assert paddle.combinations(x, 2, True).shape == [6, 2]
    assert paddle.combinations(x, 4).shape == [0, 4]
    assert paddle.cartesian_prod([x[:2], x[1:]]).tolist() == [[1, 2], [1, 3], [2, 2], [2, 3]]
    y = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    paddle.combinations(y).sum().backward()
    assert y.grad.tolist() == [2.0, 2.0, 2.0]


def test_what_dtypes_hold() -> None:
    info = paddle.finfo("bfloat16")
    assert (info.bits, info.eps, info.resolution, info.dtype) == (16, 2.0**-7, 0.01, "bfloat16")
    assert paddle.finfo(paddle.complex128).max == np.finfo("float64").max
    assert paddle.iinfo("uint8").max == 255
    for call in (lambda: paddle.finfo("int32"), lambda: paddle.iinfo("float32")):
        with pytest.raises(TypeError, match="expected"):
            call()


def test_an_array_is_a_copy_and_refuses_to_be_none() -> None:
    t = paddle.to_tensor([1.0])
    with pytest.raises(ValueError) as caught:
        t.__array__(copy=False)
    assert str(caught.value) == "__array__: expected copy=True or None, received False; a Tensor's values are copied"
    np.asarray(t)[0] = 5.0
    assert t.item() == 1.0


@pytest.mark.parametrize("number", [1 / 3, 1e-300, 1e300, 3.7, 2**53 + 1, 1 / 3 + 1e-300j])
def test_numbers_keep_their_digits_in_the_dtype_asked_for(number: complex) -> None:
    for data in (number, [number], [[number], [1]], (number, 0)):
        wide = paddle.to_tensor(data, dtype="complex128")
        assert wide.flatten()[0].item() == complex(number)
    if not isinstance(number, complex):
        assert paddle.to_tensor([number], dtype="float64").item() == float(number)
        assert paddle.to_tensor([number], dtype="bool").item() is True

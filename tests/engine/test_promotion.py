"""Type promotion: tensors with tensors, 0-D tensors, and Python numbers."""

import itertools

import numpy as np
import pytest

import wherry as paddle

FLOATING = ["float16", "bfloat16", "float32", "float64"]
WHOLE = ["uint8", "int8", "int16", "int32", "int64"]
RANK = {"float16": 1, "bfloat16": 1, "float32": 2, "float64": 3}
# What a number of a kind lifts a tensor of another kind to; the tensor's own dtype where the pair is missing.
LIFTS = {("bool", int): "int64", ("bool", float): "float32", ("int", float): "float32"}


def full(dtype: str, shape: tuple[int, ...] = (2,)) -> paddle.Tensor:
    return paddle.ones(shape, dtype="float32").astype(dtype)


def name(tensor: paddle.Tensor) -> str:
    return tensor.dtype.name


def wider(a: str, b: str) -> str:
    if a == b:
        return a
    return "float32" if RANK[a] == RANK[b] else max(a, b, key=RANK.__getitem__)


@pytest.mark.parametrize(("a", "b"), list(itertools.product(FLOATING, FLOATING)))
def test_floating_tensors_meet_in_the_wider(a: str, b: str) -> None:
    for function in (paddle.add, paddle.multiply, paddle.maximum, paddle.divide):
        assert name(function(full(a), full(b))) == wider(a, b)


@pytest.mark.parametrize("real", ["int32", "float32", "float64"])
@pytest.mark.parametrize("complex_", ["complex64", "complex128"])
def test_a_complex_tensor_wins(real: str, complex_: str) -> None:
    expected = "complex128" if real == "float64" or complex_ == "complex128" else "complex64"
    assert name(full(real) + full(complex_)) == expected
    assert name(full(complex_) * full(real)) == expected


@pytest.mark.parametrize("whole", ["bool", *WHOLE])
@pytest.mark.parametrize("floating", FLOATING)
def test_whole_and_floating_tensors_are_refused_by_both_names(whole: str, floating: str) -> None:
    for a, b in ((whole, floating), (floating, whole)):
        with pytest.raises(TypeError) as refused:
            full(a) + full(b)
        assert all(word in str(refused.value) for word in ("add", whole, floating, "astype"))


def test_whole_tensors_of_different_width_are_refused() -> None:
    with pytest.raises(TypeError, match=r"int32.*int64"):
        full("int32") * full("int64")


@pytest.mark.parametrize(
    ("number", "tensor", "expected"),
    [
        ("float64", "float32", "float32"),
        ("int64", "float32", "float32"),
        ("int64", "int32", "int32"),
        ("float64", "int64", "float64"),
        ("int32", "bool", "int32"),
        ("complex128", "complex64", "complex64"),
        ("complex64", "float64", "complex128"),
    ],
)
def test_a_0d_tensor_lifts_the_kind_only(number: str, tensor: str, expected: str) -> None:
    assert name(full(number, ()) + full(tensor)) == expected
    assert name(full(tensor) * full(number, ())) == expected


@pytest.mark.parametrize("dtype", ["bool", *WHOLE, *FLOATING, "complex64", "complex128"])
def test_numbers(dtype: str) -> None:
    kind = "int" if dtype in WHOLE else dtype
    tensor = full(dtype)
    for number in (2, 2.5):
        expected = LIFTS.get((kind, type(number)), dtype)
        assert name(tensor + number) == expected
        assert name(number * tensor) == expected
        np.testing.assert_array_equal((tensor + number).astype("complex128").numpy(), [1 + number] * 2)
    double = dtype in ("float64", "complex128")
    assert name(tensor * 2j) == ("complex128" if double else "complex64")
    if not dtype.startswith("complex"):
        assert (tensor < 2.5).numpy().tolist() == [True, True]
        assert (tensor > 0.5).numpy().tolist() == [True, True], "a bound must not be cut to the tensor's dtype"


def test_division_of_whole_numbers_is_true_division() -> None:
    n = paddle.to_tensor([7, -7], dtype="int64")
    assert name(n / n) == "float32" and name(n / 2) == "float32"
    np.testing.assert_array_equal((n / 2).numpy(), [3.5, -3.5])
    assert (n // 2).numpy().tolist() == [3, -4] and (n % 2).numpy().tolist() == [1, 1]
    assert name(n // 2) == "int64"


def test_gradients_come_back_in_each_inputs_own_dtype() -> None:
    x = full("float32")
    z = full("complex128")
    d = full("float64")
    for tensor in (x, z, d):
        tensor.stop_gradient = False
    ((x * d) * z * 3j).abs().sum().backward()
    assert [name(t.grad) for t in (x, d, z)] == ["float32", "float64", "complex128"]
    np.testing.assert_allclose(x.grad.numpy(), [3.0, 3.0])


def test_in_place_never_changes_the_dtype() -> None:
    x = full("float32")
    x.add_(full("float64"))
    assert name(x) == "float32" and x.numpy().tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match=r"add.*int64.*float32"):
        full("int64").add_(full("float32"))


def test_what_is_no_number_is_refused() -> None:
    for other in (None, "2", {}):
        with pytest.raises(TypeError):
            full("float32") + other
        with pytest.raises(TypeError):
            other - full("float32")

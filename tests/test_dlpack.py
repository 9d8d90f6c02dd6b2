"""Tensors to and from other libraries without a copy."""

from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.utils.dlpack import from_dlpack, to_dlpack


class _Owner:
    """An object that gives out a capsule of the plain protocol."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"],
)
def test_every_dtype_goes_through(dtype: str) -> None:
    x = paddle.ones([2, 3], dtype)
    y = from_dlpack(to_dlpack(x))
    assert y.dtype == x.dtype
    assert y.tolist() == x.tolist()
    assert np.shares_memory(np.from_dlpack(x), np.from_dlpack(y))


def test_writes_are_seen_on_both_sides() -> None:
    x = paddle.zeros([3])
    y = from_dlpack(to_dlpack(x))
    y.add_(paddle.ones([3]))
    assert x.tolist() == [1.0, 1.0, 1.0]
    array = np.zeros(3)
    t = from_dlpack(array)
    t.add_(paddle.ones([3], "float64"))
    assert array.tolist() == [1.0, 1.0, 1.0]
    assert t.stop_gradient


def test_strided_memory() -> None:
    array = np.arange(12.0).reshape(3, 4)
    assert from_dlpack(array.T[::-1]).tolist() == array.T[::-1].tolist()
    assert np.from_dlpack(paddle.to_tensor(array).transpose([1, 0])).tolist() == array.T.tolist()
    assert from_dlpack(np.zeros((0, 3))).shape == [0, 3]


def test_memory_that_must_not_be_written_is_copied() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    t = from_dlpack(array)
    t.add_(paddle.ones([3], "float64"))
    assert t.tolist() == [1.0, 1.0, 1.0]
    assert array.tolist() == [0.0, 0.0, 0.0]
    wide = paddle.expand(paddle.ones([1]), [3])
    other = from_dlpack(to_dlpack(wide))
    other.add_(paddle.ones([3]))
    assert other.tolist() == [2.0, 2.0, 2.0]
    assert wide.tolist() == [1.0, 1.0, 1.0]


def test_a_copy_on_request() -> None:
    array = np.zeros(3)
    t = from_dlpack(_Owner(array), copy=True)
    t.add_(paddle.ones([3], "float64"))
    assert array.tolist() == [0.0, 0.0, 0.0]
    x = paddle.zeros([2])
    assert from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert from_dlpack(x).data_ptr() == x.data_ptr()


def test_memory_outlives_its_first_owner() -> None:
    t = from_dlpack(to_dlpack(paddle.full([1000], 7.0)))
    assert float(t.sum()) == 7000.0


def test_uint16_arrays_are_bfloat16_bits() -> None:
    assert from_dlpack(np.array([0x3F80], np.uint16)).dtype == paddle.bfloat16


def test_what_cannot_go_is_refused() -> None:
    capsule = to_dlpack(paddle.ones([2]))
    from_dlpack(capsule)
    with pytest.raises(ValueError, match="unused DLPack capsule"):
        from_dlpack(capsule)
    with pytest.raises(TypeError, match="capsule"):
        from_dlpack(3)
    with pytest.raises(TypeError, match="Tensor"):
        to_dlpack(3)  # type: ignore[arg-type]
    with pytest.raises(BufferError, match="float32"):
        to_dlpack(paddle.ones([2], "bfloat16"))
    x = paddle.ones([2])
    x.stop_gradient = False
    with pytest.raises(BufferError, match="detach"):
        np.from_dlpack(x)
    assert np.from_dlpack(x.detach()).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="stream"):
        x.detach().__dlpack__(stream=1)
    with pytest.raises(NotImplementedError, match="device"):
        from_dlpack(np.zeros(2), device="gpu")

"""Tensors to and from other libraries without a copy, by the DLPack protocol. Source: paddle.utils.dlpack."""

from typing import Any

import numpy as np

from wherry.core import dtype as dt
from wherry.tensor.tensor import Tensor, tensor_from_array

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(x: Tensor) -> Any:
    """A DLPack capsule over the tensor's memory, which stays shared: writes on either side are seen on the other.

    Backward does not notice what others write: such writes do not count in inplace_version.
    Raises TypeError for anything but a Tensor, BufferError for bfloat16. Source: paddle.utils.dlpack.to_dlpack.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"expected a Tensor, received {type(x).__name__}")
    return _capsule(x)


def from_dlpack(dlpack: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of a DLPack capsule (which can be used once) or of an object that has `__dlpack__`.

    The memory stays shared, unless `copy` is true or its owner says that it must not be written: then it is copied.
    Raises TypeError for other objects, ValueError for a used capsule, BufferError for memory that is not the CPU's,
    NotImplementedError for another `device`.
    Source: paddle.utils.dlpack.from_dlpack.
    """
    if device is not None and not str(device).startswith(("cpu", "Place(cpu")):
        raise NotImplementedError(f"expected device None or 'cpu', received {device!r}: it has no backend")
    if isinstance(dlpack, Tensor):
        array = dlpack.impl.array
        made = tensor_from_array(np.array(array), True) if copy else dlpack.detach()
        return made  # type: ignore[no-any-return]
    is_capsule = type(dlpack).__name__ == "PyCapsule"
    if not is_capsule and not hasattr(dlpack, "__dlpack__"):
        raise TypeError(f"expected a DLPack capsule or an object with __dlpack__, received {type(dlpack).__name__}")
    source = _CapsuleOwner(dlpack) if is_capsule else dlpack
    try:
        array = np.from_dlpack(source)
    except (ValueError, RuntimeError) as error:
        if is_capsule:
            raise ValueError(f"expected an unused DLPack capsule, received one that cannot be read ({error})") from None
        raise
    if array.dtype == np.uint16:
        array = array.view(dt.bfloat16.numpy)
    if copy or (not array.flags.writeable and not is_capsule):
        array = np.array(array)
    elif not array.flags.writeable:
        # A plain capsule cannot say read-only, so NumPy assumes it; its memory is meant to be shared.
        array = np.asarray(_Writable(array)).view(array.dtype)
    return tensor_from_array(array, True)  # type: ignore[no-any-return]


def tensor_dlpack(x: Tensor, stream: Any = None, **options: Any) -> Any:
    """What `Tensor.__dlpack__` returns; raises BufferError for a tensor that requires gradients, ValueError for a
    stream.
    """
    if not x.stop_gradient:
        raise BufferError(
            "expected a tensor that needs no gradient, received one with stop_gradient=False; export x.detach() instead"
        )
    if stream is not None:
        raise ValueError(f"expected stream None for a tensor on the CPU, received {stream!r}")
    return _capsule(x, **options)


def _capsule(x: Tensor, **options: Any) -> Any:
    array = x.impl.array
    if x.dtype is dt.bfloat16:
        raise BufferError("expected a dtype that NumPy can export, received bfloat16; convert with x.astype('float32')")
    if not array.flags.writeable and options.get("max_version") is None:
        # The plain protocol cannot say that memory is read-only (an expanded tensor's is), so a copy goes out.
        array = np.array(array)
    return array.__dlpack__(**{k: v for k, v in options.items() if v is not None})


class _CapsuleOwner:
    """Gives a capsule the interface that NumPy imports from."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class _Writable:
    """The memory of a read-only array, offered for writing; holds the array."""

    def __init__(self, array: Any) -> None:
        self.array = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface

"""`Tensor`: the class users hold. Operations are attached as methods from the op entries and the api modules."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from wherry.autograd import hooks as _hooks
from wherry.autograd.autograd_meta import AutogradMeta
from wherry.autograd.history import (
    REGISTRY,
    detach_in_place,
    grad_node_of,
    is_leaf,
    new_tensor,
    requires_grad,
    set_tensor_class,
    state_of,
)
from wherry.autograd.inplace import note_write, share_data, write_value
from wherry.autograd.operators import NativeTensor
from wherry.autograd.run import backward
from wherry.autograd.structures import TensorBase
from wherry.core import dtype as dt
from wherry.core.default_dtype import get_default
from wherry.core.dense_tensor import DenseTensor, dense_from_array
from wherry.core.dtype import DataType
from wherry.core.place import CPU_PLACE, Place
from wherry.core.size import Size
from wherry.core.state import observers
from wherry.tensor import indexing

_ENGINE_FIELDS = frozenset(("impl", "_grad_node", "_position", "_stop_gradient", "_state", "_view"))


class _Names:
    """Numbers the tensors whose name is asked for."""

    def __init__(self) -> None:
        self.next = 0

    def take(self) -> str:
        """The next generated name."""
        name = f"eager_tmp_{self.next}"
        self.next += 1
        return name


_NAMES = _Names()


if TYPE_CHECKING:
    # The methods that are attached at import, as editors and type checkers see them.
    from wherry._generated.tensor_methods import TensorMethods as _TensorBase
else:
    _TensorBase = NativeTensor


class Tensor(_TensorBase):
    """A multi-dimensional array that operations on it can be differentiated through.

    Make one with `to_tensor`, a creation function, or `Tensor(data)`, which copies an array and shares the memory of a Tensor.
    `stop_gradient` is True at first: set it to False to get gradients.
    Source: paddle.Tensor.
    """

    # Slots rather than the ordinary inline dictionary, as that would be allocated with every tensor.
    __slots__ = () if NativeTensor.__dictoffset__ else ("__dict__", "__weakref__")
    __array_ufunc__ = None

    def __init__(self, data: Any = None, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> None:
        if data is None:
            array = np.zeros((0,), get_default().numpy)
        elif isinstance(data, TensorBase):
            impl = data.impl
            if dtype is None or dt.convert_dtype(dtype) is impl.meta.dtype:
                self.impl = impl.alias(impl.array, impl.meta)
                self._stop_gradient = bool(stop_gradient)
                return
            array = impl.array
        else:
            array = np.array(data)
            if not isinstance(data, np.ndarray) and array.dtype.kind in "iuf":
                array = array.astype(get_default().numpy)
        if dtype is not None:
            array = array.astype(dt.convert_dtype(dtype).numpy)
        self.impl = dense_from_array(array)
        self._stop_gradient = bool(stop_gradient)

    # What it is.

    @property
    def shape(self) -> Size:
        """The dimensions, as a list."""
        return Size(self.impl.meta.shape)

    @property
    def meta(self) -> Any:
        """Shape, dtype and layout in one."""
        return self.impl.meta

    @property
    def dtype(self) -> DataType:
        """The element type."""
        return self.impl.meta.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.impl.meta.ndim

    def dim(self) -> int:
        """The number of dimensions."""
        return self.impl.meta.ndim

    ndimension = dim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.impl.meta.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.impl.meta.dtype.itemsize

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.impl.meta.dtype.itemsize

    @property
    def place(self) -> Place:
        """Where the memory is."""
        return CPU_PLACE

    @property
    def layout(self) -> str:
        """The layout's name."""
        return self.impl.meta.layout

    @property
    def strides(self) -> list[int]:
        """Steps along each axis, in elements."""
        return [s // self.itemsize for s in self.impl.array.strides]

    def get_strides(self) -> list[int]:
        """Steps along each axis, in elements."""
        return self.strides

    def is_contiguous(self) -> bool:
        """Whether the elements lie in memory in row-major order without gaps."""
        return bool(self.impl.array.flags.c_contiguous)

    def contiguous(self) -> Any:
        """The tensor itself where it is contiguous, else a contiguous copy (recorded)."""
        return self if self.is_contiguous() else REGISTRY.recorded_ops.assign(self)

    @property
    def offset(self) -> int:
        """Bytes from the start of the storage."""
        array, base = self.impl.array, self.impl.array
        while isinstance(base.base, np.ndarray):
            base = base.base
        return int(array.__array_interface__["data"][0] - base.__array_interface__["data"][0])

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self.impl.array.__array_interface__["data"][0])

    @property
    def name(self) -> str:
        """A name, generated when first asked for."""
        state = state_of(self)
        if state.name is None:
            state.name = _NAMES.take()
        return state.name

    @name.setter
    def name(self, value: str) -> None:
        state_of(self).name = value

    @property
    def persistable(self) -> bool:
        """Whether the tensor outlives a step (parameters and buffers)."""
        return self._state is not None and self._state.persistable

    @persistable.setter
    def persistable(self, value: bool) -> None:
        state_of(self).persistable = bool(value)

    def is_dense(self) -> bool:
        """True: sparse tensors are another class."""
        return True

    def is_sparse(self) -> bool:
        """False."""
        return False

    def is_dist(self) -> bool:
        """False."""
        return False

    def is_floating_point(self) -> bool:
        """Whether the dtype is floating."""
        return self.dtype.is_floating

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self.dtype.is_complex

    def is_integer(self) -> bool:
        """Whether the dtype is an integer."""
        return self.dtype.is_integer

    @property
    def T(self) -> Any:
        """The axes in reverse order (a view)."""
        return REGISTRY.recorded_ops.transpose(self, tuple(range(self.impl.meta.ndim))[::-1])

    @property
    def mT(self) -> Any:
        """The last two axes swapped (a view). Raises ValueError for fewer than two."""
        ndim = self.impl.meta.ndim
        if ndim < 2:
            raise ValueError(f"mT: expected a tensor of at least two dimensions, received {ndim}")
        return REGISTRY.recorded_ops.transpose(self, (*range(ndim - 2), ndim - 1, ndim - 2))

    # Autograd.

    @property
    def stop_gradient(self) -> bool:
        """True where no gradient is wanted."""
        return not requires_grad(self)

    @stop_gradient.setter
    def stop_gradient(self, value: bool) -> None:
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"stop_gradient: expected a bool, received {type(value).__name__}")
        self._stop_gradient = bool(value)
        for observer in observers():
            observer.stop_gradient_set(self, self._stop_gradient)

    @property
    def requires_grad(self) -> bool:
        """The opposite of stop_gradient."""
        return requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.stop_gradient = not value

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Set requires_grad; returns the tensor."""
        self.stop_gradient = not requires_grad
        return self

    @property
    def grad(self) -> Any:
        """The gradient that backward added up, or None. What is assigned is copied, without its history."""
        return None if self._state is None else self._state.grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None and not isinstance(value, TensorBase):
            raise TypeError(f"grad: expected a Tensor or None, received {type(value).__name__}")
        if value is not None and value.impl.meta.shape != self.impl.meta.shape:
            raise ValueError(
                f"grad: expected a gradient of the tensor's shape {list(self.impl.meta.shape)}, received {list(value.impl.meta.shape)}"
            )
        state_of(self).grad = (
            None if value is None else new_tensor(DenseTensor(np.array(value.impl.array), value.impl.meta))
        )
        if value is None:
            for observer in observers():
                observer.gradient_cleared(self)

    def gradient(self) -> np.ndarray | None:
        """The gradient as a NumPy array, or None."""
        return None if self.grad is None else np.array(self.grad.impl.array)

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Set the gradient to zeros, or drop it with set_to_zero=False."""
        grad = self.grad
        for observer in observers():
            observer.gradient_cleared(self)
        if grad is None:
            return
        if set_to_zero and grad._grad_node is None:
            write_value(grad, np.zeros((), grad.impl.array.dtype), "clear_gradient")
        elif set_to_zero:
            state_of(self).grad = new_tensor(dense_from_array(np.zeros_like(grad.impl.array)))
        else:
            state_of(self).grad = None

    clear_grad = clear_gradient

    def _zero_grads(self) -> None:
        self.clear_gradient(True)

    @property
    def is_leaf(self) -> bool:
        """True where no recorded operation made the tensor."""
        return is_leaf(self)

    @property
    def grad_fn(self) -> Any:
        """The node that the tensor's gradient goes to, or None."""
        return grad_node_of(self)

    grad_node = grad_fn

    @property
    def autograd_meta(self) -> AutogradMeta:
        """Everything that autograd keeps about the tensor."""
        return AutogradMeta(self)

    def backward(
        self, grad_tensor: Any = None, retain_graph: bool = False, *, dump_backward_graph_path: str | None = None
    ) -> None:
        """Add the gradients of this tensor to `.grad` of the leaves it was made from.

        grad_tensor: the gradient to start from (same shape and dtype), ones by default. retain_graph: keep what was saved. Raises
        ValueError for a wrong shape or dtype, RuntimeError where the graph was freed or a saved tensor changed in place.
        Source: paddle.Tensor.backward.
        """
        backward(
            [self],
            None if grad_tensor is None else [grad_tensor],
            retain_graph,
            dump_backward_graph_path=dump_backward_graph_path,
        )

    def register_hook(self, hook: Callable[[Any], Any]) -> _hooks.TensorHookRemoveHelper:
        """Call `hook` with the tensor's gradient in every backward; see wherry.autograd.hooks.register_hook."""
        return _hooks.register_hook(self, hook)

    def _register_grad_hook(self, hook: Callable[[Any], Any]) -> int:
        return _hooks.register_hook(self, hook)._identifier

    def _remove_grad_hook(self, identifier: int) -> bool:
        node = grad_node_of(self)
        return node is not None and node.remove_hook(identifier)

    def _register_backward_hook(self, hook: Callable[[], Any]) -> int:
        return _hooks.register_reduce_hook(self, hook)

    def retain_grads(self) -> None:
        """Keep the gradient of an intermediate tensor in `.grad`."""
        _hooks.retain_grads(self)

    def detach(self) -> Any:
        """A tensor over the same memory, without history, with stop_gradient=True; a write to either is seen by both."""
        impl = self.impl
        other = new_tensor(impl.alias(impl.array, impl.meta))
        if self._state is not None and self._state.name is not None:
            state_of(other).name = self._state.name
        for observer in observers():
            observer.detached(self, other)
        return other

    def detach_(self) -> "Tensor":
        """Forget the history; returns the tensor. Its views follow it from the next change of their memory on."""
        detach_in_place(self)
        return self

    @property
    def data(self) -> Any:
        """The same memory without history. A Tensor that is assigned shares its memory with this one from then on.

        Raises TypeError for anything else, ValueError where the tensor has a history that another shape or dtype does not fit.
        """
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, TensorBase):
            raise TypeError(f"data: expected a Tensor, received {type(value).__name__}; use set_value for an array")
        share_data(self, value)

    @property
    def inplace_version(self) -> int:
        """How often the memory was written."""
        return self.impl.inplace_version

    def _inplace_version(self) -> int:
        return self.impl.inplace_version

    def _bump_inplace_version(self) -> None:
        note_write(self, "_bump_inplace_version")

    def _reset_grad_inplace_version(self, set_to_zero: bool = False) -> None:
        # Backward no longer notices earlier writes to `.grad`.
        if set_to_zero and self.grad is not None:
            self.grad.impl.ensure_storage().inplace_version = 0

    def _is_shared_buffer_with(self, other: Any) -> bool:
        storage = self.impl.storage
        same = storage is not None and storage is other.impl.storage
        return same or bool(np.may_share_memory(self.impl.array, other.impl.array))

    # Values out and in.

    def numpy(self) -> np.ndarray:
        """A copy as a NumPy array."""
        for observer in observers():
            observer.numpy_taken(self)
        return np.array(self.impl.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            # A shared array could be written to unseen by the version check.
            raise ValueError("__array__: expected copy=True or None, received False; a Tensor's values are copied")
        return np.array(self.impl.array, dtype)

    def item(self, *args: int) -> Any:
        """The element as a Python number; with indices (or one flat index) that element. Raises ValueError without, for more than one."""
        array = self.impl.array
        if not args and array.size != 1:
            raise ValueError(
                f"item: only one element tensors can be converted to Python scalars, received shape {list(array.shape)}; give an index"
            )
        return _python_number(array.item(*args) if args else array.reshape(-1)[0])

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        array = self.impl.array
        return (array.astype(np.float32) if self.dtype is dt.bfloat16 else array).tolist()

    def set_value(self, value: Any) -> None:
        """Overwrite the values (not recorded). Raises ValueError for another shape, TypeError for another dtype."""
        array = value.impl.array if isinstance(value, TensorBase) else np.asarray(value)
        if tuple(array.shape) != self.impl.meta.shape:
            raise ValueError(
                f"set_value: expected a value of shape {list(self.impl.meta.shape)}, received {list(array.shape)}"
            )
        if array.dtype != self.dtype.numpy:
            if isinstance(value, (np.ndarray, TensorBase)):
                raise TypeError(
                    f"set_value: expected a value of dtype {self.dtype.name}, received {dt.from_numpy(array.dtype).name}"
                )
            array = array.astype(self.dtype.numpy)
        write_value(self, array, "set_value")

    def copy_(self, other: Any, blocking: bool = True) -> "Tensor":
        """Overwrite the values with another tensor's (not recorded), cast to this dtype; the shape must broadcast."""
        array = other.impl.array if isinstance(other, TensorBase) else np.asarray(other)
        write_value(self, array.astype(self.dtype.numpy), "copy_")
        return self

    def value(self) -> "Tensor":
        """The tensor itself."""
        return self

    def get_tensor(self) -> "Tensor":
        """The tensor itself."""
        return self

    # Places.

    def cpu(self) -> Any:
        """The tensor itself: it is on the CPU."""
        return self

    def cuda(self, device_id: int | None = None, blocking: bool = True) -> Any:
        """Raises NotImplementedError: there is no GPU backend."""
        raise NotImplementedError("cuda: no GPU backend is registered; tensors live on the CPU")

    def pin_memory(self) -> Any:
        """Raises NotImplementedError: there is no GPU backend."""
        raise NotImplementedError("pin_memory: no GPU backend is registered")

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor in another dtype: `to(dtype)`, `to("cpu")`, `to(other)`, `to("cpu", dtype)`. Other devices are refused."""
        dtype = kwargs.pop("dtype", None)
        device = kwargs.pop("device", None)
        kwargs.pop("blocking", None)
        if kwargs:
            raise TypeError(f"to: unexpected arguments {sorted(kwargs)}")
        for arg in args:
            if isinstance(arg, TensorBase):
                dtype = arg.impl.meta.dtype
            elif isinstance(arg, Place) or (
                isinstance(arg, str) and arg.split(":")[0] in ("cpu", "gpu", "xpu", "cuda")
            ):
                device = arg
            elif arg is not None and not isinstance(arg, bool):
                dtype = arg
        if device is not None and not (device == CPU_PLACE or str(device).startswith("cpu")):
            raise NotImplementedError(
                f"to: no backend for the device {device!r} is registered; tensors live on the CPU"
            )
        return self if dtype is None else REGISTRY.recorded_ops.cast(self, dt.convert_dtype(dtype))

    # Python's protocols.

    def __len__(self) -> int:
        if self.impl.meta.ndim == 0:
            raise TypeError("len(): expected a tensor of at least one dimension, received a 0-D tensor")
        return self.impl.meta.shape[0]

    def _one(self, kind: str) -> Any:
        if self.impl.meta.size != 1:
            raise ValueError(
                f"{kind}(): expected a tensor of one element, received shape {list(self.impl.meta.shape)}; "
                "use .any(), .all(), .item(i) or .numpy()"
            )
        return _python_number(self.impl.array.reshape(-1)[0])

    def __bool__(self) -> bool:
        return bool(self._one("bool"))

    # Python 2's names, which Paddle's tensors have too.
    __nonzero__ = __bool__
    __div__ = NativeTensor.__truediv__
    __rdiv__ = NativeTensor.__rtruediv__

    def __float__(self) -> float:
        return float(self._one("float"))

    def __int__(self) -> int:
        return int(self._one("int"))

    def __complex__(self) -> complex:
        return complex(self._one("complex"))

    def __index__(self) -> int:
        if not (self.dtype.is_integer or self.dtype.is_bool):
            raise TypeError(f"index: expected an integer tensor, received {self.dtype.name}")
        return int(self._one("index"))

    def __iter__(self) -> Iterator[Any]:
        if self.impl.meta.ndim == 0:
            raise TypeError("iteration over a 0-D tensor: expected at least one dimension")
        return (self[i] for i in range(self.impl.meta.shape[0]))

    def __contains__(self, value: Any) -> bool:
        array = value.impl.array if isinstance(value, TensorBase) else value
        return bool(np.any(self.impl.array == array))

    def __getitem__(self, key: Any) -> Any:
        return indexing.getitem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        indexing.setitem(self, key, value)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self.impl.meta.size == 1 else format(str(self), spec)

    def __repr__(self) -> str:
        from wherry.tensor.printing import format_tensor

        meta = self.impl.meta
        return format_tensor(self.impl.array, meta.dtype.name, list(meta.shape), str(self.place), self.stop_gradient)

    __str__ = __repr__

    def __copy__(self) -> Any:
        return self._copied(DenseTensor(np.array(self.impl.array), self.impl.meta))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        other = self._copied(DenseTensor(np.array(self.impl.array), self.impl.meta))
        memo[id(self)] = other
        return other

    def _user_attributes(self) -> dict[str, Any]:
        # Interpreted, the engine's own fields are in the dictionary too.
        return {k: v for k, v in self.__dict__.items() if k not in _ENGINE_FIELDS}

    def _copied(self, impl: DenseTensor) -> Any:
        # A copy is a leaf: a copied history would send gradients to the original's leaves.
        other = type(self).__new__(type(self))
        other.impl = impl
        other._stop_gradient = self.stop_gradient
        other.__dict__.update(self._user_attributes())
        if self._state is not None:
            state_of(other).persistable = self._state.persistable
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), np.array(self.impl.array), self.stop_gradient, self._user_attributes())

    def __dlpack__(self, **kwargs: Any) -> Any:
        from wherry.utils.dlpack import tensor_dlpack

        return tensor_dlpack(self, **kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def _python_number(value: Any) -> Any:
    if not isinstance(value, np.generic):
        return value
    # bfloat16 has no Python number of its own.
    return float(value) if value.dtype.kind == "V" else value.item()


def _rebuild(kind: Any, array: np.ndarray, stop_gradient: bool, attributes: dict[str, Any]) -> Any:
    tensor = kind.__new__(kind)
    tensor.impl = dense_from_array(array)
    tensor._stop_gradient = stop_gradient
    tensor.__dict__.update(attributes)
    return tensor


def tensor_from_array(array: np.ndarray, stop_gradient: bool = True) -> Any:
    """A Tensor over this very array (not a copy)."""
    tensor = new_tensor(dense_from_array(array))
    tensor._stop_gradient = stop_gradient
    return tensor


set_tensor_class(Tensor)

"""Layer 4, the operation library: key -> select -> PrepareData -> InferMeta -> allocate -> kernel. Nothing is recorded here.

`run` is the whole way; `run1` and `run2` are the same for one and two plain tensors. `raw`, `raw1` and `raw2` are what derivative rules call.
The phases stand in this order in each: InferMeta (which refuses bad input) comes before anything is allocated or written.
"""

import sys
import threading
from typing import Any, Final

import numpy as np

from wherry.core import dtype as dt
from wherry.core.dense_tensor import DenseTensor, meta_of
from wherry.core.dtype import NUM_CODES, DataType
from wherry.core.meta import Meta
from wherry.core.state import STATE, observers
from wherry.dispatch import op_def as od
from wherry.dispatch import select
from wherry.dispatch.bind import bind
from wherry.dispatch.kernel_factory import FACTORY, Kernel
from wherry.dispatch.op_def import OpDef
from wherry.infermeta.common import broadcast_shapes

_ndarray: Final[Any] = np.ndarray
_asarray: Final[Any] = np.asarray
_copyto: Final[Any] = np.copyto
_ascontiguous: Final[Any] = np.ascontiguousarray


def kernel_of(op: OpDef, dtype_code: int) -> Any:
    """The one kernel that serves this dtype, or the list of candidates where predicates must be asked."""
    if op.kernel_generation != FACTORY.generation:
        op.kernel_cache = [None] * NUM_CODES
        op.kernel_generation = FACTORY.generation
    found = op.kernel_cache[dtype_code]
    if found is None:
        kernels = select.candidates(op, select.preferred_key(dtype_code))
        found = kernels[0] if kernels[0].predicate is None else kernels
        op.kernel_cache[dtype_code] = found
    return found


def infer(op: OpDef, metas: tuple[Any, ...], attrs: tuple[Any, ...]) -> Any:
    """InferMeta alone: the meta of the output, or a tuple of them; works without data."""
    if not op.bound:
        bind(op)
    arguments: Any = metas + attrs
    if op.infer_order:
        arguments = [arguments[i] for i in op.infer_order]
    return op.infer(*arguments)


def call1(function: Any, x: Any, attrs: tuple[Any, ...]) -> Any:
    """function(x, *attrs), without building an argument list for the usual lengths."""
    count = len(attrs)
    if count == 0:
        return function(x)
    if count == 1:
        return function(x, attrs[0])
    if count == 2:
        return function(x, attrs[0], attrs[1])
    if count == 3:
        return function(x, attrs[0], attrs[1], attrs[2])
    return function(x, *attrs)


def call2(function: Any, x: Any, y: Any, attrs: tuple[Any, ...]) -> Any:
    """function(x, y, *attrs), likewise."""
    count = len(attrs)
    if count == 0:
        return function(x, y)
    if count == 1:
        return function(x, y, attrs[0])
    if count == 2:
        return function(x, y, attrs[0], attrs[1])
    if count == 3:
        return function(x, y, attrs[0], attrs[1], attrs[2])
    return function(x, y, *attrs)


def run1(op: OpDef, x: DenseTensor, attrs: tuple[Any, ...]) -> DenseTensor:
    """An operation of one plain tensor and one output (op.fast); attributes are canonical."""
    meta = x.meta
    kernel = kernel_of(op, meta.dtype.code)
    if op.infer_kind != od.INFER_UNCHANGED:
        meta = call1(op.infer, meta, attrs)
    if not isinstance(kernel, Kernel) or kernel.contiguous:
        return run(op, [x], attrs)  # type: ignore[no-any-return]
    STATE.in_kernel = True
    array = call1(kernel.function, x.array, attrs)
    STATE.in_kernel = False
    if type(array) is not _ndarray:
        array = _asarray(array)
    if op.is_view or -1 in meta.shape:
        return wrap_array(array, meta, x if op.is_view else None)
    return DenseTensor(array, meta)


def run2(op: OpDef, x: DenseTensor, y: DenseTensor, attrs: tuple[Any, ...]) -> DenseTensor:
    """An operation of two plain tensors and one output (op.fast); attributes are canonical."""
    meta = x.meta
    kernel = kernel_of(op, meta.dtype.code)
    if op.infer_kind == od.INFER_ELEMENTWISE:
        other = y.meta
        if meta is not other and meta.shape != other.shape:
            meta = meta.with_shape(broadcast_shapes(meta.shape, other.shape))
    elif op.infer_kind != od.INFER_UNCHANGED:
        meta = call2(op.infer, meta, y.meta, attrs)
    if not isinstance(kernel, Kernel) or kernel.contiguous:
        return run(op, [x, y], attrs)  # type: ignore[no-any-return]
    STATE.in_kernel = True
    array = call2(kernel.function, x.array, y.array, attrs)
    STATE.in_kernel = False
    if type(array) is not _ndarray:
        array = _asarray(array)
    if op.is_view or -1 in meta.shape:
        return wrap_array(array, meta, x if op.is_view else None)
    return DenseTensor(array, meta)


def raw1(op: OpDef, x: Any) -> Any:
    """Run an operation of one tensor without attributes."""
    if not op.bound:
        bind(op)
    if op.fast and STATE.observers == 0 and isinstance(x, DenseTensor):
        return run1(op, x, ())
    return run(op, dense_inputs(op, (x,)), ())


def raw2(op: OpDef, x: Any, y: Any) -> Any:
    """Run an operation of two tensors without attributes. A Python number takes the other's dtype."""
    if not op.bound:
        bind(op)
    if op.fast and STATE.observers == 0 and isinstance(x, DenseTensor) and isinstance(y, DenseTensor):
        return run2(op, x, y, ())
    return run(op, dense_inputs(op, (x, y)), ())


def raw(op: OpDef, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> Any:
    """Run any operation on DenseTensors; returns a DenseTensor, a list for a Tensor[] output, or a tuple of outputs."""
    if not op.bound:
        bind(op)
    attrs = plain_attributes(op, attrs)
    if op.fast and STATE.observers == 0:
        x = inputs[0]
        if isinstance(x, DenseTensor):
            if len(inputs) == 1:
                return run1(op, x, attrs)
            y = inputs[1]
            if isinstance(y, DenseTensor):
                return run2(op, x, y, attrs)
    return run(op, dense_inputs(op, inputs), attrs)


def run(op: OpDef, values: list[Any], attrs: tuple[Any, ...]) -> Any:
    """The whole way of layer 4, for a bound operation and canonical attributes."""
    # Kernel key: the dtype that the entry's data_type names, else the first tensor's.
    code = key_dtype(op, values, attrs)
    found = kernel_of(op, code)
    watching = observers()
    # PrepareData: casts only where the entry allows them; contiguity only where the kernel asks for it.
    if op.support_trans_dtype:
        given = values
        values = transformed(op, values, code)
        for observer in watching:
            observer.data_prepared(op, given, values)
    # InferMeta.
    metas = [metas_of(v) for v in values]
    arguments: list[Any] = metas + list(attrs)
    if op.infer_order:
        arguments = [arguments[i] for i in op.infer_order]
    out_metas = op.infer(*arguments)
    for observer in watching:
        observer.meta_inferred(op, out_metas)
    # Kernel.
    arrays: list[Any] = [arrays_of(v) for v in values] + list(attrs)
    if op.kernel_order:
        arrays = [arrays[i] for i in op.kernel_order]
    kernel = found if isinstance(found, Kernel) else select.choose(found, arrays)
    for observer in watching:
        observer.kernel_selected(op, code, kernel)
    if kernel.contiguous:
        arrays = [_ascontiguous(a) if type(a) is _ndarray else a for a in arrays]
    STATE.in_kernel = True
    result = kernel.function(*arrays)
    STATE.in_kernel = False
    for observer in watching:
        observer.kernel_finished(op, result)
    return wrapped(op, result, out_metas, values)


def plain_attributes(op: OpDef, attrs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Attributes as kernels take them: a dtype's name becomes the dtype, a list a tuple. Missing ones get the defaults."""
    if len(attrs) < len(op.attrs):
        attrs = attrs + op.attr_defaults[len(attrs) :]
    for value in attrs:
        if type(value) is list or type(value) is str:
            return tuple([_plain_attribute(k, v) for k, v in zip(op.attr_codes, attrs)])
    return attrs


def _plain_attribute(kind: int, value: Any) -> Any:
    if type(value) is list:
        return tuple(value)
    if kind == od.DATA_TYPE and type(value) is str:
        return dt.convert_dtype(value)
    return value


def dense_inputs(op: OpDef, inputs: tuple[Any, ...]) -> list[Any]:
    """The inputs as DenseTensors, None or lists; a Python number becomes a 0-D tensor of the other input's dtype."""
    values: list[Any] = []
    for value in inputs:
        if value is None or isinstance(value, DenseTensor):
            values.append(value)
        elif isinstance(value, (list, tuple)):
            values.append(list(value))
        elif isinstance(value, (bool, int, float, complex)):
            values.append(_number(op, value, inputs))
        else:
            raise TypeError(f"{op.name}: expected a DenseTensor, received {type(value).__name__}")
    for _ in range(len(op.inputs) - len(values)):
        values.append(None)
    return values


def _number(op: OpDef, value: Any, inputs: tuple[Any, ...]) -> DenseTensor:
    dtype = dt.float32
    for other in inputs:
        if isinstance(other, DenseTensor) and not other.meta.dtype.is_bool:
            dtype = other.meta.dtype
    if isinstance(value, complex) and not dtype.is_complex:
        dtype = dt.complex128 if dtype is dt.float64 else dt.complex64
    array = _asarray(value, dtype.numpy)
    return DenseTensor(array, Meta((), dtype))


def key_dtype(op: OpDef, values: list[Any], attrs: tuple[Any, ...]) -> int:
    """The dtype code of the kernel key."""
    count = len(op.inputs)
    for source in op.key_source:
        value = values[source] if source < count else attrs[source - count]
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, DenseTensor):
            return value.meta.dtype.code
        if isinstance(value, DataType):
            return value.code
    for value in values:
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, DenseTensor):
            return value.meta.dtype.code
    for value in attrs:
        if isinstance(value, DataType):
            return value.code
    return dt.float32.code


def transformed(op: OpDef, values: list[Any], code: int) -> list[Any]:
    """Cast the inputs that the entry's data_transform names to the kernel's dtype."""
    target = next((d for d in dt.ALL if d.code == code), None)
    if target is None:
        return values
    changed = list(values)
    for name in op.support_trans_dtype:
        i = op.inputs.index(name)
        value = changed[i]
        if isinstance(value, DenseTensor) and value.meta.dtype is not target:
            changed[i] = DenseTensor(value.array.astype(target.numpy), value.meta.with_dtype(target))
    return changed


def metas_of(value: Any) -> Any:
    """The meta of a DenseTensor, a list for a list, None for None."""
    if isinstance(value, DenseTensor):
        return value.meta
    return None if value is None else [v.meta for v in value]


def arrays_of(value: Any) -> Any:
    """The array of a DenseTensor, a list for a list, None for None."""
    if isinstance(value, DenseTensor):
        return value.array
    return None if value is None else [v.array for v in value]


def wrapped(op: OpDef, result: Any, out_metas: Any, values: list[Any]) -> Any:
    """What the kernel returned as DenseTensors with their metas; None from a kernel that wrote to its inputs."""
    if result is None:
        return None
    if len(op.outputs) == 1:
        source = values[op.view[0][0]] if op.view else None
        return _wrap(op.output_kinds[0], result, out_metas, source)
    outputs: list[Any] = []
    for i, kind in enumerate(op.output_kinds):
        source = None
        for pair in op.view:
            if pair[1] == i:
                source = values[pair[0]]
        outputs.append(_wrap(kind, result[i], out_metas[i], source))
    return tuple(outputs)


def _wrap(kind: int, result: Any, meta: Any, source: Any) -> Any:
    if result is None:
        return None
    if kind == od.LIST:
        if isinstance(meta, tuple):
            meta = list(meta)
        return [wrap_array(r, m, source) for r, m in zip(result, meta, strict=True)]
    return wrap_array(result, meta, source)


def wrap_array(array: Any, meta: Meta, source: Any) -> DenseTensor:
    """A DenseTensor over an array; it shares `source`'s storage where it is a view of source's memory."""
    if type(array) is not _ndarray:
        array = _asarray(array)
    if -1 in meta.shape:
        meta = meta_of(array)
    if isinstance(source, DenseTensor) and shares_memory(array, source.array):
        return source.alias(array, meta)
    return DenseTensor(array, meta)


def shares_memory(view: Any, array: Any) -> bool:
    """Whether a kernel's result is a view of its input (not a copy that it had to make)."""
    if view is array:
        return True
    base = view.base
    while base is not None:
        if base is array or base is array.base:
            return True
        # What as_strided puts between two arrays is none, but has a base.
        base = getattr(base, "base", None)
    return False


def write_into(op: OpDef, values: list[Any], attrs: tuple[Any, ...], target: DenseTensor, meta: Meta) -> None:
    """Run an operation and leave its (first) output in the memory of `target`, whose meta InferMeta has confirmed."""
    code = key_dtype(op, values, attrs)
    found = kernel_of(op, code)
    arrays: list[Any] = [arrays_of(v) for v in values] + list(attrs)
    if op.kernel_order:
        arrays = [arrays[i] for i in op.kernel_order]
    kernel = found if isinstance(found, Kernel) else select.choose(found, arrays)
    watching = observers()
    for observer in watching:
        observer.meta_inferred(op, meta)
        observer.kernel_selected(op, code, kernel)
    if kernel.contiguous:
        arrays = [_ascontiguous(a) if type(a) is _ndarray else a for a in arrays]
    STATE.in_kernel = True
    if kernel.supports_out and meta.dtype is target.meta.dtype:
        kernel.function(*arrays, out=target.array)
    else:
        result = kernel.function(*arrays)
        if isinstance(result, tuple):
            result = result[op.inplace[0][1]]
        _copyto(target.array, result, "unsafe")
    STATE.in_kernel = False
    for observer in watching:
        observer.kernel_finished(op, target.array)


def _on_floating_point_error(kind: str, flag: int) -> None:
    """NumPy's callback: silent for kernels (inf and nan are results), a warning for the user's own NumPy code.

    Among several threads it cannot be told whose code it was: silent, too.
    """
    if not STATE.in_kernel and threading.active_count() == 1:
        import warnings

        warnings.warn(f"{kind} encountered", RuntimeWarning, stacklevel=2)


def install_floating_point_handler() -> None:
    """Route NumPy's floating-point warnings through the callback above, in this thread and in those that begin later."""
    _route_floating_point_errors()
    if threading.getprofile() is None:
        threading.setprofile(_at_begin_of_thread)


def _route_floating_point_errors() -> None:
    np.seterrcall(_on_floating_point_error)
    np.seterr(divide="call", over="call", invalid="call")


def _at_begin_of_thread(frame: Any, event: str, argument: Any) -> None:
    """Python calls it once in every new thread: NumPy's settings are per thread."""
    sys.setprofile(None)
    _route_floating_point_errors()

"""The kernel registry: operation name -> KernelKey -> Kernel."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.dispatch.kernel_key import ANY_LAYOUT, BACKENDS, CPU, KernelKey

# The dtype groups that kernels are registered for.
BOOL: Final = (dt.bool_,)
INTEGER: Final = (dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64)
FLOAT: Final = (dt.float16, dt.bfloat16, dt.float32, dt.float64)
COMPLEX: Final = (dt.complex64, dt.complex128)
FLOATING_OR_COMPLEX: Final = FLOAT + COMPLEX
REAL: Final = INTEGER + FLOAT
NUMERIC: Final = REAL + COMPLEX
ALL: Final = BOOL + NUMERIC


class Kernel:
    """One function on raw arrays, with what it asks of its inputs.

    `function` takes NumPy arrays and plain attribute values in the order of the entry's arguments. `supports_out` says
    that it takes `out=`, an array to write to. `contiguous` asks for C-contiguous inputs. `predicate`, if any, takes the
    same arguments and says whether this kernel wants the call.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        key: KernelKey,
        supports_out: bool,
        contiguous: bool,
        predicate: Callable[..., bool] | None,
    ) -> None:
        self.function: Final[Any] = function
        self.key: Final = key
        self.supports_out: Final = supports_out
        self.contiguous: Final = contiguous
        self.predicate: Final[Any] = predicate

    @property
    def location(self) -> str:
        """file:line of the kernel function, or its name where it is native (a NumPy ufunc)."""
        inner = self.function
        while hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        code = getattr(inner, "__code__", None)
        if code is None:
            return f"{type(self.function).__name__} {getattr(self.function, '__name__', self.function)}"
        return f"{code.co_filename}:{code.co_firstlineno}"

    def __repr__(self) -> str:
        return f"Kernel({self.key}, {self.location})"


class KernelFactory:
    """Two levels: name of the kernel, then KernelKey."""

    def __init__(self) -> None:
        self.kernels: dict[str, dict[int, list[Kernel]]] = {}
        # Grows with every registration, so that selections made before it can be dropped.
        self.generation = 0

    def register(self, name: str, kernel: Kernel) -> None:
        """Add a kernel; a later one for the same key comes first, an unconditional one replaces its like."""
        by_key = self.kernels.setdefault(name, {})
        before = by_key.get(kernel.key.packed, [])
        if kernel.predicate is None:
            before = [k for k in before if k.predicate is not None]
            by_key[kernel.key.packed] = before + [kernel]
        else:
            by_key[kernel.key.packed] = [kernel] + before
        self.generation += 1

    def find(self, name: str, key: KernelKey) -> list[Kernel]:
        """The kernels of exactly this key, in the order they are asked."""
        by_key = self.kernels.get(name)
        return [] if by_key is None else by_key.get(key.packed, [])

    def registered(self, name: str) -> list[KernelKey]:
        """Every key that has a kernel of that name."""
        return [KernelKey.unpack(packed) for packed in sorted(self.kernels.get(name, {}))]


FACTORY: Final = KernelFactory()


def register(
    name: str,
    function: Callable[..., Any],
    dtypes: Iterable[DataType],
    *,
    backend: str = "CPU",
    out: bool = False,
    contiguous: bool = False,
    predicate: Callable[..., bool] | None = None,
) -> None:
    """Register `function` as the kernel `name` for each of the dtypes on a backend."""
    code = CPU if backend == "CPU" else BACKENDS.index(backend)
    for dtype in dtypes:
        key = KernelKey(code, ANY_LAYOUT, dtype.code)
        FACTORY.register(name, Kernel(function, key, out, contiguous, predicate))


def kernel(
    name: str,
    dtypes: Iterable[DataType],
    *,
    backend: str = "CPU",
    out: bool = False,
    contiguous: bool = False,
    predicate: Callable[..., bool] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator form of `register`; leaves the function as it is, so it can be stacked."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        register(name, function, dtypes, backend=backend, out=out, contiguous=contiguous, predicate=predicate)
        return function

    return decorate

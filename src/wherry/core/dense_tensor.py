"""`DenseTensor`: an array with its meta; `Storage`: the version counter that aliases share."""

from typing import Any, Final

from mypy_extensions import mypyc_attr

from wherry.core.dtype import DataType, from_numpy
from wherry.core.meta import Meta

# How many writers a storage remembers for the error that names them.
_REMEMBERED_WRITES: Final = 8


@mypyc_attr(acyclic=True)
class Write:
    """One in-place change: the version it made, the operation, and the user's line."""

    def __init__(self, version: int, op: str, code: Any, lasti: int) -> None:
        self.version: Final = version
        self.op: Final = op
        self.code: Final[Any] = code
        self.lasti: Final = lasti


@mypyc_attr(acyclic=True)
class Storage:
    """What all tensors over the same memory share: how often it was written, and by whom of late."""

    def __init__(self) -> None:
        self.inplace_version = 0
        self.writes: list[Write] = []

    def bump(self, op: str, code: Any, lasti: int) -> None:
        """Count a write."""
        self.inplace_version += 1
        self.writes.append(Write(self.inplace_version, op, code, lasti))
        if len(self.writes) > _REMEMBERED_WRITES:
            del self.writes[0]


@mypyc_attr(acyclic=True, free_list_len=1)
class DenseTensor:
    """A strided array and its meta. Which memory, shape and dtype never change; a shape-changing in-place operation gives
    its tensor another DenseTensor over the same storage. `storage` stays None until the memory is written or shared:
    that means version 0.
    """

    def __init__(self, array: Any, meta: Meta) -> None:
        self.array: Final[Any] = array
        self.meta: Final = meta
        self.storage: Storage | None = None

    @property
    def inplace_version(self) -> int:
        """How often the memory was written."""
        storage = self.storage
        return 0 if storage is None else storage.inplace_version

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""
        return self.meta.shape

    @property
    def dtype(self) -> DataType:
        """The element type."""
        return self.meta.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.meta.ndim

    def ensure_storage(self) -> Storage:
        """The storage, made if there is none yet."""
        storage = self.storage
        if storage is None:
            fresh = Storage()
            # No call between the question and the answer: another thread that has made one keeps it.
            storage = self.storage
            if storage is None:
                storage = fresh
                self.storage = fresh
        return storage

    def alias(self, array: Any, meta: Meta) -> "DenseTensor":
        """Another DenseTensor over the same storage."""
        other = DenseTensor(array, meta)
        other.storage = self.ensure_storage()
        return other


def meta_of(array: Any) -> Meta:
    """The meta of a NumPy array; raises TypeError for a dtype no tensor has."""
    return Meta(array.shape, from_numpy(array.dtype))


def dense_from_array(array: Any) -> DenseTensor:
    """A DenseTensor over this very array."""
    return DenseTensor(array, meta_of(array))


def overlaps_itself(array: Any) -> bool:
    """Whether two elements share memory (an expanded axis), so that writing in place would not be element by element."""
    if array.size <= 1:
        return False
    strides: tuple[int, ...] = array.strides
    shape: tuple[int, ...] = array.shape
    for dim, stride in zip(shape, strides):
        if dim > 1 and stride == 0:
            return True
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return False
    return bool(_internal_overlap(array))


def _internal_overlap(array: Any) -> bool:
    # Sorted by stride, each axis must step over everything that the finer ones span; slices and transposes do.
    span = int(array.itemsize)
    pairs = sorted((abs(s), d) for d, s in zip(array.shape, array.strides) if d > 1)
    for stride, dim in pairs:
        if stride < span:
            return True
        span = stride * (dim - 1) + span
    return False

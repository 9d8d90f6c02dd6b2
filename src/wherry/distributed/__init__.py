"""paddle.distributed: the parts that make sense in one process."""

from wherry.distributed import fleet

__all__ = ["fleet"]

"""paddle.distributed.fleet: recompute."""

from wherry.distributed.fleet import recompute, utils

__all__ = ["recompute", "utils"]

"""paddle.distributed.fleet.utils."""

from wherry.distributed.fleet.recompute.recompute import recompute

__all__ = ["recompute"]

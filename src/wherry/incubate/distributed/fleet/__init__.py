"""paddle.incubate.distributed.fleet: recompute of sequences."""

from wherry.distributed.fleet.recompute import recompute_sequential

__all__ = ["recompute_sequential"]

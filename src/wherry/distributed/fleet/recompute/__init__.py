"""paddle.distributed.fleet.recompute: give up activations in forward, compute them again in backward."""

from wherry.distributed.fleet.recompute.recompute import recompute, recompute_sequential

__all__ = ["recompute", "recompute_sequential"]

"""paddle.incubate.nn: fused functions of transformer networks."""

from wherry.incubate.nn import functional

__all__ = ["functional"]

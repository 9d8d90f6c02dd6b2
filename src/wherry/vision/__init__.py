"""Computer vision. Source: paddle.vision."""

from wherry.vision import ops

__all__ = ["ops"]

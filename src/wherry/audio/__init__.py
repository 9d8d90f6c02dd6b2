"""Audio features. Source: paddle.audio."""

from wherry.audio import functional

__all__ = ["functional"]

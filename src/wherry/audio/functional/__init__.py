"""Functions on audio signals. Source: paddle.audio.functional."""

from wherry.audio.functional.window import get_window

__all__ = ["get_window"]

"""Saving and loading, under paddle.framework.io."""

from wherry.api.save_load import load, save

__all__ = ["load", "save"]

"""Utilities. Source: paddle.utils."""

from wherry.utils import dlpack

__all__ = ["dlpack"]

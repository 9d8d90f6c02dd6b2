"""Collating under paddle.io.dataloader.collate."""

from wherry.io.collate import default_collate_fn, default_convert_fn

__all__ = ["default_collate_fn", "default_convert_fn"]

"""The parts of wherry.io under the addresses that scripts import them from. Source: paddle.io.dataloader."""

from wherry.io.dataloader import batch_sampler, collate, dataset, sampler

__all__ = ["batch_sampler", "collate", "dataset", "sampler"]

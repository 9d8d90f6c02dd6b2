"""Batch samplers under paddle.io.dataloader.batch_sampler."""

from wherry.io.sampler import BatchSampler, DistributedBatchSampler

__all__ = ["BatchSampler", "DistributedBatchSampler"]

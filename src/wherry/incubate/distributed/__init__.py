"""paddle.incubate.distributed."""

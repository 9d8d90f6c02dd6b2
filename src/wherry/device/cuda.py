"""What scripts ask of GPUs: there are none. Source: paddle.device.cuda."""

__all__ = ["device_count", "empty_cache", "is_available", "max_memory_allocated", "memory_allocated", "synchronize"]


def device_count() -> int:
    """0."""
    return 0


def is_available() -> bool:
    """False."""
    return False


def empty_cache() -> None:
    """No effect."""


def synchronize(device: object = None) -> None:
    """No effect."""


def memory_allocated(device: object = None) -> int:
    """0."""
    return 0


def max_memory_allocated(device: object = None) -> int:
    """0."""
    return 0

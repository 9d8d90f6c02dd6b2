"""Names that are taken once: `linear_0`, `linear_1`. Source: paddle.utils.unique_name."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["generate", "guard", "switch"]


class NameGenerator:
    """Counts how often each key was asked for."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.counts: dict[str, int] = {}

    def __call__(self, key: str) -> str:
        number = self.counts.get(key, 0)
        self.counts[key] = number + 1
        return f"{self.prefix}{key}_{number}"


class _Current:
    """The generator in use."""

    def __init__(self) -> None:
        self.generator = NameGenerator()


_CURRENT = _Current()


def generate(key: str) -> str:
    """`key` with the next free number. Source: paddle.utils.unique_name.generate."""
    return _CURRENT.generator(key)


def switch(new_generator: NameGenerator | None = None) -> NameGenerator:
    """Put another generator in use (a fresh one by default); returns the one before."""
    before = _CURRENT.generator
    _CURRENT.generator = NameGenerator() if new_generator is None else new_generator
    return before


@contextmanager
def guard(new_generator: NameGenerator | str | None = None) -> Iterator[None]:
    """Inside, names are counted anew; a str is put before each of them. Source: paddle.utils.unique_name.guard."""
    generator = NameGenerator(new_generator) if isinstance(new_generator, str) else new_generator
    before = switch(generator)
    try:
        yield
    finally:
        switch(before)

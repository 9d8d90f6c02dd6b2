"""The random generator that every random kernel draws from."""

import threading
from typing import Any, Final

import numpy as np


class GeneratorState:
    """A generator's state at one moment: its seed, and the position of the stream. Opaque, immutable, picklable.

    Source: paddle.base.core.GeneratorState.
    """

    def __init__(self, seed: int, stream: dict[str, Any]) -> None:
        self._seed: Final = seed
        self._stream: Final = stream

    def current_seed(self) -> int:
        """The seed the stream began with."""
        return self._seed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GeneratorState) and other._seed == self._seed and other._stream == self._stream

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return hash((self._seed, repr(self._stream)))

    def __repr__(self) -> str:
        return f"GeneratorState(seed={self._seed})"

    def __reduce__(self) -> tuple[object, tuple[int, dict[str, Any]]]:
        return GeneratorState, (self._seed, self._stream)


class Generator:
    """A stream of random numbers (PCG64) with Paddle's state interface; its methods may be called from any thread.

    Source: paddle.base.core.Generator.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._lock: Final = threading.Lock()
        self._seed = 0
        self._numpy: Any = None
        if seed is not None:
            self.manual_seed(seed)

    @property
    def numpy(self) -> Any:
        """The numpy.random.Generator to draw from (NumPy locks it draw by draw)."""
        if self._numpy is None:
            self.seed()
        return self._numpy

    def manual_seed(self, seed: int) -> "Generator":
        """Begin the stream of this seed; returns the generator."""
        value = int(seed)
        with self._lock:
            self._seed = value
            self._numpy = np.random.Generator(np.random.PCG64(value % 2**64))
        return self

    def seed(self) -> int:
        """Begin the stream of a seed from the operating system; returns the seed."""
        value = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        self.manual_seed(value)
        return value

    def initial_seed(self) -> int:
        """The seed the stream began with."""
        if self._numpy is None:
            self.seed()
        return self._seed

    def random(self) -> int:
        """One random 64-bit number."""
        return int(self.numpy.integers(0, 2**64, dtype=np.uint64))

    def get_state(self) -> GeneratorState:
        """The state now."""
        stream = self.numpy.bit_generator.state
        return GeneratorState(self._seed, stream)

    def set_state(self, state: Any) -> None:
        """Go back to a state; raises TypeError for anything else."""
        if not isinstance(state, GeneratorState):
            raise TypeError(f"expected a state that get_state() returned, received {type(state).__name__}")
        numpy = np.random.Generator(np.random.PCG64(0))
        numpy.bit_generator.state = state._stream
        with self._lock:
            self._seed = state._seed
            self._numpy = numpy


DEFAULT: Final = Generator()


def default_generator() -> Any:
    """The numpy.random.Generator of the process."""
    return DEFAULT.numpy


def seeded(seed: int) -> Any:
    """The process's generator for 0, else one that begins at this seed."""
    return DEFAULT.numpy if seed == 0 else Generator(seed).numpy


def seed(seed: int) -> Generator:
    """Begin the process's random stream at `seed`; returns the generator. Source: paddle.seed."""
    return DEFAULT.manual_seed(seed)


def get_rng_state(device: str | None = None) -> list[GeneratorState]:
    """The state of the process's generator, as a list of one. Source: paddle.get_rng_state."""
    _check_device(device)
    return [DEFAULT.get_state()]


def set_rng_state(state_list: Any, device: str | None = None) -> None:
    """Go back to a state that `get_rng_state` returned; raises ValueError for a list of another length.

    Source: paddle.set_rng_state.
    """
    _check_device(device)
    if len(state_list) != 1:
        raise ValueError(f"expected a list of one state, as get_rng_state() returns, received {len(state_list)}")
    DEFAULT.set_state(state_list[0])


def get_cuda_rng_state() -> list[GeneratorState]:
    """The states of the GPUs' generators: an empty list, there are none. Source: paddle.get_cuda_rng_state."""
    return []


def set_cuda_rng_state(state_list: Any) -> None:
    """Set the states of the GPUs' generators; raises ValueError unless the list is empty. Source: paddle.set_cuda_rng_state."""
    if len(state_list) != 0:
        raise ValueError(f"expected an empty list (no GPU is in use), received {len(state_list)} states")


def _check_device(device: object) -> None:
    if device is not None and device != "cpu":
        raise NotImplementedError(
            f"expected device None or 'cpu', received {device!r}: random states of other devices do not exist"
        )

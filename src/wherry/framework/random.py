"""The generator's state, under paddle.framework.random."""

from wherry.core.generator import get_rng_state, seed, set_rng_state

__all__ = ["get_rng_state", "seed", "set_rng_state"]

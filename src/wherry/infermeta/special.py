"""InferMeta of special functions."""

from wherry.core.meta import Meta
from wherry.infermeta.registry import infer_meta


@infer_meta("FrexpInferMeta")
def frexp(x: Meta) -> tuple[Meta, Meta]:
    """Mantissa and exponent like x."""
    return x, x

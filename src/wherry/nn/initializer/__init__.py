"""Initial values of parameters. Source: paddle.nn.initializer."""

from wherry.api.parameter import INITIALIZERS
from wherry.nn.initializer.base import Initializer, calculate_gain, set_global_initializer
from wherry.nn.initializer.fixed import Assign, Bilinear, Constant, Dirac, NumpyArrayInitializer
from wherry.nn.initializer.random import (
    KaimingNormal,
    KaimingUniform,
    MSRAInitializer,
    Normal,
    Orthogonal,
    TruncatedNormal,
    Uniform,
    XavierInitializer,
    XavierNormal,
    XavierUniform,
)

ConstantInitializer = Constant

# Where neither the user nor a layer chooses.
INITIALIZERS.weight = XavierUniform()
INITIALIZERS.bias = Constant(0.0)

__all__ = [
    "Assign",
    "Bilinear",
    "Constant",
    "Dirac",
    "Initializer",
    "KaimingNormal",
    "KaimingUniform",
    "MSRAInitializer",
    "Normal",
    "NumpyArrayInitializer",
    "Orthogonal",
    "TruncatedNormal",
    "Uniform",
    "XavierInitializer",
    "XavierNormal",
    "XavierUniform",
    "calculate_gain",
    "set_global_initializer",
]

"""Learning-rate schedulers. Source: paddle.optimizer.lr."""

from wherry.optimizer.lr.base import LRScheduler
from wherry.optimizer.lr.cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from wherry.optimizer.lr.decays import (
    CosineAnnealingDecay,
    ExponentialDecay,
    InverseTimeDecay,
    LambdaDecay,
    LinearLR,
    MultiplicativeDecay,
    MultiStepDecay,
    NaturalExpDecay,
    NoamDecay,
    PiecewiseDecay,
    PolynomialDecay,
    StepDecay,
)
from wherry.optimizer.lr.reactive import LinearWarmup, ReduceOnPlateau

__all__ = [
    "CosineAnnealingDecay",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LRScheduler",
    "LambdaDecay",
    "LinearLR",
    "LinearWarmup",
    "MultiStepDecay",
    "MultiplicativeDecay",
    "NaturalExpDecay",
    "NoamDecay",
    "OneCycleLR",
    "PiecewiseDecay",
    "PolynomialDecay",
    "ReduceOnPlateau",
    "StepDecay",
]

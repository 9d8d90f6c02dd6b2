"""Optimizers and learning-rate schedulers. Source: paddle.optimizer."""

from wherry.optimizer import lr
from wherry.optimizer.adam import Adam, Adamax, AdamW, Lamb
from wherry.optimizer.optimizer import Optimizer
from wherry.optimizer.plain import SGD, Adadelta, Adagrad, Momentum, RMSProp

__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Lamb", "Momentum", "Optimizer", "RMSProp", "lr"]

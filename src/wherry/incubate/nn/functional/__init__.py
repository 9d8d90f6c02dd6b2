# ruff: noqa: F403
"""Fused functions of transformer networks. Source: paddle.incubate.nn.functional.

Each is composed of ordinary operations, so that gradients of every order follow; half precision is computed in float32 and rounded
once, as fused kernels do.
"""

from wherry.incubate.nn.functional.activation import *
from wherry.incubate.nn.functional.decoding import *
from wherry.incubate.nn.functional.dropout import *
from wherry.incubate.nn.functional.linear import *
from wherry.incubate.nn.functional.norm import *
from wherry.incubate.nn.functional.rotary import *
from wherry.incubate.nn.functional.transformer import *

# ruff: noqa: F403
"""Functions of neural networks. Source: paddle.nn.functional."""

from wherry._generated.api_nn_functional import *
from wherry.nn.functional.activation import *
from wherry.nn.functional.attention import *
from wherry.nn.functional.common import *
from wherry.nn.functional.conv import *
from wherry.nn.functional.distance import *
from wherry.nn.functional.flashmask import *
from wherry.nn.functional.further_pooling import *
from wherry.nn.functional.hierarchical import *
from wherry.nn.functional.input import *
from wherry.nn.functional.interpolation import *
from wherry.nn.functional.likelihood import *
from wherry.nn.functional.loss import *
from wherry.nn.functional.margin import *
from wherry.nn.functional.norm import *
from wherry.nn.functional.padding import *
from wherry.nn.functional.pooling import *
from wherry.nn.functional.sequence import *
from wherry.nn.functional.vision import *

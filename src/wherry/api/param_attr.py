"""`ParamAttr`: what a layer is told of a parameter that it makes."""

from typing import Any

__all__ = ["ParamAttr"]


class ParamAttr:
    """Name, initial values and training settings of a parameter.

    name: None for a generated one. initializer: an Initializer, None for the layer's own. learning_rate: times the optimizer's.
    regularizer: overrides the optimizer's weight_decay. trainable: False for stop_gradient=True. need_clip: whether gradient
    clipping takes part. Raises TypeError for an argument of the wrong type. Source: paddle.ParamAttr.
    """

    def __init__(
        self,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = True,
        need_clip: bool = True,
    ) -> None:
        _check("name", name, (str, type(None)))
        _check("learning_rate", learning_rate, (int, float))
        _check("trainable", trainable, (bool,))
        _check("do_model_average", do_model_average, (bool,))
        _check("need_clip", need_clip, (bool,))
        if initializer is not None and not callable(initializer):
            raise TypeError(
                f"ParamAttr: expected an Initializer for 'initializer', received {type(initializer).__name__}"
            )
        if regularizer is not None and not hasattr(regularizer, "coeff"):
            raise TypeError(
                f"ParamAttr: expected L1Decay or L2Decay for 'regularizer', received {type(regularizer).__name__}"
            )
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.do_model_average = do_model_average
        self.need_clip = need_clip

    @staticmethod
    def _to_attr(arg: Any) -> Any:
        """A ParamAttr (or False for no parameter) from what `weight_attr` may be: None, a name, an Initializer, a bool."""
        if arg is None or arg is True:
            return ParamAttr()
        if arg is False or isinstance(arg, ParamAttr):
            return arg
        if isinstance(arg, str):
            return ParamAttr(name=arg)
        if isinstance(arg, (list, tuple)):
            return [ParamAttr._to_attr(a) for a in arg]
        if hasattr(arg, "coeff"):
            return ParamAttr(regularizer=arg)
        if callable(arg):
            return ParamAttr(initializer=arg)
        raise TypeError(
            f"expected a ParamAttr, a name, an Initializer, a regularizer, a bool or None for a parameter, received {type(arg).__name__}"
        )

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"ParamAttr({fields})"


def _check(name: str, value: object, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds):
        expected = " or ".join("None" if k is type(None) else k.__name__ for k in kinds)
        raise TypeError(f"ParamAttr: expected {expected} for {name!r}, received {type(value).__name__}")

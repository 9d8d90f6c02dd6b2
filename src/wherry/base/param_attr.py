"""ParamAttr under its older address."""

from wherry.api.param_attr import ParamAttr

__all__ = ["ParamAttr"]

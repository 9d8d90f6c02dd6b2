"""`OpDef`: everything the engine knows of an operation, built once from its generated entry and never changed."""

from collections.abc import Callable
from typing import Any, Final

# Kinds of a tensor argument.
TENSOR: Final = 0
OPTIONAL: Final = 1
LIST: Final = 2
OPTIONAL_LIST: Final = 3


# What a rule's parameter asks for.
WANTS_INPUT: Final = 0
WANTS_INPUT_META: Final = 1
WANTS_OUTPUT: Final = 2
WANTS_OUTPUT_META: Final = 3
WANTS_OUT_GRAD: Final = 4
WANTS_ATTR: Final = 5
WANTS_NEEDS_GRAD: Final = 6

# InferMeta functions that are common and trivial are done inline.
INFER_GENERIC: Final = 0
INFER_UNCHANGED: Final = 1
INFER_ELEMENTWISE: Final = 2


# Kinds of attributes, as numbers for the dispatcher.
INT_ARRAY: Final = 0
BOOL_ATTR: Final = 1
INT_ATTR: Final = 2
FLOAT_ATTR: Final = 3
SCALAR: Final = 4
DATA_TYPE: Final = 5
STR_ATTR: Final = 6
PLACE: Final = 7
LIST_ATTR: Final = 8
OPAQUE: Final = 9

_ATTR_CODES: Final = {
    "IntArray": INT_ARRAY,
    "int[]": INT_ARRAY,
    "int64_t[]": INT_ARRAY,
    "bool": BOOL_ATTR,
    "int": INT_ATTR,
    "int64_t": INT_ATTR,
    "float": FLOAT_ATTR,
    "double": FLOAT_ATTR,
    "Scalar": SCALAR,
    "DataType": DATA_TYPE,
    "str": STR_ATTR,
    "DataLayout": STR_ATTR,
    "Place": PLACE,
}


class Required:
    """Stands for the default of an argument that has none."""

    def __repr__(self) -> str:
        return "<required>"


REQUIRED: Final = Required()


class OpDef:
    """An operation.

    inputs / input_kinds: tensor arguments in order, and TENSOR, OPTIONAL, LIST or OPTIONAL_LIST of each. attrs /
    attr_kinds / attr_defaults: the other arguments, their types as the entry writes them ("int[]", "Scalar" ...), and
    defaults as Python values or REQUIRED. outputs / output_kinds: names, and TENSOR, OPTIONAL or LIST of each;
    `intermediate` marks outputs the public function does not return. infer_meta, infer_params, kernel, kernel_params:
    registered names, and argument names in call order (params empty: all inputs, then all attributes). data_type: how
    the kernel's dtype is found, tried in order: a name of an input or attribute; empty for the first tensor's.
    inplace / view: pairs (input, output) of positions. grad: rule name by input name. Other fields as in the entry.
    """

    def __init__(
        self,
        name: str,
        *,
        inputs: tuple[str, ...],
        input_kinds: tuple[int, ...],
        attrs: tuple[str, ...] = (),
        attr_kinds: tuple[str, ...] = (),
        attr_defaults: tuple[object, ...] = (),
        outputs: tuple[str, ...],
        output_kinds: tuple[int, ...],
        intermediate: tuple[bool, ...] = (),
        infer_meta: str,
        infer_params: tuple[str, ...] = (),
        kernel: str,
        kernel_params: tuple[str, ...] = (),
        data_type: tuple[str, ...] = (),
        inplace: tuple[tuple[int, int], ...] = (),
        view: tuple[tuple[int, int], ...] = (),
        grad: dict[str, str] | None = None,
        amp: str = "",
        promote: bool = False,
        skip_transform: tuple[str, ...] = (),
        support_trans_dtype: tuple[str, ...] = (),
        location: str = "",
    ) -> None:
        self.name: Final = name
        self.inputs: Final = inputs
        self.input_kinds: Final = input_kinds
        self.attrs: Final = attrs
        self.attr_kinds: Final = attr_kinds
        self.attr_defaults: Final = attr_defaults
        self.outputs: Final = outputs
        self.output_kinds: Final = output_kinds
        self.intermediate: Final = intermediate if intermediate else (False,) * len(outputs)
        self.infer_meta: Final = infer_meta
        self.infer_params: Final = infer_params
        self.kernel: Final = kernel
        self.kernel_params: Final = kernel_params
        self.data_type: Final = data_type
        self.inplace: Final = inplace
        self.view: Final = view
        self.grad: Final[dict[str, str]] = grad if grad is not None else {}
        self.amp: Final = amp
        self.promote: Final = promote
        self.skip_transform: Final = skip_transform
        self.support_trans_dtype: Final = support_trans_dtype
        self.location: Final = location
        # What follows is derived, and filled on first use: see dispatch/bind.py.
        self.bound = False
        self.infer: Any = None
        self.infer_kind = INFER_GENERIC
        self.infer_order: tuple[int, ...] = ()
        self.kernel_order: tuple[int, ...] = ()
        self.key_source: tuple[int, ...] = ()
        self.kernel_cache: list[Any] = []
        self.kernel_generation = -1
        # One or two plain tensors in, one out: what the short forms of the dispatcher serve. Narrowed when the entry is bound.
        self.fast = (
            len(outputs) == 1
            and output_kinds[0] == TENSOR
            and 1 <= len(inputs) <= 2
            and all(kind == TENSOR for kind in input_kinds)
            and not support_trans_dtype
        )
        self.is_view: Final = bool(view)
        self.attr_codes: Final = tuple(
            _ATTR_CODES.get(kind, LIST_ATTR if kind.endswith("[]") else OPAQUE) for kind in attr_kinds
        )
        self.has_grad = bool(self.grad)
        self.rules: list[Rule | None] = []
        self.joint_rule: Rule | None = None
        # Position of the public outputs (not intermediate).
        self.returned: Final = tuple(i for i, hidden in enumerate(self.intermediate) if not hidden)

    def __repr__(self) -> str:
        return f"OpDef({self.name})"


class Rule:
    """A derivative rule and what it wants, in the order of its parameters: (WANTS_..., position) pairs."""

    def __init__(self, function: Callable[..., Any], kinds: tuple[int, ...], positions: tuple[int, ...]) -> None:
        self.function: Final[Any] = function
        self.kinds: Final = kinds
        self.positions: Final = positions
        self.count: Final = len(kinds)

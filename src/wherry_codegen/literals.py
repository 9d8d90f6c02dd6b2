"""Default values: C++ constant expressions, as operator files write them, turned into Python values."""

import re

from wherry_codegen.model import ArgType

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFlLuU]*)
    | (?P<name>[A-Za-z_][\w]*(?:::[A-Za-z_]\w*)*(?:<[\w:\s,<>]*>)?)
    | (?P<op><<|>>|[-+*/%(){},])
    )""",
    re.VERBOSE,
)
_CONSTANTS: dict[str, object] = {
    "true": True,
    "false": False,
    "nullptr": None,
    "INT_MAX": 2**31 - 1,
    "INT_MIN": -(2**31),
    "INT64_MAX": 2**63 - 1,
    "INT64_MIN": -(2**63),
    "FLT_MAX": 3.4028234663852886e38,
    "INFINITY": float("inf"),
}
_PRECEDENCE = {"<<": 1, ">>": 1, "+": 2, "-": 2, "*": 3, "/": 3, "%": 3}
_PLACES = {"CPUPlace": "cpu", "GPUPlace": "gpu", "Place": None}
_MARKED = re.compile(r"\s*(?:phi::|paddle::)?(?:experimental::)?(DataType|DataLayout|Backend)::(\w+)\s*$")


class _Word(str):
    """A data type, layout or place: text, but no string literal."""


class LiteralError(ValueError):
    """A default that is no constant expression, or does not fit its type."""


def python_value(text: str, kind: ArgType) -> object:
    """The Python value of a default for an argument of that type; raises LiteralError.

    Lists become tuples, DataType::FLOAT32 "float32", an undefined data type and an empty place None.
    """
    return _fit(_evaluate(text), kind, text)


def _evaluate(text: str) -> object:
    marked = _MARKED.match(text)
    if marked:
        word = marked[2]
        if marked[1] == "DataLayout":
            return _Word(word)
        return None if word == "UNDEFINED" else _Word(word.lower())
    tokens = _tokens(text)
    parser = _Parser(tokens, text)
    value = parser.expression(0)
    if parser.position != len(tokens):
        raise LiteralError(f"unexpected {tokens[parser.position][1]!r} in the default {text!r}")
    return value


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    position = 0
    stripped = text.rstrip()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if match is None:
            raise LiteralError(f"expected a C++ constant, received {text!r}")
        kind = str(match.lastgroup)
        tokens.append((kind, match[kind]))
        position = match.end()
    if not tokens:
        raise LiteralError("expected a default after '=', received nothing")
    return tokens


class _Parser:
    """Precedence climbing over the few operators that defaults use."""

    def __init__(self, tokens: list[tuple[str, str]], text: str) -> None:
        self.tokens = tokens
        self.text = text
        self.position = 0

    def peek(self) -> str:
        return self.tokens[self.position][1] if self.position < len(self.tokens) else ""

    def take(self, expected: str = "") -> tuple[str, str]:
        if self.position == len(self.tokens) or (expected and self.peek() != expected):
            raise LiteralError(f"expected {expected or 'a value'} in the default {self.text!r}")
        self.position += 1
        return self.tokens[self.position - 1]

    def expression(self, level: int) -> object:
        left = self.unary()
        while _PRECEDENCE.get(self.peek(), 0) > level:
            operator = self.take()[1]
            left = self.apply(operator, left, self.expression(_PRECEDENCE[operator]))
        return left

    def apply(self, operator: str, left: object, right: object) -> object:
        if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
            raise LiteralError(f"expected numbers around {operator} in the default {self.text!r}")
        if operator in ("/", "%") and right == 0:
            raise LiteralError(f"division by zero in the default {self.text!r}")
        if operator == "+":
            return left + right
        if operator == "-":
            return left - right
        if operator == "*":
            return left * right
        whole = isinstance(left, int) and isinstance(right, int)
        if operator == "/" and not whole:
            return left / right
        if not isinstance(left, int) or not isinstance(right, int):
            raise LiteralError(f"expected integers around {operator} in the default {self.text!r}")
        if operator == "<<":
            return left << right
        if operator == ">>":
            return left >> right
        # C++ cuts towards zero.
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right

    def unary(self) -> object:
        kind, word = self.take()
        if word in ("-", "+"):
            value = self.unary()
            if not isinstance(value, (int, float)):
                raise LiteralError(f"expected a number after {word} in the default {self.text!r}")
            return -value if word == "-" else value
        if word == "(":
            value = self.expression(0)
            self.take(")")
            return value
        if word == "{":
            return self.braces()
        if kind == "string":
            return re.sub(r"\\(.)", r"\1", word[1:-1])
        if kind == "number":
            return _number(word)
        if kind == "name":
            return self.named(word)
        raise LiteralError(f"unexpected {word!r} in the default {self.text!r}")

    def braces(self) -> tuple[object, ...]:
        values: list[object] = []
        while self.peek() != "}":
            values.append(self.expression(0))
            if self.peek() != "}":
                self.take(",")
        self.take("}")
        return tuple(values)

    def named(self, word: str) -> object:
        bare = re.sub(r"<.*>$", "", word)
        last = bare.rsplit("::", 1)[-1]
        if bare in _CONSTANTS:
            return _CONSTANTS[bare]
        if self.peek() == "{":
            self.take()
            return self.braces()
        if self.peek() == "(" and last in _PLACES:
            self.take()
            self.take(")")
            place = _PLACES[last]
            return None if place is None else _Word(place)
        raise LiteralError(f"expected a C++ constant, received {word!r} in the default {self.text!r}")


def _number(word: str) -> int | float:
    if word[:2] in ("0x", "0X"):
        return int(word.rstrip("lLuU"), 16)
    bare = word.rstrip("fFlLuU")
    if re.fullmatch(r"\d+", bare) and not word.endswith(("f", "F")):
        return int(bare)
    return float(bare)


def _fit(value: object, kind: ArgType, text: str) -> object:
    name = kind.name
    if kind.is_list:
        element = ArgType("int" if name == "IntArray" else name[:-2])
        values = value if isinstance(value, tuple) else (value,)
        return tuple(_fit(v, element, text) for v in values)
    if name in ("Tensor", "Place") and value in ((), None):
        return None
    if name == "Scalar" and kind.inner in ("float", "double") and isinstance(value, int):
        return float(value)
    fits = {
        "bool": lambda v: isinstance(v, bool) or v in (0, 1),
        "int": lambda v: isinstance(v, int),
        "int64_t": lambda v: isinstance(v, int),
        "size_t": lambda v: isinstance(v, int),
        "float": lambda v: isinstance(v, (int, float)),
        "double": lambda v: isinstance(v, (int, float)),
        "Scalar": lambda v: isinstance(v, (int, float)),
        "str": lambda v: isinstance(v, str) and not isinstance(v, _Word),
        "DataType": lambda v: v is None or isinstance(v, str),
        "DataLayout": lambda v: isinstance(v, str),
        "Place": lambda v: isinstance(v, str),
    }.get(name)
    if fits is None or not fits(value):
        raise LiteralError(f"the default {text.strip()!r} is no {kind}")
    if name == "bool":
        return bool(value)
    if name in ("float", "double"):
        return float(value)  # type: ignore[arg-type]
    if name in ("int", "int64_t", "size_t"):
        return int(value)  # type: ignore[call-overload]
    return str(value) if isinstance(value, _Word) else value

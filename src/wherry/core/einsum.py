"""The language of einsum equations.

Operations use the explicit form: one character a label, no spaces, no ellipsis, with an output ("ij,jk->ik"). What users
write is brought to it by `explicit`.
"""

import functools
from typing import Final

# Labels for the axes behind an ellipsis; users can only write letters.
_ELLIPSIS_BASE: Final = 0x2460


@functools.lru_cache(maxsize=256)
def explicit(equation: str, ndims: tuple[int, ...]) -> str:
    """The explicit form of a user's equation for operands of these numbers of dimensions; raises ValueError where it is not one."""
    text = equation.replace(" ", "").replace("...", ".")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise ValueError(
            f"expected one operand for each of the {len(terms)} terms of the equation {equation!r}, received {len(ndims)}"
        )
    for term in terms + [right]:
        for label in term:
            if label != "." and not (label.isascii() and label.isalpha()):
                raise ValueError(
                    f"expected letters, commas, -> and ... in the equation, received {label!r} in {equation!r}"
                )
        if term.count(".") > 1:
            raise ValueError(
                f"expected at most one ... in a term, received {term.replace('.', '...')!r} in {equation!r}"
            )
    hidden = 0
    for i, (term, ndim) in enumerate(zip(terms, ndims)):
        more = ndim - len(term.replace(".", ""))
        if more < 0 or (more > 0 and "." not in term):
            raise ValueError(
                f"expected operand {i} to have {len(term.replace('.', ''))} dimensions{' or more' if '.' in term else ''} "
                f"for the term {term.replace('.', '...')!r} of {equation!r}, received {ndim}"
            )
        if "." in term:
            hidden = max(hidden, more)
    names = "".join(chr(_ELLIPSIS_BASE + i) for i in range(hidden))
    full = []
    for term, ndim in zip(terms, ndims):
        more = ndim - len(term.replace(".", ""))
        full.append(term.replace(".", names[hidden - more :] if more else ""))
    if arrow:
        out = right.replace(".", names)
        for label in out:
            if not any(label in term for term in full):
                raise ValueError(
                    f"expected every output label in an operand's term, received {label!r} in {equation!r}"
                )
            if out.count(label) > 1:
                raise ValueError(f"expected different output labels, received {label!r} twice in {equation!r}")
    else:
        joined = "".join(full)
        out = names + "".join(sorted(c for c in set(joined) if joined.count(c) == 1 and c not in names))
    return ",".join(full) + "->" + out


@functools.lru_cache(maxsize=1024)
def split(equation: str) -> tuple[tuple[str, ...], str]:
    """The terms and the output of an explicit equation."""
    left, _, out = equation.partition("->")
    return tuple(left.split(",")), out


def label_sizes(terms: tuple[str, ...], shapes: list[tuple[int, ...]]) -> dict[str, int]:
    """The size of each label; sizes of 1 stretch. Raises ValueError where two others differ."""
    sizes: dict[str, int] = {}
    for i, (term, shape) in enumerate(zip(terms, shapes)):
        if len(term) != len(shape):
            raise ValueError(
                f"expected operand {i} to have {len(term)} dimensions for {term!r}, received shape {list(shape)}"
            )
        for label, size in zip(term, shape):
            known = sizes.get(label, 1)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                name = label if label.isascii() else "..."
                raise ValueError(
                    f"expected one size for each label, received {known} and {size} for {name!r} "
                    f"(operands of shapes {[list(s) for s in shapes]})"
                )
    return sizes

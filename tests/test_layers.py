"""Imports go one way: what each part of the package may import, checked on the source of every module."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "wherry"

# The engine, layer by layer: what each may import besides itself. Nothing here knows of what users see.
ENGINE = {
    "core": (),
    "infermeta": ("core",),
    "dispatch": ("core", "infermeta"),
    "kernels": ("core", "infermeta", "dispatch"),
    # Rules are written against `ops`: they see no kernel, no dispatcher, no graph.
    "grads": ("core", "infermeta"),
    "autograd": ("core", "infermeta", "dispatch"),
}
BELOW_TENSOR = tuple(ENGINE) + ("_generated", "_C_ops", "_version")
PUBLIC_FUNCTIONS = ("api", "utils", "linalg", "fft", "signal")
# Against the order, inside functions, because the user's call asks for it.
DEFERRED = {
    ("tensor/tensor.py", "wherry.utils.dlpack"): "__dlpack__ is a method, and few call it",
    ("commands/config.py", "wherry"): "the configuration is the package's own to show",
    ("commands/look.py", "wherry"): "expressions are about the package",
    ("api/logic.py", "wherry"): "where with a condition alone is nonzero, a public function of another family",
    ("api/math.py", "wherry.nn.functional"): "scale_ takes the name of an activation",
}
# What stands on the engine, lowest first: a part may import the parts before it (and the engine).
UPPER = (
    "tensor",
    "_assembly",
    "library",
    # The public functions are one layer in several modules.
    ("api", "utils", "linalg", "fft", "signal"),
    ("framework", "device", "regularizer"),
    "base",
    "nn",
    (
        "optimizer",
        "metric",
        "io",
        "vision",
        "text",
        "distribution",
        "sparse",
        "distributed",
        "jit",
        "static",
        "audio",
        "geometric",
    ),
    "amp",
    "incubate",
    "inspect",
    "hapi",
    "paddle_alias",
    "commands",
    "cli",
    "__main__",
)


def part_of(module: str) -> str:
    """wherry.nn.layer -> nn; the package itself -> wherry."""
    return module.split(".")[1] if "." in module else "wherry"


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import of wherry in a file, inside functions too, without those for type checkers only."""
    package = ("wherry." + ".".join(path.relative_to(SOURCE).with_suffix("").parts)).split(".")
    skipped: set[ast.AST] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            skipped.update(inner for child in node.body for inner in ast.walk(child))
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names if a.name.split(".")[0] == "wherry")
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                module = ".".join([*package[: -node.level], module]).rstrip(".")
            if module == "wherry":
                yield from ((node.lineno, imported(a.name)) for a in node.names)
            elif module.startswith("wherry."):
                yield node.lineno, module


def imported(name: str) -> str:
    """`from wherry import name`: a submodule, or something of the package itself."""
    exists = (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").exists()
    return f"wherry.{name}" if exists else "wherry"


def allowed(part: str) -> set[str]:
    """The parts that a part may import."""
    if part in ENGINE:
        return {part, *ENGINE[part]}
    if part in ("_generated", "_C_ops"):
        return {"core", "dispatch", "autograd", "_generated"}
    known = set(BELOW_TENSOR)
    for group in UPPER:
        group = (group,) if isinstance(group, str) else group
        if part in group:
            return known | set(PUBLIC_FUNCTIONS if part in PUBLIC_FUNCTIONS else (part,))
        known |= set(group)
    raise KeyError(f"{part} has no place in the order of tests/test_layers.py; give it one")


MODULES = sorted(
    p
    for p in SOURCE.rglob("*.py")
    if p.parent != SOURCE or p.name not in ("__init__.py", "_assembly.py", "_version.py")
)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_imports_go_one_way(path: Path) -> None:
    part = path.relative_to(SOURCE).with_suffix("").parts[0]
    may = allowed(part)
    wrong = [
        f"{path.relative_to(SOURCE)}:{line}: {part} imports {module}"
        for line, module in imports(path)
        if part_of(module) not in may and (path.relative_to(SOURCE).as_posix(), module) not in DEFERRED
    ]
    assert not wrong, "\n".join(wrong)


def test_the_engine_s_order_has_no_cycle() -> None:
    seen: set[str] = set()
    for part, below in ENGINE.items():
        assert set(below) <= seen, part
        seen.add(part)


def test_rules_touch_no_arrays() -> None:
    for path in (SOURCE / "grads").glob("*.py"):
        roots: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                roots |= {a.name.split(".")[0] for a in node.names}
            elif isinstance(node, ast.ImportFrom):
                roots.add((node.module or "").split(".")[0])
        assert not roots & {"numpy", "scipy", "ml_dtypes"}, path

"""The test table: one row an operation, a module a family."""

import importlib
import pkgutil

from tests.op_table.row import Row


def all_rows() -> tuple[Row, ...]:
    """The rows of every module of this package, in the order of their operations' names."""
    rows: list[Row] = []
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        rows.extend(getattr(module, "ROWS", ()))
    return tuple(sorted(rows, key=lambda row: row.op))

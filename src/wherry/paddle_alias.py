"""`import paddle` as wherry, for this process: the finder behind `wherry run`."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any


class PaddleFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers `import paddle[.x.y]` with the module (or attribute that is a module) `wherry[.x.y]` itself."""

    def __init__(self) -> None:
        self._specs: dict[str, Any] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for paddle and everything below it, None for other modules."""
        if fullname != "paddle" and not fullname.startswith("paddle."):
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """wherry's module of that name; raises ModuleNotFoundError that names both."""
        name = "wherry" + spec.name.removeprefix("paddle")
        module = self._module(name)
        if module is None:
            raise ModuleNotFoundError(f"No module named {spec.name!r}: wherry has no {name!r}", name=spec.name)
        self._specs[spec.name] = module.__spec__
        return module

    def _module(self, name: str) -> ModuleType | None:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
                raise
        parent, _, last = name.rpartition(".")
        found = getattr(self._module(parent), last, None) if parent else None
        return found if isinstance(found, ModuleType) else None

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run: the module is complete. The import system has put its own spec there; undo that."""
        for name, spec in self._specs.items():
            if sys.modules.get(name) is module:
                module.__spec__ = spec


def install() -> PaddleFinder:
    """Make `import paddle` mean wherry from now on in this process."""
    finder = PaddleFinder()
    sys.meta_path.insert(0, finder)
    return finder

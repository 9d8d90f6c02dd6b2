"""The generator under test is the checkout's, whose entries it reads, also where the package comes from a wheel."""

import importlib.util
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent.parent / "src" / "wherry_codegen"
_spec = importlib.util.spec_from_file_location(
    "wherry_codegen", _PACKAGE / "__init__.py", submodule_search_locations=[str(_PACKAGE)]
)
assert _spec is not None and _spec.loader is not None
for _name in [n for n in sys.modules if n.partition(".")[0] == "wherry_codegen"]:
    del sys.modules[_name]
sys.modules["wherry_codegen"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["wherry_codegen"])

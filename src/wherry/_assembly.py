"""Puts the layers together at import: operations into the engine, public functions onto Tensor and into the namespaces."""

import importlib
import pkgutil
import sys
from typing import Any

try:
    from wherry._generated.op_defs import OPS
except ImportError as error:
    raise ImportError(
        "wherry is not built: the code generated from ops/*.yaml is missing. In a checkout run `make build` "
        "(or `python -m wherry_codegen` in its root); an installed package has it."
    ) from error

from wherry.autograd import operators
from wherry.autograd.history import REGISTRY
from wherry.dispatch import bind, library
from wherry.tensor.tensor import Tensor

_COMPILED_MODULE = library


def _load_operations() -> None:
    for package in ("wherry.infermeta", "wherry.kernels.numpy"):
        bind.import_package(package)
    for module in bind.import_package("wherry.grads"):
        bind.register_rules(module)
    from wherry import _C_ops
    from wherry._generated import raw_ops, rules

    bind.register_rules(rules)
    REGISTRY.ops = OPS
    REGISTRY.recorded_ops = _C_ops
    REGISTRY.raw_ops = raw_ops
    REGISTRY.view_replay = OPS["view_replay"]
    REGISTRY.view_scatter = OPS["view_scatter"]
    operators.set_operator_table(OPS)
    library.install_floating_point_handler()


def _attach_methods() -> None:
    from wherry import api
    from wherry._generated import api_paddle

    for name in api_paddle.METHODS:
        setattr(Tensor, name, getattr(api_paddle, name))
    for info in pkgutil.iter_modules(api.__path__):
        module = importlib.import_module(f"wherry.api.{info.name}")
        for name in getattr(module, "METHODS", ()):
            setattr(Tensor, name, getattr(module, name))


def is_compiled() -> bool:
    """Whether the engine runs compiled by mypyc."""
    return str(getattr(_COMPILED_MODULE, "__file__", "")).endswith((".so", ".pyd"))


def show_config() -> str:
    """What is running, as text: version, compiled or interpreted, Python, NumPy with its BLAS, backends.

    Printed and returned.
    """
    import platform

    import numpy as np

    from wherry._version import __version__
    from wherry.dispatch.kernel_factory import FACTORY
    from wherry.dispatch.kernel_key import BACKENDS, KernelKey

    config: Any = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    backends = sorted({BACKENDS[KernelKey.unpack(k).backend] for by_key in FACTORY.kernels.values() for k in by_key})
    text = "\n".join(
        (
            f"wherry {__version__}, engine {'compiled' if is_compiled() else 'interpreted'}",
            f"Python {platform.python_version()} on {platform.machine()}",
            f"NumPy {np.__version__}, BLAS {blas.get('name', 'unknown')} {blas.get('version', '')}".rstrip(),
            f"backends: {', '.join(backends)} ({sum(len(k) for k in FACTORY.kernels.values())} kernels of {len(OPS)} operations)",
        )
    )
    sys.stdout.write(text + "\n")
    return text


def finish(namespace: dict[str, Any]) -> None:
    """The last step of `import wherry`: subpackages that scripts reach as attributes."""
    for name in (
        "autograd",
        "base",
        "device",
        "regularizer",
        "nn",
        "optimizer",
        "io",
        "amp",
        "linalg",
        "fft",
        "metric",
        "utils",
        "framework",
        "vision",
    ):
        try:
            namespace[name] = importlib.import_module(f"wherry.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"wherry.{name}":
                raise


_load_operations()
_attach_methods()

"""Type stubs: editors see the methods that Tensor gets at import, and the names of the api package."""

import ast
import inspect
from pathlib import Path

import wherry
from wherry import api
from wherry._generated import api_paddle
from wherry_codegen.stubs import annotation

PACKAGE = Path(wherry.__file__).parent


def stub(name: str) -> ast.Module:
    return ast.parse((PACKAGE / name).read_text())


def methods() -> dict[str, ast.FunctionDef]:
    (found,) = (n for n in stub("_generated/tensor_methods.pyi").body if isinstance(n, ast.ClassDef))
    return {n.name: n for n in found.body if isinstance(n, ast.FunctionDef)}


def test_every_attached_method_is_in_the_stub_with_its_parameters() -> None:
    stubbed = methods()
    for name in (*api_paddle.METHODS, "sum", "split", "reshape", "astype"):
        if inspect.getmodule(getattr(wherry.Tensor, name)) is inspect.getmodule(wherry.Tensor):
            continue
        params = list(inspect.signature(getattr(wherry.Tensor, name)).parameters)
        args = stubbed[name].args
        starred = [a for a in (args.vararg, *args.kwonlyargs, args.kwarg) if a is not None]
        names = [a.arg for a in (*args.args, *starred)]
        assert names == ["self", *params[1:]], name
        assert ast.get_docstring(stubbed[name]), name


def test_properties_stay_properties() -> None:
    assert [ast.unparse(d) for d in methods()["T"].decorator_list] == ["property"]


def test_names_of_the_api_package() -> None:
    found = stub("api/__init__.pyi")
    imported = {a.asname: n.module for n in found.body if isinstance(n, ast.ImportFrom) for a in n.names if a.asname}
    assert imported["to_tensor"] == "wherry.api.creation"
    names = next(n.value for n in found.body if isinstance(n, ast.AnnAssign))
    assert names is not None
    assert ast.literal_eval(names) == sorted(set(api.__all__))


def test_annotations_become_text_that_the_stub_explains() -> None:
    def function(x: "Tensor | None", y: "Unknown", z: int = 0) -> None:  # type: ignore[name-defined] # noqa: F821
        ...

    params = inspect.signature(function).parameters
    assert annotation(params["x"].annotation, function) == "Tensor | None"
    assert annotation(params["y"].annotation, function) == "Any"
    assert annotation(params["z"].annotation, function) == "int"
    assert annotation(inspect.Signature.empty, function) == "Any"

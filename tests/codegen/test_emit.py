"""What is generated: equal to the stored sample, importable, and with the signatures that users see.

`python -m tests.codegen.test_emit` writes the sample anew after a change that is meant.
"""

import ast
import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import wherry
from wherry import _C_ops
from wherry_codegen.__main__ import main
from wherry_codegen.build import differing, leftovers, write
from wherry_codegen.emit import emit
from wherry_codegen.lower import lower
from wherry_codegen.parse import parse_files

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"


def generated() -> dict[str, str]:
    entries, rules, problems = lower(parse_files([HERE / "grammar.yaml"]))
    assert not problems
    files = emit(entries)
    files["_generated/rules.py"] = rules
    return files


def sample(name: str) -> Path:
    """Where the sample of a generated file lies; .txt, for it is data here."""
    return EXPECTED / (Path(name).stem + ".txt")


def test_output_equals_the_sample() -> None:
    files = generated()
    assert {sample(n).name for n in files} == {p.name for p in EXPECTED.glob("*.txt")}
    for name, text in files.items():
        assert text == sample(name).read_text(), f"{name} differs from {sample(name)}"


def test_every_generated_file_compiles_and_says_what_it_is() -> None:
    for name, text in generated().items():
        compile(text, name, "exec")
        assert "do not edit" in (ast.get_docstring(ast.parse(text)) or "")


def test_write_is_quiet_and_leftovers_are_found(tmp_path: Path) -> None:
    files = {"_generated/a.py": "a = 1\n", "_C_ops.py": "b = 2\n"}
    assert write(files, tmp_path) == ["_C_ops.py", "_generated/a.py"]
    assert write(files, tmp_path) == []
    (tmp_path / "_generated" / "old.py").write_text("")
    (tmp_path / "_generated" / "a.py").write_text("changed\n")
    assert differing(files, tmp_path) == ["_generated/a.py"]
    assert leftovers(files, tmp_path) == ["_generated/old.py"]
    write(files, tmp_path)
    assert (tmp_path / "_generated" / "a.py").read_text() == "a = 1\n"
    assert sorted(p.name for p in (tmp_path / "_generated").iterdir()) == ["a.py", "old.py"]


def test_a_bad_entry_is_reported_and_the_others_are_generated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = "- op : a\n  args : (Tensor x)\n  output : Tensor\n  infer_meta : {func : M}\n  kernel : {func : k}\n"
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "x.yaml").write_text(good + "- op : b\n  args : (Nothing x)\n  output : Tensor\n")
    assert main([], tmp_path) == 1
    assert "ops/x.yaml:7: unknown type 'Nothing'; expected one of" in capsys.readouterr().err
    assert "def a(x: Tensor)" in (tmp_path / "src" / "wherry" / "_C_ops.py").read_text()
    (tmp_path / "ops" / "x.yaml").write_text(good)
    assert main([], tmp_path) == 0
    assert "1 operations, 0 files written" in capsys.readouterr().out


def test_check_fails_where_a_file_is_out_of_date(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wherry_codegen.__main__.differing", lambda files, package: ["_C_ops.py"])
    assert main(["--check"]) == 1
    assert "src/wherry/_C_ops.py: out of date; run python -m wherry_codegen" in capsys.readouterr().err


def test_public_functions_have_signatures_and_docs() -> None:
    assert inspect.isfunction(wherry.add)
    assert str(inspect.signature(wherry.add)) == "(x: 'Tensor', y: 'Tensor', name: 'str | None' = None) -> 'Tensor'"
    assert "element by element" in pydoc.render_doc(wherry.add)
    assert "In-place twin of add" in (wherry.add_.__doc__ or "")
    assert inspect.isfunction(wherry.Tensor.add)


def test_op_functions_take_the_entry_s_arguments() -> None:
    assert list(inspect.signature(_C_ops.matmul).parameters) == ["x", "y", "transpose_x", "transpose_y"]
    x = wherry.to_tensor([[1.0, 2.0]])
    assert _C_ops.matmul(x, y=x, transpose_y=True).item() == 5.0
    with pytest.raises(TypeError):
        _C_ops.matmul(x)


def test_an_unbuilt_checkout_says_what_to_run() -> None:
    code = (
        "import sys; sys.modules['wherry._generated.op_defs'] = None\n"
        "try:\n    import wherry\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "python -m wherry_codegen" in done.stdout


if __name__ == "__main__":
    EXPECTED.mkdir(exist_ok=True)
    for old in EXPECTED.glob("*.txt"):
        old.unlink()
    for generated_name, generated_text in generated().items():
        sample(generated_name).write_text(generated_text)

"""The parser: every feature of the grammar, and messages with file and line for what is wrong."""

from pathlib import Path

import pytest

from wherry_codegen.literals import LiteralError, python_value
from wherry_codegen.model import NO_DEFAULT, ArgType, CodegenError, Entry, KernelFunction, Location, Source
from wherry_codegen.parse import parse_files, parse_text

GRAMMAR = Path(__file__).with_name("grammar.yaml")


@pytest.fixture(scope="module")
def entries() -> dict[str, Entry]:
    return {e.name: e for e in parse_files([GRAMMAR])}


def problem(text: str) -> str:
    """The one problem of a text."""
    found, problems = parse_text(text, "ops/a.yaml")
    assert len(problems) == 1, (found, problems)
    return str(problems[0])


def test_locations_are_lines(entries: dict[str, Entry]) -> None:
    lines = GRAMMAR.read_text().split("\n")
    for entry in entries.values():
        assert entry.name in lines[entry.location.line - 1]
        for name, line in entry.lines.items():
            assert lines[line - 1].lstrip("- ").startswith(name)
    assert str(entries["halve"].location) == "tests/codegen/grammar.yaml:3"
    assert entries["halve"].at("kernel").line == 9


def test_lists_and_texts(entries: dict[str, Entry]) -> None:
    halve = entries["halve"]
    assert halve.api == ("halve", "nn.functional.half")
    assert halve.aliases == ("semi", "demi")
    assert halve.traits == ("pir::SideEffectTrait", "Shapely")
    assert halve.interfaces == ("paddle::dialect::InferSymbolicShapeInterface",)
    assert halve.doc.startswith("Half of x.\n\nShape")
    assert halve.amp == "black"
    assert halve.infer_meta is not None
    assert halve.infer_meta.spmd_rule == "HalveInferSpmd"
    assert (entries["blend"].promote, entries["blend"].strided, halve.promote) == (True, True, False)


def test_grad_is_a_map_or_one_rule(entries: dict[str, Entry]) -> None:
    assert entries["halve"].grad == {"x": "halve_grad_x"}
    assert entries["blend"].grad == {"": "blend_grad_all"}
    assert entries["recast"].grad == {}
    assert entries["recast"].backward == "recast_grad"


def test_kernel_dispatch_lists(entries: dict[str, Entry]) -> None:
    kernel = entries["halve"].kernel
    assert kernel is not None
    assert kernel.functions == (
        KernelFunction("halve", ("dense",), ("dense",)),
        KernelFunction("halve_sr", ("selected_rows",), ("selected_rows",)),
    )
    without_commas = parse_text(
        "- op : a\n  args : (Tensor x)\n  output : Tensor\n  kernel :\n    func : a {dense, dense-> dense} b{ x -> y, z }",
        "f",
    )[0][0].kernel
    assert without_commas is not None
    assert without_commas.functions == (
        KernelFunction("a", ("dense", "dense"), ("dense",)),
        KernelFunction("b", ("x",), ("y", "z")),
    )


def test_sources(entries: dict[str, Entry]) -> None:
    kernel = entries["pieces"].kernel
    assert kernel is not None
    assert kernel.data_type == (Source("like"), Source("xs"))
    text = "- op : a\n  args : (Tensor x)\n  output : Tensor\n  kernel : {func : a, data_type : %s, layout : x}"
    for written, expected in (
        ("complex(x)", (Source("x", "complex"),)),
        ("DataType::FLOAT32", (Source("DataType::FLOAT32", constant=True),)),
        ("dtype > x", (Source("dtype"), Source("x"))),
    ):
        found = parse_text(text % written, "f")[0][0].kernel
        assert found is not None
        assert found.data_type == expected
        assert found.layout == (Source("x"),)


def test_outputs(entries: dict[str, Entry]) -> None:
    assert [(o.name, str(o.type), o.size) for o in entries["pieces"].outputs] == [
        ("outs", "Tensor[]", "num"),
        ("out_1", "Tensor[]", "xs.size()>1 ? xs.size():1"),
    ]
    assert [o.name for o in entries["halve"].outputs] == ["out"]
    assert [o.name for o in entries["normalise"].outputs] == ["out", "mean", "inv_std"]


def test_names_and_pairs(entries: dict[str, Entry]) -> None:
    normalise = entries["normalise"]
    assert normalise.optional == ("scale", "bias")
    assert normalise.intermediate == ("mean", "inv_std")
    assert normalise.view == (("x", "out"), ("bias", "mean"))
    assert normalise.no_need_buffer == ("bias",)
    assert normalise.data_transform.skip_transform == ("scale", "bias")
    assert normalise.data_transform.support_trans_dtype == ("x",)
    assert entries["step_"].inplace == (("param", "param_out"), ("master", "master_out"))
    assert normalise.infer_meta is not None
    assert normalise.infer_meta.params == ("x", "scale", "bias", "epsilon", "data_format")
    assert normalise.infer_meta.local_shape == "out"


def test_backward_entries(entries: dict[str, Entry]) -> None:
    backward = entries["normalise_grad"]
    assert backward.is_backward
    assert backward.forward is not None
    assert backward.forward.name == "normalise"
    assert [a.name for a in backward.forward.args][:3] == ["x", "gain", "bias"]
    assert backward.forward.args[3].default == 1e-5
    assert [o.name for o in backward.forward.outputs] == ["out", "mean", "inv_std"]
    invoke = entries["recast_grad"].invoke
    assert invoke is not None
    assert (invoke.name, invoke.args) == ("recast", ("out_grad", "x.dtype()"))
    assert entries["recast_grad"].kernel is None


def test_defaults_are_python_values(entries: dict[str, Entry]) -> None:
    values = {a.name: a.default for a in entries["literals"].args}
    assert values == {
        "big": 8191,
        "eps": 1e-5,
        "third": 1 / 3,
        "pads": (0, 1),
        "none": (),
        "ratios": (0.5, 2.0),
        "flags": (True, False),
        "tags": ("a", "b,c"),
        "mode": 'say "x", y',
        "value": -1.0,
        "count": 3,
        "levels": (1, 2.5),
        "axis": (0,),
        "dtype": "int64",
        "other": None,
        "layout": "NCHW",
        "place": "cpu",
        "most": 2**63 - 1,
        "lots": 10000,
        "flag": False,
    }
    assert entries["halve"].args[0].default is NO_DEFAULT
    assert entries["literals"].args[10].type == ArgType("Scalar", "int64_t")


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("7 / 2", "int", 3),
        ("-7 / 2", "int", -3),
        ("-7 % 4", "int", -3),
        ("2 + 3 * 4 - 1", "int", 13),
        ("(1 << 4) - 1", "int64_t", 15),
        ("0x10", "int", 16),
        ("1", "float", 1.0),
        (".5f", "float", 0.5),
        ("2.", "double", 2.0),
        ("std::vector<int64_t>{1, 2}", "int64_t[]", (1, 2)),
        ("phi::DataType::BFLOAT16", "DataType", "bfloat16"),
        ("{}", "Place", None),
        ("phi::CPUPlace()", "Place", "cpu"),
        ("true", "bool", True),
        ("1", "bool", True),
        ('""', "str", ""),
        ("-0.5f", "Scalar", -0.5),
    ],
)
def test_literal(text: str, kind: str, value: object) -> None:
    found = python_value(text, ArgType(kind))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1.5", "int"),
        ("x + 1", "int"),
        ('"a"', "float"),
        ("{1, 2", "int[]"),
        ("1 2", "int"),
        ("", "int"),
        ("1 / 0", "int"),
        ("2", "bool"),
        ("@", "int"),
        ("{1}", "int"),
        ("CPUPlace()", "str"),
    ],
)
def test_refused_literal(text: str, kind: str) -> None:
    with pytest.raises(LiteralError):
        python_value(text, ArgType(kind))


HEAD = "- op : a\n  args : (Tensor x)\n  output : Tensor(out)\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "  kernl : a", "ops/a.yaml:4: unknown field kernl; expected one of "),
        (HEAD + "  output : Tensor(out)", "ops/a.yaml:4: the field output stands twice in one entry; remove one"),
        ("- op : a\n  output : Tensor(out)", "ops/a.yaml:1: a has no field args; add it"),
        ("- op : 3a\n  args : ()\n  output : Tensor", "expected 'op : name' with an identifier, received '3a'"),
        ("- op : a\n  args : (Tensr x)\n  output : Tensor", "ops/a.yaml:2: unknown type 'Tensr'; expected one of "),
        (
            "- op : a\n  args : (Tensor)\n  output : Tensor",
            "ops/a.yaml:2: expected 'Type name' in args, received 'Tensor'",
        ),
        ("- op : a\n  args : Tensor x\n  output : Tensor", "ops/a.yaml:2: expected args in parentheses"),
        (
            "- op : a\n  args : (Tensor x,, int y)\n  output : Tensor",
            "ops/a.yaml:2: an argument is missing between commas",
        ),
        (
            "- op : a\n  args : (int x = y)\n  output : Tensor",
            "ops/a.yaml:2: argument x: expected a C++ constant, received 'y'",
        ),
        ("- op : a\n  args : (Tensor x)\n  output : int", "ops/a.yaml:3: expected outputs such as Tensor(out)"),
        (HEAD + "  inplace : x -> out", "ops/a.yaml:4: expected (input -> output), received 'x -> out'"),
        (HEAD + "  promote : yes please", "ops/a.yaml:4: expected true or false for promote, received 'yes please'"),
        (HEAD + "  amp : grey", "ops/a.yaml:4: expected white, black or promote for amp, received 'grey'"),
        (HEAD + "  kernel : a", "ops/a.yaml:4: expected fields below kernel (func, "),
        (HEAD + "  kernel :\n    fun : a", "ops/a.yaml:5: unknown field kernel.fun; expected one of func, "),
        (HEAD + "  kernel :\n    data_type : x", "ops/a.yaml:4: kernel has no func; name the kernel"),
        (HEAD + "  kernel : {func : a, param : x}", "ops/a.yaml:4: expected a list for kernel.param"),
        (
            HEAD + "  kernel :\n    func : a\n    data_type : x + y",
            "ops/a.yaml:6: expected an argument, complex(argument)",
        ),
        (HEAD + "  kernel :\n    func : a -> b", "ops/a.yaml:5: expected a kernel's name"),
        (HEAD + "  invoke : full", "ops/a.yaml:4: expected name(argument, ...) for invoke, received 'full'"),
        (HEAD + "  grad : {x : 1rule}", "ops/a.yaml:4: expected a rule's name in grad, received '1rule'"),
        (
            HEAD + "  api : nn..a",
            "ops/a.yaml:4: expected a dotted name such as nn.functional.relu in api, received 'nn..a'",
        ),
        (
            HEAD + "  forward : a (Tensor x) -> Tensor",
            "ops/a.yaml:4: forward belongs to backward_op entries; a is an op",
        ),
        (
            HEAD.replace("op", "backward_op", 1) + "  forward : a",
            "ops/a.yaml:4: expected 'name (args) -> outputs' for forward",
        ),
        ("op : a", "ops/a.yaml:1: expected a list of entries"),
        ("- a", "ops/a.yaml:1: expected an entry: '- op : name' and its fields"),
        ("- op : a\n - b", "ops/a.yaml:2: not YAML: "),
    ],
)
def test_message(text: str, message: str) -> None:
    assert message in problem(text)


def test_one_bad_entry_does_not_hide_the_others(tmp_path: Path) -> None:
    entries, problems = parse_text(
        HEAD + "- op : b\n  args : (X y)\n  output : Tensor\n" + HEAD.replace("a", "c", 1), "f"
    )
    assert [e.name for e in entries] == ["a", "c"]
    assert [p.location for p in problems] == [Location("f", 5)]
    path = tmp_path / "bad.yaml"
    path.write_text("- op : b\n- op : c\n")
    with pytest.raises(CodegenError) as caught:
        parse_files([path])
    assert len(caught.value.problems) == 2

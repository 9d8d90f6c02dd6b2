"""Checks across entries: each message names file and line, and what to change."""

import pytest

from wherry_codegen.check import check
from wherry_codegen.inventory import Inventory, RuleFunction, collect
from wherry_codegen.lower import lower
from wherry_codegen.model import Location, Problem
from wherry_codegen.parse import ROOT, parse_text

TAIL = "  infer_meta : {func : M}\n  kernel : {func : k}\n"
HEAD = "- op : a\n  args : (Tensor x, int n = 1)\n  output : Tensor(out)\n"
OP = HEAD + TAIL
RULES = Location("src/wherry/grads/f.py", 7)
INVENTORY = Inventory(
    rules={
        "good": (RuleFunction(("ops", "x_meta", "out", "out_grad", "n", "needs_grad"), RULES),),
        "odd": (RuleFunction(("ops", "xs", "out_grad"), RULES),),
        "late": (RuleFunction(("x", "ops"), RULES),),
        "twice": (RuleFunction(("ops",), RULES), RuleFunction(("ops",), Location("src/wherry/grads/g.py", 9))),
    },
    infer_meta=frozenset(("M",)),
    kernels=frozenset(("k",)),
)


def problems(text: str) -> list[Problem]:
    entries, wrong = parse_text(text, "ops/a.yaml")
    assert not wrong
    entries, _, wrong = lower(entries)
    return wrong + check(entries, INVENTORY)


def test_a_sound_entry_has_none() -> None:
    assert problems(OP + "  grad : {x : good}\n  inplace : (x -> out)\n  api : a\n  doc : Words.\n") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OP + OP, "ops/a.yaml:6: the operation a is defined twice (first at ops/a.yaml:1); remove or rename one"),
        (
            OP + "  api : s\n  doc : D.\n" + OP.replace("a", "b", 1) + "  api : s\n  doc : D.\n",
            "ops/a.yaml:13: the public name s is also given by a (ops/a.yaml:1); remove one from api",
        ),
        (
            OP + "  inplace : (x -> out)\n" + OP.replace("a", "a_", 1) + "  inplace : (x -> out)\n",
            "ops/a.yaml:6: a has inplace, which makes a_, and ops/a.yaml:7 defines that too; remove one",
        ),
        (
            OP.replace("int n", "int lambda"),
            "ops/a.yaml:2: a has an argument named lambda, which cannot name one in Python",
        ),
        (
            OP.replace("int n", "int name") + "  api : a\n  doc : D.\n",
            "a has an argument named name, which every public",
        ),
        (OP.replace("int n", "int x"), "ops/a.yaml:2: a has two arguments named x; rename one"),
        (
            OP.replace("Tensor(out)", "Tensor(out), Tensor(out)"),
            "ops/a.yaml:3: a has two outputs named out; rename one",
        ),
        (OP.replace("= 1", "= 1, int m"), "argument m of a has no default but n before it has; give it one or move it"),
        (
            OP + "  inplace : (n -> out)\n",
            "ops/a.yaml:6: inplace of a names n, which is no tensor argument; expected one of x",
        ),
        (OP + "  inplace : (x -> o)\n", "ops/a.yaml:6: inplace of a names o, which is no output; expected one of out"),
        (OP + "  view : (y -> out)\n", "ops/a.yaml:6: view of a names y, which is no tensor argument"),
        (OP + "  optional : bias\n", "ops/a.yaml:6: optional of a names bias, which is no tensor argument or output"),
        (OP + "  intermediate : mask\n", "ops/a.yaml:6: intermediate of a names mask, which is no output"),
        (OP + "  intermediate : out\n", "ops/a.yaml:6: every output of a is intermediate; one must reach the user"),
        (OP + "  no_need_buffer : n\n", "ops/a.yaml:6: no_need_buffer of a names n, which is no tensor argument"),
        (
            OP + "  data_transform : {skip_transform : z}\n",
            "data_transform.skip_transform of a names z, which is no argument",
        ),
        (
            OP.replace("func : M", "func : M, param : [x, nn]"),
            "ops/a.yaml:4: infer_meta.param of a names nn, which is no argument",
        ),
        (
            OP.replace("func : k", "func : k, param : [y]"),
            "ops/a.yaml:5: kernel.param of a names y, which is no argument",
        ),
        (OP.replace("func : k", "func : k, data_type : y"), "ops/a.yaml:5: kernel of a names y, which is no argument"),
        (
            OP.replace("func : k", "func : k, data_type : complex(x)"),
            "data_type of a is complex(x): the dispatcher takes",
        ),
        (OP.replace("func : k", "func : 'k {sparse_coo -> dense}'"), "no kernel of a takes and returns dense tensors"),
        (
            OP + "  grad : {n : good}\n",
            "ops/a.yaml:6: grad of a names n, which is no tensor argument; expected one of x",
        ),
        (HEAD + "  kernel : {func : k}\n", "ops/a.yaml:1: a has no infer_meta; name the function"),
        (HEAD + "  infer_meta : {func : M}\n", "ops/a.yaml:1: a has no kernel; name its kernel"),
        (
            HEAD + "  infer_meta : {func : M}\n  invoke : full(x)\n",
            "ops/a.yaml:5: a is made of full; write it as a function",
        ),
        (OP + "  api : a\n", "ops/a.yaml:6: a has api but no doc; write one sentence, then"),
        (OP + "  aliases : b\n", "ops/a.yaml:6: a has aliases but no api; name the public function first"),
        (OP.replace("a", "a_", 1), "ops/a.yaml:1: the name a_ says that it writes, but it has no inplace"),
        (
            OP.replace("a", "a_", 1) + "  inplace : (x -> out)\n  grad : {x : good}\n",
            "ops/a.yaml:7: a_ writes, so it can have no",
        ),
        (
            OP.replace("a", "a_", 1) + "  inplace : (x -> out)\n  view : (x -> out)\n",
            "ops/a.yaml:7: a_ writes, so its output",
        ),
        (
            OP.replace("func : M", "func : Mm"),
            "ops/a.yaml:4: no InferMeta function Mm is registered for a; write it in src/wherry/",
        ),
        (
            OP.replace("func : k", "func : kk"),
            "ops/a.yaml:5: no kernel kk is registered for a; register it in src/wherry/",
        ),
        (
            OP + "  grad : {x : god}\n",
            "ops/a.yaml:6: no rule god for a; write def god(ops, ...) in src/wherry/grads/; did you mean good?",
        ),
        (
            OP + "  grad : odd\n",
            "src/wherry/grads/f.py:7: the rule odd has the parameter xs, which is no input, output",
        ),
        (
            OP + "  grad : odd\n",
            "attribute of a (ops/a.yaml:1); expected one of x, out, x_meta, out_meta, out_grad, n, needs_grad",
        ),
        (OP + "  grad : late\n", "src/wherry/grads/f.py:7: the first parameter of the rule late is not ops"),
        (
            OP + "  grad : twice\n",
            "ops/a.yaml:6: the rule twice of a is defined twice (src/wherry/grads/f.py:7, src/wherry/grads/g.py:9); rename one",
        ),
        (
            OP + "  backward : a_grad\n",
            "ops/a.yaml:6: a names the backward entry a_grad, which does not exist; add it, or",
        ),
    ],
)
def test_message(text: str, message: str) -> None:
    found = [str(p) for p in problems(text)]
    assert any(message in line for line in found), found


BACKWARD = """\
- backward_op : a_grad
  forward : a (Tensor x, int n = 1) -> Tensor(out)
  args : (Tensor out, Tensor out_grad, int n)
  output : Tensor(x_grad)
"""
PAIR = OP + "  backward : a_grad\n" + BACKWARD


def test_a_backward_entry_is_an_operation_and_a_rule() -> None:
    assert problems(PAIR + TAIL) == []
    entries, rules, _ = lower(parse_text(PAIR + TAIL, "ops/a.yaml")[0])
    assert [(e.name, e.grad) for e in entries] == [("a", {"": "rule_a_grad"}), ("a_grad", {})]
    assert "def rule_a_grad(ops: Any, out: Any, out_grad: Any, n: Any) -> tuple[Any, ...]:" in rules
    assert "ops.a_grad(out, out_grad, n)" in rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            (PAIR + TAIL).replace("forward : a (", "forward : b ("),
            "ops/a.yaml:8: a_grad belongs to the operation b, which does not",
        ),
        (
            (PAIR + TAIL).replace("(Tensor x, int n = 1) ->", "(Tensor x) ->"),
            "it has 1 arguments, a has 2; make them the same",
        ),
        (
            (PAIR + TAIL).replace("n = 1) ->", "n = 1.0) ->").replace("int n = 1.0", "float n = 1.0"),
            "its float n is int n in a",
        ),
        ((PAIR + TAIL).replace("-> Tensor(out)", "-> Tensor(out), Tensor(z)"), "it has 2 outputs, a has 1"),
        (
            (PAIR + TAIL).replace("(Tensor out, ", "(Tensor y, "),
            "ops/a.yaml:9: a_grad takes the tensor y, which is no input, output or",
        ),
        (
            (PAIR + TAIL).replace("x_grad)", "y_grad)"),
            "ops/a.yaml:10: a_grad returns y_grad, which is the gradient of no input of a",
        ),
        (
            PAIR + "  composite : a_grad(x)\n",
            "ops/a.yaml:7: a_grad has only composite; write a rule in src/wherry/grads/",
        ),
        (
            PAIR + "  invoke : cast(out_grad, x + 1)\n",
            "ops/a.yaml:11: invoke of a_grad has the argument 'x + 1'; expected an",
        ),
        (
            (PAIR + TAIL).replace("  backward :", "  grad : {x : good}\n  backward :"),
            "ops/a.yaml:7: a has both backward and grad; keep grad (rules) or backward (a backward entry)",
        ),
    ],
)
def test_backward_message(text: str, message: str) -> None:
    found = [str(p) for p in problems(text)]
    assert any(message in line for line in found), found


def test_gradients_come_in_the_order_of_the_inputs() -> None:
    text = (
        (PAIR + TAIL)
        .replace("(Tensor x,", "(Tensor x, Tensor y,")
        .replace("Tensor(x_grad)", "Tensor(y_grad), Tensor(x_grad)")
    )
    assert any("write x_grad, y_grad" in str(p) for p in problems(text))


def test_a_module_that_does_not_import_is_all_that_is_reported() -> None:
    broken = Problem(Location("src/wherry/kernels/numpy/f.py", 3), "cannot import wherry.kernels.numpy.f: no")
    entries, _ = parse_text(OP, "ops/a.yaml")
    assert check(entries, Inventory(problems=(broken,))) == [broken]


def test_the_operations_of_this_package_are_sound() -> None:
    from wherry_codegen.build import build

    inventory = collect(ROOT)
    assert {"add_grad_x", "multiply_grad_x"} <= inventory.rules.keys()
    assert "ElementwiseInferMeta" in inventory.infer_meta
    assert "multiply" in inventory.kernels
    assert [str(p) for p in build(ROOT, inventory).problems] == []

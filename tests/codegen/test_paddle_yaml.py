"""Paddle's own operator files parse whole, where a copy of them lies beside the checkout."""

from pathlib import Path

import pytest

from wherry_codegen.lower import check_forward
from wherry_codegen.model import Entry
from wherry_codegen.parse import ROOT, read_file

FOLDER = ROOT.parent / "shared" / "cases" / "paddle_yaml"
COUNTS = {
    "ops.yaml": 466,
    "backward.yaml": 337,
    "dygraph_ops.yaml": 34,
    "dygraph_backward.yaml": 32,
    "sparse_ops.yaml": 51,
    "sparse_backward.yaml": 45,
}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"Paddle's operator files are not at {FOLDER}")


@pytest.mark.parametrize("name", COUNTS)
def test_every_entry_parses(name: str) -> None:
    entries, problems = read_file(FOLDER / name)
    assert [str(p) for p in problems] == []
    assert len(entries) == COUNTS[name]
    for entry in entries:
        assert entry.outputs
        assert entry.kernel or entry.invoke or entry.composite or not entry.infer_meta, entry.name


def test_entries_hold_what_the_files_say() -> None:
    entries = {e.name: e for e in read_file(FOLDER / "ops.yaml")[0]}
    adam = entries["adam_"]
    assert ("param", "param_out") in adam.inplace
    assert {"master_param", "skip_update"} <= set(adam.optional)
    assert adam.kernel is not None
    assert [len(f.inputs) for f in adam.kernel.functions] == [9, 9]
    assert next(a for a in adam.args if a.name == "epsilon").default == 1e-8
    full_like = entries["full_like"]
    assert full_like.kernel is not None
    assert [s.name for s in full_like.kernel.data_type] == ["dtype", "x"]


def test_backward_entries_match_their_operations() -> None:
    entries: list[Entry] = []
    for name in COUNTS:
        if not name.startswith("sparse"):
            entries += read_file(Path(FOLDER / name))[0]
    forwards = {e.name: e for e in entries}
    problems = [p for e in entries if e.is_backward for p in check_forward(e, forwards)]
    # Four operations stand in Paddle files that are not among these; nothing else is wrong.
    missing = {"global_gather", "global_scatter", "pull_sparse_v2", "pull_gpups_sparse"}
    assert len(problems) == len(missing)
    assert all(any(f"the operation {name}, which does not exist" in p.message for name in missing) for p in problems)

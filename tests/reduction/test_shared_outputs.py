"""The signal gates, over the shared tool results; what counts as signal is decided in bench/."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from foldaway import reduce

BENCH = Path(__file__).resolve().parents[2] / "bench" / "reduce.py"
GATES = {
    "changed files": 1.0,
    "counts": 1.0,
    "exit status": 1.0,
    "failing tests": 1.0,
    "status fields": 1.0,
    "error lines": 0.95,
}
"""The least share that survives a reduction to a quarter of the tokens."""


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """The script that measures reductions, for its patterns and its data."""
    spec = importlib.util.spec_from_file_location("bench_reduce", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if not module.load():
        pytest.skip("no shared tool results: set FOLDAWAY_DATA")
    return module


@pytest.mark.shared
@pytest.mark.soak
def test_what_matters_survives_in_the_shared_outputs(bench: ModuleType) -> None:
    """At a quarter of the tokens the gates hold, and never less stays than of head and tail.

    On the way every result is held against the laws. Results whose signals alone are as large as
    the budget are not counted: not all of them can be there.
    """
    there: dict[str, int] = defaultdict(int)
    ours: dict[str, int] = defaultdict(int)
    ends: dict[str, int] = defaultdict(int)
    for record in bench.load():
        text: str = record["text"]
        budget = max(bench.COUNTER.count(text) // 4, bench.LEAST_TOKENS)
        done = reduce(text, None, budget)
        assert done.tokens_after <= budget
        assert len(done.text) <= len(text)
        if done.kind == "json":
            json.loads(done.text)
        count(bench, record, done.text, budget, there, ours)
        count(bench, record, bench.ends(text, done.tokens_after), budget, defaultdict(int), ends)
    shares = {name: ours[name] / there[name] for name in GATES}
    assert {name: share for name, share in shares.items() if share < GATES[name]} == {}
    assert {name for name in GATES if ends[name] > ours[name]} == set()
    assert min(there.values()) > 20


def count(
    bench: ModuleType,
    record: dict[str, Any],
    reduced: str,
    budget: int,
    there: dict[str, int],
    survived: dict[str, int],
) -> None:
    shown = bench.normal(reduced)
    for name, values in bench.signals_of(record).items():
        if bench.COUNTER.count("\n".join(values)) <= 0.8 * budget:
            there[name] += len(values)
            survived[name] += sum(bench.survives(value, shown) for value in values)

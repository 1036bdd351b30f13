"""Test output: what failed and why, the counts; what passed is only counted."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.reduction.excerpt import read_lines
from holdfast.reduction.lines import indices, line_starts
from holdfast.reduction.marks import plural, shortened
from holdfast.reduction.pack import line_render, without
from holdfast.reduction.rank import Taste, rank_lines
from holdfast.reduction.reduced import ReductionDraft, ReductionRequest, Render
from holdfast.reduction.reducers.log import without_days
from holdfast.reduction.testreport import failing_packages, failing_spans, failing_tests

TASTE = Taste(
    noise=(
        "=== RUN", "=== PAUSE", "=== CONT", "=== NAME", "--- PASS", "--- SKIP", "ok  ", "PASS",
        "?   ", "✓", "✔", "√", "test result: ok", "PASSED", "collecting", "Compiling",
        "Downloading", "Finished", "Running", "go: downloading", "> Task", "ok ", "# Subtest",
        "(pass)",
    ),
    warning=90,
    detail_lines=6,
)  # fmt: skip

_MOST_NAMES = 400


def reduce_test(text: str, ask: ReductionRequest) -> Render:
    """Read the output of a test runner.

    Where not all lines that name a failing test fit, the names come first, as one list.
    """
    lines = read_lines(text, ask.room_chars)
    ranking = rank_lines(lines, TASTE)
    whole = line_render(ranking, ask.reference, dress=without_days)
    joined = "\n".join(lines.texts)
    tests, packages = failing_tests(joined, _MOST_NAMES), failing_packages(joined, _MOST_NAMES)
    names = tuple(dict.fromkeys((*tests, *packages.values())))
    spans = [*failing_spans(joined, _MOST_NAMES), *((at, at) for at in packages)]
    named = set(indices(line_starts(lines.texts), spans))
    rest = line_render(without(ranking, named, {}), ask.reference, dress=without_days)

    def render(budget_chars: int) -> ReductionDraft:
        listed = f"[{plural(len(names), 'failing test')}: {', '.join(names)}]"
        draft = whole(budget_chars)
        if all(name in draft.text for name in names):
            return draft
        head = shortened(listed, budget_chars * 9 // 10)
        draft = rest(budget_chars - len(head))
        return replace(draft, text=f"{head}\n{draft.text}")

    return render

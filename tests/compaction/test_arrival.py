"""Results as they are shown from their arrival on: examples."""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace
from tests.testing.rows import each_row

from foldaway._core.policy import Policy
from foldaway.compaction.work import Options
from foldaway.engine.compressor import Compressor
from foldaway.engine.run import Run, finish_run
from foldaway.transcript import Estimator

SMALL = Policy(floor_tokens=200, protect_last=4)
ROWS = json.dumps([{"id": n, "price": 1.10, "name": f"row {n}"} for n in range(40)], indent=2)
LINES = "".join(f"line {n} of the file, which is long enough to matter\n" for n in range(20))


def call(number: int, tool: str = "lookup") -> dict[str, Any]:
    function = {"name": tool, "arguments": '{"path": "a.py"}'}
    one = {"id": f"call_{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [one]}


def result(number: int, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": text}


def step(number: int, text: str, tool: str = "lookup") -> list[dict[str, Any]]:
    return [call(number, tool), result(number, text)]


def shown(engine: Compressor, number: int) -> str:
    return next(
        one["content"] for one in engine.messages if one.get("tool_call_id") == f"call_{number}"
    )


def test_json_loses_its_spaces_and_nothing_else() -> None:
    """What the model sees has the same value in fewer tokens; the log keeps what came."""
    engine = Compressor()
    given = step(1, ROWS)
    engine.append({"role": "user", "content": "Look."}, *given)
    assert shown(engine, 1) == json.dumps(json.loads(ROWS), separators=(",", ":")).replace(
        ":1.1,", ":1.1,"
    )
    assert engine.conversation.list_arrived(0)[2][0].wire is given[1]
    (row,) = engine.conversation.references
    assert engine.conversation.recall(row.ref)[0] is given[1]


@each_row("tool", ["bash", "read_file", "cat", "mcp__files__read_text_file", "grep"])
def test_json_of_a_file_is_shown_as_it_stands(tool: str) -> None:
    """An agent that edits a file by its words needs its indentation."""
    engine = Compressor()
    engine.append({"role": "user", "content": "Look."}, *step(1, ROWS, tool))
    assert shown(engine, 1) == ROWS


def test_a_result_that_stands_above_becomes_a_marker() -> None:
    """With the call that it repeats, and its own reference; another text, a short one and one that
    failed where the other did not stay."""
    engine = Compressor()
    engine.append({"role": "user", "content": "Look."}, *step(1, LINES, "bash"), *step(2, "ok"))
    engine.append(*step(3, LINES, "read_file"), *step(4, "ok"), *step(5, f"{LINES}."))
    marker = shown(engine, 3)
    assert marker.startswith("[foldaway duplicate: original at fa-")
    assert "call_1" in marker
    assert (shown(engine, 1), shown(engine, 4), shown(engine, 5)) == (LINES, "ok", f"{LINES}.")
    assert engine.conversation.recall(marker[33:46])[0]["content"] == LINES


def test_a_marker_becomes_what_it_stands_for_when_the_other_goes() -> None:
    """The older copy is folded: the newer one is shown itself, and its reference still resolves."""
    engine = Compressor(context_length=7_000, policy=replace(SMALL, protect_first=0))
    engine.append({"role": "user", "content": "Look."}, *step(1, LINES, "bash"))
    for number in range(2, 12):
        engine.append(*step(number, f"{number} {LINES}", "bash"))
    engine.append(*step(12, LINES, "bash"))
    marker = shown(engine, 12)
    assert engine.compact(force=True).status == "compacted"
    assert shown(engine, 12) == LINES
    assert engine.conversation.recall(marker[33:46])[0]["content"] == LINES
    assert engine.undo()
    assert shown(engine, 12) == marker


def test_a_marker_stays_while_the_other_is_shown() -> None:
    """Both are in the tail: the compaction leaves them."""
    engine = Compressor(context_length=20_000, policy=replace(SMALL, protect_last=20))
    engine.append({"role": "user", "content": "Look."})
    for number in range(2, 12):
        engine.append(*step(number, f"{number} {LINES}" * 3, "bash"))
    engine.append(*step(12, LINES, "bash"), *step(13, LINES, "bash"))
    marker = shown(engine, 13)
    assert engine.compact(force=True, keep_last=None).status == "compacted"
    assert (shown(engine, 12), shown(engine, 13)) == (LINES, marker)


def test_what_arrived_beside_a_compaction_is_shown_after_what_it_left() -> None:
    """A marker that was set while a summary was written points at nothing that the summary took
    away."""
    here = Compressor(context_length=4_000, policy=SMALL, redact=str, provider="openai-chat")
    here.append({"role": "user", "content": "Look."}, *step(1, LINES, "bash"))
    for number in range(2, 12):
        here.append(*step(number, f"{number} {LINES}", "bash"))
    run = here.begin_run(Options(), force=True, frozen=True)
    assert isinstance(run, Run)
    here.append(*step(12, LINES, "bash"))
    assert here.messages[-1]["content"].startswith("[foldaway duplicate")
    reference = here.messages[-1]["content"][33:46]
    assert here.end_run(run, finish_run(run.todo)).status == "compacted"
    assert here.messages[-1]["content"] == LINES
    assert here.conversation.recall(reference)[0]["content"] == LINES
    assert reference in {row.ref for row in here.state.references}


def test_bounded_results_are_cut_to_the_limit_of_their_tool() -> None:
    """And name the reference of the original; what our own tools bring is never cut."""
    policy = Policy(arrival="bounded", arrival_tools={"bash": 100, "*": 0})
    engine = Compressor(policy=policy)
    engine.append({"role": "user", "content": "Look."}, *step(1, LINES * 5, "bash"))
    engine.append(*step(2, LINES * 4, "fetch"), *step(3, LINES * 6, "foldaway_recall"))
    cut = shown(engine, 1)
    assert Estimator().count(cut) <= 100
    reference = cut.rpartition("original: ")[2].rstrip("]\n")
    assert engine.conversation.recall(reference)[0]["content"] == LINES * 5
    assert (shown(engine, 2), shown(engine, 3)) == (LINES * 4, LINES * 6)
    assert engine.conversation.search("line 17 of the file")


def test_what_is_whole_is_not_found_as_dropped() -> None:
    """Search looks at what is shown no more: JSON without its spaces, or a marker, is shown."""
    engine = Compressor()
    engine.append({"role": "user", "content": "Look."}, *step(1, ROWS), *step(2, ROWS))
    assert shown(engine, 2).startswith("[foldaway duplicate")
    assert engine.conversation.search("row 17") == []


def test_off_is_off() -> None:
    """Everything is shown as it came."""
    engine = Compressor(policy=Policy(arrival="off"))
    items = [{"role": "user", "content": "Look."}, *step(1, ROWS), *step(2, ROWS)]
    engine.append(*items)
    assert engine.messages == items

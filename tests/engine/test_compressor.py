"""The compressor: when it acts, what it keeps, and what comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from openai.types import CompletionUsage
from tests.testing.long_lists import Exchange, written
from tests.testing.rows import each_row

from foldaway import check
from foldaway._core.policy import Policy
from foldaway._core.report import Report
from foldaway.engine.compressor import Compressor
from foldaway.engine.oneshot import compress
from foldaway.engine.run import Model
from foldaway.errors import InvalidSetting, NotReadable, UnknownReference

SMALL = Policy(floor_tokens=500)
ITEMS = written("openai-chat", [Exchange(2, 2, 900)] * 8, with_system=True)


def engine(**settings: Any) -> Compressor:
    given: dict[str, Any] = {"context_length": 8_000, "policy": SMALL, **settings}
    made = Compressor(**given)
    made.append(*ITEMS)
    return made


def more(start: int, count: int = 4) -> list[Any]:
    return written("openai-chat", [Exchange(2, 2, 900)] * count, start=start)


def test_what_is_not_due_does_not_happen() -> None:
    """Below the threshold `compact` says so."""
    made = Compressor(context_length=200_000)
    made.append(*ITEMS)
    report = made.compact()
    assert (report.status, report.reason) == ("unchanged", "below threshold")
    assert made.messages == ITEMS


def test_what_is_due_happens_once_and_waits_for_the_provider() -> None:
    """Right after a compaction only the estimate knows the size: a second one is deferred until
    the provider reports."""
    made = engine()
    assert made.decide().due
    report = made.compact()
    assert report.status == "compacted"
    assert not made.decide().due
    made.use_model("", 2 * report.tokens_after - 50)
    assert (made.decide().due, made.decide().reason) == (False, "deferred")
    made.report_usage({"prompt_tokens": report.tokens_after})
    assert made.decide().due


def test_the_provider_corrects_the_estimate() -> None:
    """A reported usage is the measure from then on, and what is appended is added to it."""
    made = engine(model="m")
    made.report_usage({"prompt_tokens": 3_000, "completion_tokens": 50})
    assert made.decide().prompt_tokens == 3_000
    assert made.decide().source == "measured"
    made.append({"role": "user", "content": "word " * 400})
    assert 3_100 < made.decide().prompt_tokens < 4_000


@each_row(("usage", "tokens"), [
    ({"prompt_tokens": 10}, 10),
    ({"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 5}, 115),
    ({"promptTokenCount": 7}, 7),
    ({"prompt_token_count": 8}, 8),
    ({"input_tokens": 9}, 9),
    (SimpleNamespace(prompt_tokens=11, completion_tokens=2), 11),
    (CompletionUsage(prompt_tokens=12, completion_tokens=2, total_tokens=14), 12),
])  # fmt: skip
def test_usage_is_read_in_every_form(usage: object, tokens: int) -> None:
    """OpenAI, Anthropic (cached tokens counted apart), Gemini, Responses; also as the object that
    a client gives.
    """
    made = engine()
    made.report_usage(usage)
    assert made.decide().prompt_tokens == tokens


@each_row(
    "usage", [{}, {"prompt_tokens": None}, {"prompt_tokens": -3}, {"x": "y"}, None, "many", 0]
)
def test_usage_that_says_nothing_changes_nothing(usage: object) -> None:
    """No zero is taken for a measurement."""
    made = engine()
    before = made.decide()
    made.report_usage(usage)
    assert made.decide() == before


def test_ineffective_runs_are_counted_and_then_wait() -> None:
    """A no-op counts; after two automatic compaction waits and says why; a forced one does not."""
    made = Compressor(context_length=8_000, policy=SMALL)
    made.append({"role": "user", "content": "word " * 9_000})
    made.append({"role": "assistant", "content": "Hm."})
    reasons = [made.compact().reason for _ in range(5)]
    assert "" not in reasons
    assert reasons[-1] in ("ineffective", "cannot")
    assert made.decide().reason == reasons[-1]


@pytest.mark.parametrize(("last", "is_due"), [("user", False), ("tool", True)])
def test_words_that_nobody_may_cut_are_no_reason_to_compact(last: str, is_due: bool) -> None:
    """One huge message alone is not due, even if the window is too small; a result is."""
    made = Compressor(context_length=8_000, policy=SMALL)
    huge = {"role": last, "content": "word " * 9_000}
    if last == "tool":
        function = {"name": "read_file", "arguments": "{}"}
        call = {"id": "c", "type": "function", "function": function}
        made.append({"role": "assistant", "content": None, "tool_calls": [call]})
        huge["tool_call_id"] = "c"
    made.append(huge)
    assert made.decide().due is is_due


def test_a_dense_session_is_called_dense_however_often_it_is_asked() -> None:
    """A run that was not begun says nothing about what stays."""
    made = Compressor(context_length=20_000)
    made.append({"role": "system", "content": "word " * 15_000})
    for number in range(10):
        role = "assistant" if number % 2 else "user"
        made.append({"role": role, "content": f"m{number} " + "word " * 300})
    made.compact()
    made.compact()
    told = [made.compact().detail for _ in range(3)]
    assert all("the session is dense" in detail for detail in told)


def test_the_state_survives_a_restart() -> None:
    """A snapshot and the transcript give an engine that goes on: counts, ledger, calibration."""
    made = engine(model="m")
    made.compact(force=True)
    made.report_usage({"prompt_tokens": 5_000})
    again = Compressor(context_length=8_000, policy=SMALL, model="m")
    again.resume(ITEMS, made.view, made.snapshot())
    assert again.messages == made.messages
    again.append(*more(100))
    report = again.compact(force=True)
    assert report.status == "compacted"
    assert report.compaction_count == 2
    assert check(again.messages) == []
    assert "Ask 1" in str(again.messages)


def test_nothing_crosses_from_one_conversation_to_the_next() -> None:
    """After a reset no summary, reference or count of the old one is left."""
    made = engine()
    old = made.compact(force=True).references[0].ref
    made.reset()
    assert made.messages == []
    assert made.state.count == 0
    made.append(*more(500, 8))
    made.compact(force=True)
    assert "Ask 1:" not in str(made.messages)
    with pytest.raises(UnknownReference):
        made.conversation.recall(old)


def test_search_reaches_what_was_folded() -> None:
    """Letter case aside, newest first; nothing for what is not there."""
    made = engine()
    made.compact(force=True)
    [first, *_] = made.conversation.search("ask 2:")
    assert "Ask 2:" in first[1]
    assert ITEMS[first[0]]["content"].startswith("Ask 2:")
    assert made.conversation.search("no such words") == []


def test_the_tools_answer_in_sentences() -> None:
    """A wrong reference, an unknown tool and an empty search are answered, never raised."""
    made = engine()
    made.compact(force=True)
    ref = made.state.references[0].ref
    assert "Ask" in made.conversation.answer_tool("foldaway_recall", {"ref": ref})
    assert "trying again cannot help" in made.conversation.answer_tool(
        "foldaway_recall", {"ref": "fa-0"}
    )
    assert "Ask 2" in made.conversation.answer_tool("foldaway_search", {"text": "Ask 2"})
    assert "nothing" in made.conversation.answer_tool("foldaway_search", {"text": "qqqq"})
    assert "with text" in made.conversation.answer_tool("foldaway_search", {"query": "Ask 2"})
    assert "no tool" in made.conversation.answer_tool("other", {})


def test_an_empty_engine_answers_everything() -> None:
    """Before the first message nothing is due and nothing can be undone."""
    made = Compressor()
    assert made.messages == []
    assert not made.decide().due
    assert not made.undo()
    assert made.conversation.search("x") == []
    assert made.compact(force=True).status == "unchanged"


def test_messages_given_out_are_a_list_of_ones_own() -> None:
    """A host that changes the list does not change the engine."""
    made = engine()
    made.messages.clear()
    assert made.messages == ITEMS


def test_a_fresh_compressor_goes_on_from_a_summary_merged_into_a_message() -> None:
    """What an earlier run merged into the first message of the tail is not lost when another
    compressor takes the list over: its facts stand in the next summary."""
    items = written("anthropic", [Exchange(2, 1, 900)] * 12, ending="step")
    first = compress(items, provider="anthropic", target_tokens=1_200)
    text = json.dumps(first.messages)
    assert "[foldaway summary" in text
    fact = re.search(r"src/file_[0-9x]+\.py: [a-z ]+", text)
    assert fact is not None
    engine = Compressor(
        context_length=100_000,
        provider="anthropic",
        policy=Policy(floor_tokens=500, target_ratio=0.1, threshold=0.1),
    )
    engine.append(*first.messages)
    more = written("anthropic", [Exchange(2, 1, 900)] * 12, start=40, ending="step")
    engine.append(*more)
    assert engine.compact(force=True).status == "compacted"
    again = json.dumps(engine.messages)
    assert fact.group(0) in again
    assert again.count("[end of foldaway summary]") == 1


def test_the_second_report_counts_the_messages_that_were_seen() -> None:
    """Before and after are what the model saw, not the whole log."""
    made = engine()
    first = made.compact(force=True)
    made.append(*more(40))
    second = made.compact(force=True)
    assert second.messages_before == first.messages_after + len(more(40))
    assert second.messages_after == len(made.messages)


def test_a_huge_newest_message_does_not_switch_compaction_off_for_ever() -> None:
    """While the newest messages alone are over the threshold nothing can help; once they are old
    it can again."""
    made = Compressor(context_length=100_000)
    made.append(*ITEMS[:3], {"role": "user", "content": "word " * 70_000})
    assert (made.decide().due, made.decide().reason) == (False, "cannot")
    made.append(*more(60))
    assert made.decide().due
    assert made.compact().status == "compacted"


def pending_call(name: str) -> dict[str, Any]:
    function = {"name": "shell", "arguments": "{}"}
    calls = [{"id": name, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def calls_and_results(number: int, sizes: Sequence[int], words: str = "") -> list[Any]:
    """Return one step of an agent: calls, and a result of so many words for each."""
    ids = [f"c{number}_{at}" for at in range(len(sizes))]
    calls = [
        {"id": name, "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        for name in ids
    ]
    step: list[Any] = [{"role": "assistant", "content": words or None, "tool_calls": calls}]
    for name, size in zip(ids, sizes, strict=True):
        body = " ".join(f"{name}-{word}" for word in range(size))
        step.append({"role": "tool", "tool_call_id": name, "content": body})
    return step


def test_a_result_larger_than_the_window_is_cut_before_the_next_request() -> None:
    """An automatic run does it, and leaves room for the turns to come; the whole comes back."""
    made = Compressor(context_length=20_000)
    made.append({"role": "user", "content": "Read the log."})
    step = calls_and_results(1, [9_000])
    made.append(*step)
    assert made.decide().prompt_tokens > 20_000
    report = made.compact()
    assert report.status == "compacted"
    assert made.decide().prompt_tokens < report.threshold_tokens
    assert [step[1]] in [made.conversation.recall(row.ref) for row in report.references]


def test_a_session_fits_its_window_however_its_steps_are_cut() -> None:
    """Also where what was kept between two folds, or was cut before, is most of it: it is folded
    when it may be, and never comes back whole."""
    made = Compressor(context_length=12_000)
    made.append({"role": "system", "content": "word " * 4_000}, {"role": "user", "content": "Go."})
    for number in range(12):
        words = f"Step {number}." if number % 4 == 0 else ""
        for message in calls_and_results(number, [500, 600, 400, 300], words):
            made.append(message)
            if made.decide().due:
                made.compact()
        assert made.decide().prompt_tokens <= 12_000
    assert check(made.messages) == []


def test_what_cannot_be_helped_is_tried_once_and_then_waits() -> None:
    """Also beyond the window: a host that asks again and again comes to an end."""
    made = Compressor(context_length=8_000)
    made.append({"role": "user", "content": "word " * 9_000})
    runs = 0
    while made.decide().due:
        made.compact()
        runs += 1
    assert runs <= 2
    assert made.decide().reason in ("cannot", "ineffective")


def test_an_interrupted_call_does_not_switch_compaction_off() -> None:
    """What the host's list already breaks is not held against the result."""
    made = engine()
    made.append(pending_call("zz"), {"role": "user", "content": "stop"})
    made.append({"role": "assistant", "content": "sure"})
    assert made.compact().status == "compacted"


def test_runs_by_hand_that_find_nothing_do_not_switch_compaction_off() -> None:
    """Only an automatic run that was due and in vain counts."""
    made = Compressor(context_length=8_000, policy=SMALL)
    made.append(*ITEMS[:3])
    for _ in range(3):
        assert made.compact(force=True).status == "unchanged"
    made.append(*more(10, 8))
    assert made.decide().due


def test_reports_on_messages_that_were_not_seen_yet_do_not_spoil_the_calibration() -> None:
    """A host that hands its list over only now and then reports every turn all the same."""
    made = engine(context_length=200_000)
    true = made.decide().prompt_tokens
    for turn in range(8):
        made.report_usage({"prompt_tokens": true + 500 * turn})
    assert made.decide().prompt_tokens == true + 3_500
    made.reset()
    made.append(*ITEMS)
    assert made.decide().prompt_tokens == pytest.approx(true, rel=0.05)


@each_row("data", [b"junk", b"{}", b'{"state": 3}', b"\xff\xfe"])
def test_what_is_no_snapshot_is_refused_and_nothing_changes(data: bytes) -> None:
    """One sentence and our own error; the session goes on as it was."""
    made = engine()
    made.compact(force=True)
    before = made.snapshot()
    with pytest.raises(NotReadable, match="snapshot"):
        made.resume(ITEMS, made.view, data)
    assert made.snapshot() == before


def test_a_run_that_would_keep_no_exchange_is_refused() -> None:
    """As in a single run."""
    with pytest.raises(InvalidSetting, match="keep_last"):
        engine().compact(keep_last=0, force=True)


def test_a_window_that_cannot_be_is_refused_and_nothing_changes() -> None:
    """The compressor goes on with the window that it had."""
    made = engine(model=Model(output_tokens=1_000))
    with pytest.raises(InvalidSetting):
        made.use_model("small", 500)
    assert made.settings.context_length == 8_000
    assert made.decide().due


def test_undo_gives_back_a_summary_that_was_merged_into_a_message() -> None:
    """What the host handed in is what it gets back, and what was measured."""
    items = written("anthropic", [Exchange(2, 1, 900)] * 12, ending="step")
    shown = compress(items, provider="anthropic", target_tokens=2_500).messages
    made = Compressor(context_length=8_000, provider="anthropic", policy=SMALL)
    made.append(*shown)
    alone = compress(shown, provider="anthropic", context_length=8_000).report.tokens_before
    assert made.decide().prompt_tokens == pytest.approx(alone, rel=0.02)
    made.append(*written("anthropic", [Exchange(2, 1, 900)] * 6, start=40, ending="step"))
    before = made.messages
    assert made.compact(force=True).status == "compacted"
    assert made.undo()
    assert made.messages == before


@each_row("provider", ["anthropic", "openai-responses", "gemini"])
def test_the_dialect_is_told_by_the_first_message_that_shows_it(provider: str) -> None:
    """Plain words could be anyone's; appended one by one, a conversation is still read rightly."""
    made = Compressor(context_length=8_000, policy=SMALL)
    made.decide()
    for item in written(provider, [Exchange(2, 1, 900)] * 10, ending="reply"):
        made.append(item)
    assert made.compact(force=True).status == "compacted"
    assert check(made.messages, provider=provider) == []


def test_a_result_that_was_shortened_is_found() -> None:
    """Search reaches everything that is not shown any more, folded or not."""
    made = Compressor(context_length=100_000, policy=Policy(protect_first=0, protect_last=2))
    made.append(*ITEMS[:4])
    shell = [
        pending_call("nn"),
        {"role": "tool", "tool_call_id": "nn", "content": "needle42 " * 800},
    ]
    made.append(*shell, *more(30, 1))
    assert made.compact(force=True, target_tokens=made.estimate() - 1_000).rewritten > 0
    assert made.conversation.search("needle42")
    assert "needle42" in made.conversation.answer_tool("foldaway_search", {"text": "needle42"})


def test_references_survive_an_undo() -> None:
    """An agent may have noted one; its original is still there."""
    made = engine()
    fold = made.compact(force=True).references[0]
    made.undo()
    assert made.conversation.recall(fold.ref) == ITEMS[fold.start : fold.stop]


def test_what_was_broken_before_is_said() -> None:
    """The report names the rules that the given list breaks, so that the host can repair it."""
    made = engine()
    made.append(pending_call("zz"), {"role": "user", "content": "stop"})
    made.append({"role": "assistant", "content": "sure"})
    assert any("call-answered" in note for note in made.compact().notes)


def test_what_is_folded_shortened_or_kept_in_the_state_is_redacted() -> None:
    """A secret in a command reaches neither the summary, nor a digest, nor a snapshot."""
    made = Compressor(
        context_length=8_000, policy=SMALL, redact=lambda text: text.replace("SECRET", "[hidden]")
    )
    for number in range(20):
        function = {"name": "bash", "arguments": json.dumps({"command": "curl -H SECRET"})}
        call = [{"id": f"c{number}", "type": "function", "function": function}]
        made.append({"role": "user", "content": f"Run it again, {number}."})
        made.append({"role": "assistant", "content": None, "tool_calls": call})
        made.append({"role": "tool", "tool_call_id": f"c{number}", "content": "row\n" * 300})
        made.append({"role": "assistant", "content": "Done."})
    report = made.compact(force=True)
    assert report.status == "compacted"
    written_by_us = [
        item["content"] for item in made.messages if "[foldaway" in str(item.get("content"))
    ]
    assert written_by_us
    assert not any("SECRET" in text for text in written_by_us)
    assert b"SECRET" not in made.snapshot()


def test_the_budgets_are_in_the_providers_tokens() -> None:
    """Where the provider counts twice what we estimate, half as much is kept, and what is said to
    fit does fit."""

    def kept(ratio: int) -> Report:
        made = engine(context_length=24_000, model="dense")
        for _ in range(3):
            made.report_usage({"prompt_tokens": ratio * made.decide().prompt_tokens})
            made.reset()
            made.append(*ITEMS, *more(20, 12))
        return made.compact(force=True)

    plain, dense = kept(1), kept(2)
    assert (plain.status, dense.status) == ("compacted", "compacted")
    assert dense.tokens_after < plain.tokens_after
    assert (dense.context_length, dense.effective_window) == (24_000, 24_000)


@each_row("value", ["hello", 42, None, {"foo": 1}, [], b"x"])
def test_what_is_no_message_is_not_taken(value: object) -> None:
    """It is refused before it is in the log, and the conversation goes on."""
    compressor = Compressor()
    with pytest.raises(NotReadable, match="expected a message"):
        compressor.append({"role": "user", "content": "hi"}, value)
    assert compressor.messages == []
    compressor.append({"role": "user", "content": "hi"})
    assert len(compressor.messages) == 1

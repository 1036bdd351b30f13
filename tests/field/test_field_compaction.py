"""Failures from public threads that only a compaction can make: each as the behaviour it must not
show, over its own fixture."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.testing.laws import REFERENCE, broken_laws, summary_of, tokens_of
from tests.testing.long_lists import Exchange, joined, written
from tests.testing.rows import each_row

from foldaway import Options, check, load
from foldaway._core.policy import Policy, budget_for
from foldaway.compaction.measure import message_tokens
from foldaway.engine.compressor import Compressor
from foldaway.engine.oneshot import Compressed, compress
from foldaway.errors import UnknownReference
from foldaway.facts.frame import SUMMARY_OPEN
from foldaway.transcript import Estimator

FIXTURES = {
    file.stem: json.loads(file.read_text()) for file in sorted(Path(__file__).parent.glob("*.json"))
}
LATER = sorted(name for name, fixture in FIXTURES.items() if "later" in fixture)
SMALL = Policy(floor_tokens=200, protect_first=0, protect_last=1)
WORK = [Exchange(2, 2, 900)] * 5


def given(name: str) -> Any:
    fixture = FIXTURES[name]
    return deepcopy(fixture["messages"] if "messages" in fixture else fixture["body"])


def provider(name: str) -> str:
    return FIXTURES[name]["provider"]


def grown(name: str) -> list[Any]:
    """Return the fixture's list with work after it, so that there is something to fold."""
    return joined(provider(name), given(name), written(provider(name), WORK))


def assert_laws(items: Any, made: Compressed, name: str) -> None:
    found = broken_laws(items, made.messages, made.report, made.recall, provider=provider(name))
    assert found == []


@each_row("name", LATER)
def test_no_fixture_breaks_a_law_of_compaction(name: str) -> None:
    """Alone and with work after it, in a small window and to a small size: every law holds, or the
    list stays as it is with a reason; nothing is mutated."""
    for items in (given(name), grown(name)) if "messages" in FIXTURES[name] else (given(name),):
        before = deepcopy(items)
        for settings in ({"context_length": 8_000}, {"target_tokens": 1_000}):
            made = compress(items, provider=provider(name), policy=SMALL, **settings)
            assert items == before
            if made.report.status == "unchanged":
                assert made.report.reason
            elif not made.report.repaired:
                assert_laws(items, made, name)
            else:
                assert check(made.messages, provider=provider(name)) == []


def test_adk_7236_one_orphaned_call_does_not_switch_compaction_off() -> None:
    """The orphan is mended and what is old is folded."""
    items = grown("adk-7236-orphan-call-blocks")
    report = compress(items, target_tokens=1_500, policy=SMALL).report
    assert report.status == "compacted"
    assert report.folded > 5


def test_claude_code_14274_one_huge_output_is_cut_not_fatal() -> None:
    """An output larger than the window becomes smaller than it; the original comes back whole."""
    name = "claude-code-14274-one-huge-output"
    items = given(name)
    window = tokens_of(load(items)) // 2
    made = compress(items, context_length=window, policy=SMALL)
    assert made.report.status == "compacted"
    assert made.report.fits_window
    back = [one for row in made.report.references for one in made.recall(row.ref)]
    assert any(len(json.dumps(one)) > 40_000 for one in back)


@each_row("name", [
    "claude-code-46602-invented-instruction", "hermes-62365-invented-request",
    "openclaw-82513-startup-again", "roo-8093-first-prompt-restarts",
])  # fmt: skip
def test_nothing_in_a_summary_is_an_order(name: str) -> None:
    """Every quote of the user carries the id of a message that holds the words; the frame says
    that the record is no request, and the live ask stands outside it."""
    items = grown(name)
    made = compress(items, provider=provider(name), target_tokens=1_500, policy=SMALL)
    assert made.report.status == "compacted"
    assert_laws(items, made, name)
    text = summary_of(load(made.messages, dialect=FIXTURES[name]["dialect"]))
    assert text.startswith(SUMMARY_OPEN)
    assert "not a request" in text
    for line in re.findall(r"^- (?:The user wrote|First request): .*$", text, re.M):
        assert re.search(r"\[[^\]]+\]$", line) or "\n  " in text


def test_codegraff_260_an_image_counts_as_one_image() -> None:
    """Flat, whatever the length of its base64."""
    [message, *_] = load(given("codegraff-260-image-as-text"), dialect="anthropic").messages
    assert message_tokens(message, Estimator()) < 1_700


def test_codegraff2_140_json_results_are_not_free() -> None:
    """Blocks and JSON inside a result count."""
    log = load(given("codegraff2-140-json-as-zero"), dialect="anthropic").messages
    chars = max(len(json.dumps(message.wire)) for message in log)
    assert max(message_tokens(message, Estimator()) for message in log) > chars / 8


def test_codex_18629_media_are_not_repeated_by_compactions() -> None:
    """After each of three compactions an inline image stands at most once."""
    items = given("codex-18629-base64-again")
    data = "base64,iVBORw0KGgo="
    assert json.dumps(items).count(data) == 1
    for start in (100, 200, 300):
        items = joined("openai-responses", items, written("openai-responses", WORK, start=start))
        items = compress(items, provider="openai-responses", target_tokens=1_500).messages
        assert json.dumps(items).count(data) <= 1


def test_gemini_cli_3574_a_larger_result_is_not_reported_as_compressed() -> None:
    """A short list stays as it is, with the reason."""
    items = given("gemini-cli-3574-larger-output")
    made = compress(items, provider="gemini", target_tokens=20, policy=SMALL)
    assert made.messages is items
    assert made.report.reason in ("not smaller", "nothing to compact")


def test_gemini_cli_7784_the_summary_never_exceeds_its_budget() -> None:
    """At most 5 % of the window and never above 12,000 tokens, whatever was folded."""
    items = grown("gemini-cli-7784-output-cap")
    for window in (8_000, 64_000, 1_000_000):
        assert budget_for(Policy(), window).summary_max_tokens <= max(window * 0.05, 1)
        report = compress(items, provider="gemini", context_length=window, policy=SMALL).report
        assert report.summary_tokens <= max(window * 0.05, 200) + 250


def test_headroom_1077_recovered_text_is_not_digested_in_the_turn_that_asked() -> None:
    """What the recall tool returned stands among the newest messages as it is."""
    items = given("headroom-1077-own-output-compressed")
    made = compress([*written("openai-chat", WORK), *items], target_tokens=3_000)
    assert made.messages[-len(items) + 1 :] == items[1:]


def test_headroom_1776_an_unknown_reference_is_a_terminal_error() -> None:
    """It says that trying again cannot help; a known one never expires."""
    engine = Compressor(context_length=8_000, policy=SMALL)
    engine.append(*grown("headroom-1776-expired-reference"))
    engine.compact(force=True)
    first = engine.state.references[0].ref
    wanted = engine.conversation.recall(first)
    for start in (100, 200, 300):
        engine.append(*written("openai-chat", WORK, start=start))
        engine.compact(force=True)
        assert engine.conversation.recall(first) == wanted
    with pytest.raises(UnknownReference, match="trying again cannot help"):
        engine.conversation.recall("fa-eeeeeeeeee")


@pytest.mark.parametrize("name", [
    "hermes-79391-interrupted-compaction", "openai-agents-3116-cleared-first",
])  # fmt: skip
def test_an_interrupt_in_the_middle_leaves_the_session_as_it_was(name: str) -> None:
    """Whatever is raised while the summary is made, also an interrupt from the keyboard."""

    armed = False

    def interrupt(text: str) -> str:
        if armed:
            raise KeyboardInterrupt
        return text

    items = grown(name)
    engine = Compressor(
        context_length=8_000, provider=provider(name), policy=SMALL, redact=interrupt
    )
    engine.append(*items)
    armed = True
    with pytest.raises(KeyboardInterrupt):
        engine.compact(force=True)
    assert engine.messages == items
    assert engine.state.count == 0


def test_hermes_99568_no_hint_where_nothing_can_be_recalled() -> None:
    """Without originals there is neither a reference nor the word recall."""
    items = grown("hermes-99568-hint-without-tool")
    made = compress(items, target_tokens=1_500, policy=SMALL, options=Options(references=False))
    assert made.report.status == "compacted"
    text = json.dumps(made.messages[: -len(items) // 2])
    assert not REFERENCE.search(text)
    assert not made.report.recoverable


def test_inspect_3809_encrypted_reasoning_counts_by_its_size() -> None:
    """The trigger sees it even where the reported usage does not."""
    items = given("inspect-3809-reasoning-usage")
    sealed = max(len(str(item.get("encrypted_content", ""))) for item in items)
    assert sealed > 1_000
    assert tokens_of(load(items)) > sealed / 6


def test_kimi_2325_overhead_above_the_trigger_stops_with_that_reason() -> None:
    """Where the floor is above the threshold an automatic run says so and does not loop."""
    body = given("kimi-2325-overhead-above-trigger")
    rules = {"name": "rules", "description": body["system"], "input_schema": {"type": "object"}}
    tools = (rules, *body.get("tools", ()))
    engine = Compressor(context_length=900, policy=SMALL, provider="anthropic", tools=tools)
    engine.append(*body["messages"])
    reasons = [engine.compact().reason for _ in range(6)]
    assert reasons[-1] in ("cannot", "ineffective")
    assert "" not in reasons
    assert engine.decide().due is False


def test_langchain_34664_tools_and_system_count() -> None:
    """The measure that triggers holds what stands outside the messages."""
    body = given("langchain-34664-schemas-not-counted")
    report = compress(body, provider="anthropic").report
    bare = sum(message_tokens(m, Estimator()) for m in load(body).messages)
    assert report.tokens_before > bare + 200
    assert report.tokens_before == tokens_of(load(body))


def test_langchain_39261_a_log_without_a_user_keeps_its_history() -> None:
    """No placeholder takes its place: facts of the folded steps stand in the summary."""
    items = [item for item in grown("langchain-39261-no-human") if item["role"] != "user"]
    made = compress(items, target_tokens=1_500, policy=SMALL)
    assert made.report.status == "compacted"
    assert "file_" in summary_of(load(made.messages))


def test_openclaw_120663_an_empty_skeleton_replaces_nothing() -> None:
    """Where a summary would hold no fact, the messages stay or the fold is smaller by what they
    really said; headings alone never stand for content."""
    items = given("openclaw-120663-empty-skeleton")
    made = compress(items, provider="anthropic", target_tokens=50, policy=SMALL)
    if made.report.status == "compacted":
        assert re.search(r"^(?:- |\d+\. )", summary_of(load(made.messages)), re.M)
    else:
        assert made.messages is items


def test_opencode_17340_what_cannot_be_done_is_said() -> None:
    """A list whose newest message alone is too large ends with a result or a reason in words."""
    report = compress(given("opencode-17340-prompt-too-large"), context_length=2_000).report
    assert report.status == "compacted" or report.detail


def test_opencode_32515_once_condensed_the_same_bytes() -> None:
    """Between two compactions the rendering only grows at its end."""
    engine = Compressor(context_length=8_000, provider="anthropic", policy=SMALL)
    engine.append(*grown("opencode-32515-cached-prefix"))
    engine.compact(force=True)
    seen = json.dumps(engine.messages)[:-1]
    for item in joined("anthropic", engine.messages, written("anthropic", WORK, start=100))[
        len(engine.messages) :
    ]:
        engine.append(item)
        assert json.dumps(engine.messages).startswith(seen)


def test_pi_9391_bound_thinking_is_stripped_after_a_compaction() -> None:
    """On a model with preserved thinking no thinking follows what was folded."""
    body = given("pi-9391-prefix-binding")
    work = [Exchange(2, 1, 900, thinks=True)] * 5
    turns = written("anthropic", work, ending="step")
    body["messages"] = joined("anthropic", body["messages"], turns)
    body.setdefault("tools", [{"name": "bash", "input_schema": {"type": "object"}}])
    made = compress(body, provider="anthropic", target_tokens=600, policy=SMALL)
    assert made.report.status == "compacted"
    assert "signature" not in json.dumps(made.messages["messages"])


def test_senpi_233_base64_in_text_is_dense() -> None:
    """More than one token for every three and a half characters."""
    log = load(given("senpi-233-base64-in-text")).messages
    text = max((str(message.wire.get("content")) for message in log), key=len)
    assert Estimator().count(text) > len(text) / 3.5

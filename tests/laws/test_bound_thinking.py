"""Thinking in a tool loop, on models that bind it to the messages before it and on others."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway import Model, Options, check
from foldaway._core.policy import Policy
from foldaway.engine.compressor import Compressor
from foldaway.engine.oneshot import compress
from foldaway.engine.run import Run, finish_run
from foldaway.sessions import internals
from foldaway.sessions.session import Session

SMALL = Policy(floor_tokens=500)
BINDS, FREE = "claude-opus-5-5", "claude-sonnet-4-5"
FRAMES: dict[str, Any] = {
    "adaptive": {"type": "adaptive"},
    "enabled": {"type": "enabled", "budget_tokens": 1_024},
    "disabled": {"type": "disabled"},
    "absent": None,
}
DROPS = {"prefix_mismatch_behavior": "drop_block"}
EVERY_FRAME = pytest.mark.parametrize("frame", FRAMES)


def toolkit() -> ModuleType:
    """Return the rules of the toolkit of providers, which shares no code with ours."""
    shared = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("FOLDAWAY_DATA", shared)).resolve().parent / "agents"
    if not (folder / "rules.py").is_file():
        pytest.skip("no toolkit of providers here: FOLDAWAY_DATA is shared/data with agents beside")
    sys.path.insert(0, str(folder))
    try:
        import rules  # pyright: ignore
    finally:
        sys.path.remove(str(folder))
    return rules


Sign = Callable[[dict[str, Any], str], str]
Judge = Callable[[dict[str, Any]], list[str]]


def judged_by_us(body: dict[str, Any]) -> list[str]:
    """Return the rules about thinking that a request breaks."""
    found = {one.rule for one in check(body, provider="anthropic")}
    return sorted(rule for rule in found if rule.startswith("thinking"))


def judged_by_toolkit(rules: ModuleType) -> Judge:
    def judge(body: dict[str, Any]) -> list[str]:
        verdict = rules.check_messages(body, {"anthropic-version": "2023-06-01"})
        return sorted({one.rule for one in verdict.broken})

    return judge


class Host:
    """An agent with a list of its own, and a provider that signs what it thinks for the request
    that it got."""

    def __init__(self, session: Session, model: str, frame: str, sign: Sign, judge: Judge) -> None:
        self.session, self.sign, self.judge = session, sign, judge
        self.frame: dict[str, Any] = {"model": model, "max_tokens": 4_096, "tools": [
            {"name": "ls", "input_schema": {"type": "object"}}]}  # fmt: skip
        if FRAMES[frame] is not None:
            self.frame["thinking"] = FRAMES[frame]
        self.messages: list[Any] = []
        self.found: Any = None
        self.calls = self.compactions = 0
        self.reasons: list[str] = []

    def ask(self, words: str) -> None:
        self.messages.append({"role": "user", "content": words})

    def step(self, *, chars: int = 900, reminds: bool = False, replies: bool = False) -> None:
        """Send a request, and take what the provider answers."""
        body = {**self.frame, "messages": list(self.messages)}
        found = self.found = self.session.follow(request=body)
        sent = found.body
        assert self.judge(sent) == []
        assert bool(found.headers) == (sent.get("thinking") != body.get("thinking"))
        self.compactions += found.report.status == "compacted"
        self.reasons.append(found.report.reason or "")
        text = f"Thought {len(self.messages)}."
        thought = {"type": "thinking", "thinking": text, "signature": self.sign(sent, text)}
        thoughts = [] if self.frame.get("thinking", {}).get("type") == "disabled" else [thought]
        if replies:
            self.messages.append({"role": "assistant", "content": [*thoughts, said("Done.")]})
            return
        self.calls += 1
        call = {"type": "tool_use", "id": f"t{self.calls}", "name": "ls", "input": {}}
        result = {"type": "tool_result", "tool_use_id": call["id"],
                  "content": "".join(f"file_{self.calls}.py: line {number}\n"
                                     for number in range(chars // 20))}  # fmt: skip
        note = [said("<system-reminder>Mind the budget.</system-reminder>")] if reminds else []
        self.messages.append({"role": "assistant", "content": [*thoughts, call]})
        self.messages.append({"role": "user", "content": [result, *note]})


def said(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def run(host: Host, turns: list[tuple[int, bool]]) -> None:
    for number, (steps, reminds) in enumerate(turns):
        host.ask(f"Ask {number}: go through file_{number}.py")
        for _ in range(steps):
            host.step(reminds=reminds)
        host.step(replies=True)


TURNS = st.lists(st.tuples(st.integers(0, 14), st.booleans()), min_size=1, max_size=4)
LONG = [(30, False), (3, True), (30, True)]


def hosts(frame: str, model: str, drops: bool, sign: Sign, judge: Judge) -> Host:
    made = Model(model, context_length=6_000, drops_stale_thinking=drops)
    return Host(Session(model=made, policy=SMALL), model, frame, sign, judge)


@pytest.mark.shared
@EVERY_FRAME
@pytest.mark.parametrize("model", [BINDS, FREE])
@pytest.mark.parametrize("drops", [False, True])
def test_no_request_breaks_a_rule_and_compaction_happens(
    frame: str, model: str, drops: bool
) -> None:
    """Judged by the toolkit, which signs each block for the request that it answers."""
    rules = toolkit()
    host = hosts(frame, model, drops, rules.sign_thinking, judged_by_toolkit(rules))
    run(host, LONG)
    assert host.compactions > 3
    assert "cannot" not in host.reasons


@EVERY_FRAME
@given(turns=TURNS, model=st.sampled_from([BINDS, FREE]), drops=st.booleans())
def test_no_request_breaks_our_own_rules(
    frame: str, turns: list[tuple[int, bool]], model: str, drops: bool
) -> None:
    """However long turns are, and whether a host puts words beside its results."""
    run(hosts(frame, model, drops, lambda *_: "c2ln", judged_by_us), turns)


@pytest.mark.parametrize("as_bytes", [False, True])
def test_the_setting_and_its_header_go_with_every_later_request(as_bytes: bool) -> None:
    """As long as thinking is shown that is bound to what changed, also after a restart."""
    host = hosts("enabled", BINDS, True, lambda *_: "c2ln", judged_by_us)
    host.ask("Go.")
    while not host.found or not host.found.headers:
        host.step()
    body: Any = {**host.frame, "messages": list(host.messages)}
    found = host.session.follow(request=json.dumps(body, indent=1).encode() if as_bytes else body)
    sent = json.loads(found.body) if as_bytes else found.body
    assert sent["thinking"] == {**FRAMES["enabled"], "block_binding": DROPS}
    assert found.headers == {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
    assert list(sent) == list(body)
    own = {**body, "thinking": {**FRAMES["enabled"], "block_binding": DROPS}}
    assert not host.session.follow(request=own).headers


@pytest.mark.parametrize("drops", [False, True])
def test_a_request_by_itself_keeps_the_rules_too(drops: bool) -> None:
    """The review's case: thinking is enabled, and a tool loop is in progress."""
    host = hosts("enabled", BINDS, False, lambda *_: "c2ln", judged_by_us)
    host.session = Session(context_length=10**6)
    host.ask("Go.")
    for _ in range(30):
        host.step()
    body = {**host.frame, "messages": host.messages}
    model = Model(BINDS, drops_stale_thinking=drops)
    made = compress(body, model=model, target_tokens=3_000, policy=SMALL)
    assert made.report.status == "compacted"
    assert judged_by_us(made.messages) == []
    contents = [one["content"] for one in made.messages["messages"]]
    kinds = [block["type"] for one in contents if isinstance(one, list) for block in one]
    assert ("tool_use" in kinds) == ("thinking" in kinds) == drops
    assert (made.messages["thinking"].get("block_binding") == DROPS) == drops


def shown_results(body: dict[str, Any]) -> str:
    """Return all that the newest message says, in results and beside them."""
    held = body["messages"][-1]["content"]
    blocks = [said(held)] if isinstance(held, str) else held
    return "".join(str(block.get("text") or block.get("content")) for block in blocks)


@pytest.mark.parametrize("model", [BINDS, FREE])
def test_the_newest_result_of_a_loop_stays_whole(model: str) -> None:
    """No model has seen it: it is a text if it cannot stay a result, and the ask is there too."""
    host = hosts("enabled", model, False, lambda *_: "c2ln", judged_by_us)
    host.ask("Go through all of them.")
    for _ in range(60):
        body = host.messages[-1]["content"]
        host.step()
        newest = body if isinstance(body, str) else body[0]["content"]
        sent = host.found.body
        assert newest in shown_results(sent)
        assert "Go through all of them." in json.dumps(sent)
        assert check(sent, provider="anthropic") == []
    assert 3 < host.compactions < 20


@pytest.mark.parametrize("tokens", [2_000, 3_000, 6_000])
def test_a_request_by_itself_keeps_its_newest_results(tokens: int) -> None:
    """Two results of one step and what the host says beside them; a second run changes nothing."""
    host = hosts("enabled", BINDS, False, lambda *_: "c2ln", judged_by_us)
    host.session = Session(context_length=10**6)
    host.ask("Go.")
    for _ in range(30):
        host.step()
    blocks = host.messages[-2]["content"]
    blocks.append({"type": "tool_use", "id": "more", "name": "ls", "input": {"path": "src"}})
    second = {"type": "tool_result", "tool_use_id": "more", "content": [said("src: 3 files")]}
    host.messages[-1]["content"] += [second, said("<system-reminder>Mind it.</system-reminder>")]
    body = {**host.frame, "messages": host.messages}
    model = Model(BINDS)
    made = compress(body, model=model, target_tokens=tokens, policy=SMALL)
    assert made.report.status == "compacted"
    assert check(made.messages, provider="anthropic") == []
    shown = shown_results(made.messages)
    for wanted in (host.messages[-1]["content"][0]["content"], "src: 3 files", "Mind it.", '"src"'):
        assert wanted in shown
    assert made.messages["messages"][0]["content"] == "Go."
    again = compress(made.messages, model=model, target_tokens=tokens // 2, policy=SMALL)
    assert '"Go."' in json.dumps(again.messages)


def test_a_newest_result_that_is_too_large_is_cut_last() -> None:
    """Everything else is folded first, and the request fits."""
    host = hosts("enabled", BINDS, False, lambda *_: "c2ln", judged_by_us)
    host.ask("Go.")
    for _ in range(5):
        host.step()
    host.step(chars=60_000)
    host.step()
    assert host.found.report.status == "compacted"
    assert host.found.report.tokens_after < 6_000
    shown = shown_results(host.found.body)
    assert "file_6.py: line" in shown
    assert len(shown) > 3_000


def test_what_cannot_be_compacted_stays_with_the_reason() -> None:
    """A host that asks to keep the loop gets its list back, and hears why."""
    host = hosts("enabled", BINDS, False, lambda *_: "c2ln", judged_by_us)
    host.session = Session(context_length=10**6)
    host.ask("Go.")
    for _ in range(30):
        host.step()
    engine = internals(host.session).engine
    report = engine.compact(force=True, pinned=[engine.length - 1])
    assert (report.status, report.reason) == ("unchanged", "cannot")
    assert "thinking" in report.detail


def test_what_came_while_a_summary_was_written_loses_its_bound_thinking() -> None:
    """It answered what the model saw before the summary was there."""
    engine = Compressor(model=Model(BINDS, context_length=6_000), provider="anthropic",
                        policy=SMALL)  # fmt: skip
    host = hosts("adaptive", BINDS, False, lambda *_: "c2ln", judged_by_us)
    host.session = Session(context_length=10**6)
    host.ask("Go.")
    for _ in range(30):
        host.step()
    *before, newer, last = host.messages
    engine.append(*before)
    run = engine.begin_run(Options(), force=True, frozen=True)
    assert isinstance(run, Run)
    engine.append(newer, last)
    assert engine.end_run(run, finish_run(run.todo)).status == "compacted"
    assert engine.messages[-1] == last
    assert [block["type"] for block in engine.messages[-2]["content"]] == ["tool_use"]

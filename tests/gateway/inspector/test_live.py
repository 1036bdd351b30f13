"""What runs now: by the events of a gateway on a real server, and by files that are written to."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.gateway.inspector.serving import TOKEN, gateway_with_pages

from foldaway.gateway.events import SessionChanged
from foldaway.gateway.figures import GatewayFault, Outcome
from foldaway.gateway.inspector.live_board import (
    MOST_CONVERSATIONS,
    MOST_ENTRIES,
    LiveBoard,
    LiveFiles,
    LiveView,
    compaction_words,
    near_words,
)
from foldaway.gateway.inspector.session_sources import file_name_of
from foldaway.gateway.inspector.site import environment
from foldaway.gateway.states import CompactionTold, ConversationState
from foldaway.testing import ModelServer, Sends

WINDOW = 16_000
STATE = "/inspector/live/state"
GIVEN = {"x-foldaway-token": TOKEN}


class Talk:
    """A conversation that grows by a step each time, through a gateway."""

    def __init__(self, url: str, name: str = "talk") -> None:
        self.url, self.name = url, name
        self.messages: list[Any] = [{"role": "user", "content": f"Repair the parser of {name}."}]

    def say(self) -> httpx.Response:
        at = len(self.messages)
        function = {"name": "read_file", "arguments": f'{{"path": "src/{at}.py"}}'}
        call = {"id": f"call_{at}", "type": "function", "function": function}
        text = f"secret-content {at}: the parser of module_{at}.py fails at line {at * 7}; " * 25
        self.messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{at}", "content": text},
        ]
        body = {"model": "gpt-5", "messages": self.messages, "tools": [
            {"type": "function", "function": {"name": "read_file", "description": "Read."}}
        ]}  # fmt: skip
        headers = {"x-foldaway-session": self.name, "user-agent": "opencode/1.0"}
        return httpx.post(f"{self.url}/v1/chat/completions", json=body, headers=headers, timeout=60)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer("Done.") as server:
        yield server


@pytest.fixture
def gateway(tmp_path: Path, model: ModelServer) -> Iterator[str]:
    """A gateway with pages whose conversations are compacted after a few steps."""
    with gateway_with_pages(tmp_path, model, WINDOW) as url:
        yield url


def until(url: str, is_there: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the state as soon as something is in it: what follows an answer comes after it."""
    for _ in range(500):
        state = httpx.get(f"{url}{STATE}", headers=GIVEN).json()
        if is_there(state):
            return state
        time.sleep(0.01)
    raise AssertionError(state)


@pytest.mark.slow
def test_a_page_that_comes_later_sees_fill_decisions_and_money(gateway: str) -> None:
    """A conversation has its title, its window, what was decided last, and notices before and after
    its compaction.
    """
    talk = Talk(gateway)
    for _ in range(40):
        assert talk.say().status_code == 200
    state = until(gateway, lambda state: any(n["title"] == "Compacted" for n in state["notices"]))
    html, titles = state["html"], [notice["title"] for notice in state["notices"]]
    assert "Repair the parser of talk." in html
    assert "of 16k tokens" in html
    assert "compaction 1:" in html
    assert titles.index("Compacted") > 0
    assert titles[0] in ("A compaction is near", "A compaction may come")
    page = httpx.get(f"{gateway}/inspector/live", headers=GIVEN)
    assert "connecting" in page.text
    assert 'href="/inspector/session/' in page.text


def test_events_hold_no_content(gateway: str) -> None:
    """Not a word of a conversation is in the events that are sent."""
    kinds: set[str] = set()
    events = f"{gateway}/foldaway/events"
    with httpx.stream("GET", events, timeout=60, headers=GIVEN) as stream:
        lines = stream.iter_lines()
        assert next(lines) == ": foldaway"
        talk = Talk(gateway)
        for _ in range(30):
            talk.say()
        for line in lines:
            if not line.startswith("data: "):
                continue
            assert "secret-content" not in line
            assert "Repair" not in line
            event = json.loads(line.removeprefix("data: "))
            kinds.add(event["kind"])
            if kinds >= {"request", "state", "compaction"}:
                break
    assert "fault" not in kinds


def test_a_request_that_failed_is_told_until_the_next_one(gateway: str, model: ModelServer) -> None:
    talk = Talk(gateway)
    talk.say()
    model.replies(Sends(status=500, body={"error": {"message": "no"}}))
    talk.say()
    said = "the provider answered 500"
    state = until(gateway, lambda state: said in state["html"])
    assert f'<p class="bad">{said}' in state["html"]
    model.replies("Done.")
    talk.say()
    state = until(gateway, lambda state: f'<p class="bad">{said}' not in state["html"])
    assert said in state["html"], "the list of what happened still has it"


def state_of(number: int, **given: Any) -> ConversationState:
    usual: dict[str, Any] = {
        "conversation": f"c{number}", "agent": "opencode", "model": "gpt-5", "session": "s",
        "prompt_tokens": 9_000, "window_tokens": WINDOW, "threshold_tokens": 10_000,
    }  # fmt: skip
    return ConversationState(**{**usual, **given})


def test_what_is_remembered_is_bounded() -> None:
    board = LiveBoard(lambda session: "")
    for number in range(MOST_ENTRIES + MOST_CONVERSATIONS):
        board.hear(state_of(number, is_near=True))
    view = board.look()
    assert len(view.conversations) == MOST_CONVERSATIONS
    assert len(view.entries) == MOST_ENTRIES
    assert view.conversations[0].key.startswith(f"c{MOST_ENTRIES + MOST_CONVERSATIONS - 1} ")


def test_a_notice_comes_once_before_and_once_after() -> None:
    """A window that stays nearly full is said once; it may be said again after a compaction."""
    board = LiveBoard(lambda session: "")
    done = CompactionTold(conversation="c1", model="gpt-5", result="done", number=1,
                          tokens_before=9_000, tokens_after=2_000, writer="ledger")  # fmt: skip
    for event in (
        state_of(1, is_near=True), state_of(1, is_near=True), done, state_of(1), state_of(1),
        state_of(1, is_near=True), state_of(1, summary="ready"),
    ):  # fmt: skip
        board.hear(event)
    titles = [notice.title for notice in board.look().notices]
    assert titles == ["A compaction is near", "Compacted", "A compaction is near"]
    assert board.look().compactions == 1
    assert board.look().conversations[0].summary == "ready"


def test_sums_are_those_of_turns_alone() -> None:
    """Counting tokens and listing models cost nothing and are no requests of a conversation."""
    board = LiveBoard(lambda session: "")
    board.hear(Outcome(wire="chat", conversation="c", status=200, cost=0.5, saved=0.25))
    board.hear(Outcome(wire="chat", operation="count", status=200))
    board.hear(GatewayFault("OSError"))
    board.hear(SessionChanged(what="undoCompaction", session="s"))
    board.hear({"kind": "unknown"})
    view = board.look()
    assert (view.requests, view.cost, view.saved, view.faults) == (1, 0.5, 0.25, 1)
    assert len(view.entries) == 3


def test_steps_have_their_kind_time_and_money() -> None:
    """Requests, tools, compactions and faults, the newest first; a fault has its reason."""
    times = count(10, 10)
    calls = {"s": (4, [(15.0, "read_file, bash")])}
    asked: list[int] = []

    def read_tools(session: str, start: int) -> tuple[int, list[tuple[float, str]]]:
        asked.append(start)
        return calls.get(session, (4, []))

    board = LiveBoard(lambda session: "", lambda: float(next(times)), read_tools)
    said: dict[str, Any] = {"wire": "chat", "conversation": "c1", "agent": "pi", "status": 200}
    board.hear(Outcome(**said, input_tokens=900, cost=0.02))
    board.hear(state_of(1, session="s"))
    board.hear(CompactionTold(conversation="c1", result="done", number=1))
    board.hear(Outcome(**said, note="pass; deadline"))
    board.hear(Outcome(**said, note="pass; nothing is due"))
    board.hear(GatewayFault("OSError"))
    entries = board.look().entries
    kinds = ["fault", "request", "fault", "compaction", "tool", "request"]
    assert [entry.kind for entry in entries] == kinds
    assert [entry.tone == "bad" for entry in entries] == [kind == "fault" for kind in kinds]
    assert entries[0].text.startswith("an error of the gateway (OSError)")
    assert entries[2].text == "forwarded unchanged: deciding took too long"
    assert (entries[4].text, entries[4].time, entries[5].cost) == ("read_file, bash", 15.0, 0.02)
    board.hear(state_of(1, session="s"))
    calls.clear()
    assert len(board.look().entries) == 6
    assert asked == [0, 4]


def test_decisions_are_said_in_words() -> None:
    told = CompactionTold(conversation="c", result="failed", reason="cannot", detail="too much")
    assert compaction_words(told) == ("no compaction (cannot): too much", "bad")
    late = CompactionTold(conversation="c", result="undone")
    assert compaction_words(late)[1] == "warn"
    assert near_words(9_000, 10_000, 1).endswith("about 1 more answer until a compaction is due")
    assert "answer" not in near_words(9_000, 10_000, None)


# Files


def answer(at: int, tokens: int) -> dict[str, Any]:
    usage = {"input_tokens": 10, "cache_read_input_tokens": tokens, "output_tokens": 5}
    message = {"id": f"msg_{at}", "role": "assistant", "model": "claude-sonnet-4-5",
               "content": [{"type": "text", "text": "yes"}], "usage": usage}  # fmt: skip
    return {"type": "assistant", "uuid": f"a{at}", "sessionId": "one", "message": message,
            "timestamp": f"2026-01-01T00:00:{at:02}Z"}  # fmt: skip


def written(path: Path, *sizes: int) -> None:
    rows: list[dict[str, Any]] = []
    for at, size in enumerate(sizes):
        key = "sk-ant-api03-" + "a1B2" * 20 + "-abcdefAA"
        asked = {"type": "user", "uuid": f"u{at}", "sessionId": "one", "cwd": "/work",
                 "timestamp": f"2026-01-01T00:00:{at:02}Z",
                 "message": {"role": "user", "content": f"Use {key} for it"}}  # fmt: skip
        rows += [asked, answer(at, size)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def hide(text: str) -> str:
    return text.replace("sk-ant", "[hidden]")


def test_nothing_is_said_of_a_compaction_that_nobody_makes(tmp_path: Path) -> None:
    """Aider sends its whole chat, and its file says no more: no threshold, no answers left."""
    turn = "#### Go on.\n\nDone.\n\n> Tokens: {}k sent, 1.0k received.\n\n"
    path = tmp_path / ".aider.chat.history.md"
    head = "# aider chat started at 2026-01-01 10:00:00\n\n> Model: gpt-5 with diff format\n\n"
    path.write_text(head + "".join(turn.format(size) for size in (20, 40, 60, 200)))
    (row,) = LiveFiles([tmp_path], hide, file_name_of, 0.0).look().conversations
    assert (row.agent, row.prompt_tokens) == ("aider", 200_000)
    assert (row.threshold_tokens, row.answers_left, row.is_near) == (0, None, False)
    html = (
        environment()
        .get_template("live_state.html.j2")
        .render(view=LiveView(conversations=[row]), is_live=False)
    )
    assert "% of 272k tokens." in " ".join(html.replace("</strong>", "").split())
    assert "compacted" not in html


def test_a_file_that_is_written_to_is_followed(tmp_path: Path) -> None:
    """Its fill is that of the last answer; an old file is not shown; notices come when it grows."""
    path, old = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    written(old, 1_000)
    os.utime(old, (1, 1))
    written(path, 20_000, 30_000)
    files = LiveFiles(
        [tmp_path], lambda text: text.replace("sk-ant", "[hidden]"), file_name_of, 0.0
    )
    (row,) = files.look().conversations
    assert row.prompt_tokens == 30_010
    assert "sk-ant" not in row.title
    assert row.session.startswith("file-")
    assert files.look().notices == ()
    written(path, 20_000, 30_000, 160_000)
    os.utime(path, (time.time() + 1, time.time() + 1))
    view = files.look()
    assert [notice.title for notice in view.notices] == ["A compaction is near"]
    assert [entry.kind for entry in view.entries] == ["request"] * 3
    assert view.entries[0].text.startswith("160k tokens in")
    assert view.entries[0].cost > view.entries[2].cost > 0
    assert view.requests == 3

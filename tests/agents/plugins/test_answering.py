"""What plug-ins are answered: views that stay, summaries, facts, originals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from tests.agents.plugins.agent_lists import LISTS, RULE, opencode_list, pi_list

from foldaway._core.policy import Policy
from foldaway.agents.plugins.answering import AgentSessions, EndAnswer, EndRequest
from foldaway.stores import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import SessionFilter

WINDOW = 80_000
AGENTS = pytest.mark.parametrize("agent", LISTS)


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        yield opened


def asked(do: Any, **more: Any) -> EndRequest:
    return EndRequest(id=1, do=do, session="one", model="m", **{"window": WINDOW, **more})


def view(sessions: AgentSessions, messages: list[Any]) -> EndAnswer:
    return sessions.answer(asked("view", messages=messages))


@AGENTS
def test_a_long_list_is_folded_and_stays_so(agent: str, store: Store) -> None:
    """The same list gives the same edits, in another process too; a longer one only adds to
    them, so that the provider's cache holds.
    """
    make, sessions = LISTS[agent], AgentSessions(agent, store)
    assert view(sessions, make(3)).edits is None
    first = view(sessions, make(30))
    assert first.edits is not None
    assert first.tokens < WINDOW / 2
    assert view(sessions, make(30)) == first
    assert view(AgentSessions(agent, store), make(30)) == first
    longer = view(sessions, make(32))
    assert longer.edits is not None
    assert longer.edits[:-1] == first.edits[:-1]
    assert longer.edits[-1] == [first.edits[-1][0], len(make(32))]
    assert any(type(one[0]) is dict for one in longer.edits)


def test_the_usage_of_an_answer_is_taken_once(store: Store) -> None:
    """It corrects the estimate; the same list again is no further answer."""
    sessions, own = AgentSessions("pi", store), pi_list(4)
    for message in own:
        if message["role"] == "assistant":
            message["usage"] = {"input": 20_000, "output": 10, "cacheRead": 5, "cacheWrite": 0}
    for stop in (5, 8, 8, 11):
        view(sessions, own[:stop])
    (info,) = store.sessions(SessionFilter()).sessions
    assert len(store.usage(info.id)) == 2


def test_pi_gets_a_summary_of_what_it_folds(store: Store) -> None:
    """Also if it asks for it first, as in a session from before the installation; and the next
    one goes on from it.
    """
    sessions, own = AgentSessions("pi", store, policy=Policy(save="off")), pi_list(12)
    summary = sessions.answer(asked("summary", messages=own[:20])).text
    assert RULE in summary
    told = {"role": "compactionSummary", "summary": summary, "tokensBefore": 1, "timestamp": 5}
    after = [told, *own[20:], *pi_list(20)[38:]]
    assert view(sessions, after).edits is None
    again = sessions.answer(asked("summary", messages=after[:30])).text
    assert RULE in again
    assert again.count("## Goal") == 1


def test_a_summary_keeps_what_the_user_asks_for(store: Store) -> None:
    """`/compact FOCUS` of Pi: what would be left out for want of room is in it."""
    sessions, own = AgentSessions("pi", store), pi_list(60, calls=1)
    for at, one in enumerate(own):
        if one["role"] == "toolResult":
            lines = [f"ERROR {line} in topic{at} of the log" for line in range(20)]
            one["content"][0]["text"] = "\n".join(lines)

    def summary(focus: str) -> str:
        return sessions.answer(asked("summary", messages=own, window=20_000, focus=focus)).text

    assert "topic7 " not in summary("")
    assert "topic7 " in summary("topic7")


def test_facts_for_a_summary_and_those_that_it_dropped(store: Store) -> None:
    """Also of before a compaction of the agent's own; nothing is said of a session that is not
    known.
    """
    sessions, own = AgentSessions("opencode", store), opencode_list(8)
    assert sessions.answer(asked("facts")).text == ""
    view(sessions, own)
    facts = sessions.answer(asked("facts")).text
    assert facts.startswith("Facts from the log")
    assert RULE in facts
    dropped = sessions.answer(asked("dropped", summary=f"The user said: {RULE} {facts}")).text
    assert RULE not in dropped
    compaction = {"info": {**own[0]["info"], "id": "c"}, "parts": [{"type": "compaction"}]}
    said = {"info": {"role": "assistant", "summary": True},
            "parts": [{"type": "text", "text": "We read files."}]}  # fmt: skip
    view(sessions, [compaction, said, *own[6:], *opencode_list(12)[9:]])
    assert RULE in sessions.answer(asked("facts")).text


def test_a_list_to_be_summarized_fits_the_window(store: Store) -> None:
    """OpenCode has a model summarize its own list, in which nothing was folded."""
    sessions = AgentSessions("opencode", store)
    assert sessions.answer(asked("head", messages=[])).edits is None
    assert sessions.answer(asked("head", messages=opencode_list(5))).edits is None
    answer = sessions.answer(asked("head", messages=opencode_list(60)))
    assert answer.tokens < WINDOW / 4
    ((message,),) = answer.edits or ()
    assert message["info"]["role"] == "user"
    assert RULE in message["parts"][0]["text"]
    assert not store.sessions(SessionFilter()).sessions


def test_what_was_folded_is_found_and_recalled(store: Store) -> None:
    """Search and recall, also behind a compaction of the agent's own."""
    sessions = AgentSessions("pi", store)
    answer = view(sessions, pi_list(90))
    found = re.search(r"fa-[0-9a-f]{10}", json.dumps(answer.edits))
    assert found is not None

    def call(tool: str, **arguments: Any) -> str:
        return sessions.answer(asked("call", tool=tool, arguments=arguments)).text

    assert "toolu" in call("foldaway_recall", ref=found[0]) or "tool_result" in call(
        "foldaway_recall", ref=found[0]
    )
    assert "line of c5-0" in call("foldaway_search", text="line of c5-0")
    told = {"role": "compactionSummary", "summary": "Files were read.", "timestamp": 5}
    view(sessions, [told, *pi_list(91)[-6:]])
    assert "line of c5-0" in call("foldaway_search", text="line of c5-0")
    assert "nothing" in call("foldaway_search", text="zebra")
    assert "no tool" in call("foldaway_unknown")


def test_every_line_with_a_number_is_answered(store: Store) -> None:
    """A fault is named without content, what is no request is passed over, and the next line is
    answered.
    """
    lines = [
        b"not JSON\n",
        b'{"id": 1, "do": "unknown", "session": "one"}\n',
        b'{"id": 2, "do": "view", "session": "one", "window": -1}\n',
        b'{"id": 3, "do": "facts", "session": "one"}\n',
        json.dumps({"id": 4, "do": "view", "session": "one", "messages": pi_list(1)}).encode(),
    ]
    out = BytesIO()
    AgentSessions("pi", store).serve(BytesIO(b"".join(lines)), out)
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [one["id"] for one in answers] == [2, 3, 4]
    assert set(answers[0]) == {"id", "error"}
    assert "error" not in answers[2]
    assert store.sessions(SessionFilter()).sessions

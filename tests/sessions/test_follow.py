"""A session follows the list that a host keeps, whatever the host does to it."""

from __future__ import annotations

import copy
import gzip
import json
import operator
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.long_lists import Exchange, written
from tests.testing.rows import each_row

from foldaway import Model, Policy, check
from foldaway.caching.prices import Prices
from foldaway.dialects.conversion import convert
from foldaway.errors import Conflict, InvalidSetting
from foldaway.sessions import SessionOptions, internals
from foldaway.sessions.following import Insert, Keep, Replace, apply_edits
from foldaway.sessions.rows import frame_of
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.values import NewSession

DATA = Path(os.environ.get("FOLDAWAY_DATA") or Path(__file__).parents[3] / "shared" / "data")
DIALECTS = ("openai-chat", "openai-responses", "anthropic", "gemini")
WINDOW: Any = {"context_length": 8_000, "policy": Policy(floor_tokens=500)}
CLAUDE_CODE_SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. The "
    "summary below covers the earlier portion of the conversation."
)
WORDS = "and the words that fill a window go on and on " * 12


def talk(count: int, start: int = 0) -> list[Any]:
    """Return turns of an agent: an ask, a call, its result, an answer."""
    found: list[Any] = []
    for number in range(start, start + count):
        function = {"name": "read_file", "arguments": json.dumps({"path": f"module_{number}.py"})}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        found += [
            {"role": "user", "content": f"Question {number} on module_{number}.py. {WORDS}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": f"{number}: {WORDS}"},
            {"role": "assistant", "content": f"Answer {number}. {WORDS}"},
        ]
    return found


def spoken(dialect: str, count: int, start: int = 0) -> list[Any]:
    """Return the same in a wire format."""
    made = convert(talk(count, start), dialect).messages
    return made if isinstance(made, list) else next(iter(made.values()))


def dumped(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_longer_list_appends_what_is_new_and_is_compacted_when_due(dialect: str) -> None:
    """The host keeps all of its messages; what it sends stays inside the window and is valid."""
    session, whole = Session(**WINDOW), spoken(dialect, 24)
    step = len(whole) // 12
    changed = False
    for stop in range(step, len(whole) + 1, step):
        found = session.follow(whole[:stop])
        assert session.info.length == stop
        assert apply_edits(found.edits, whole[:stop]) == found.messages
        assert check(found.messages, dialect=dialect) == []
        kept = [whole[at] for edit in found.edits if isinstance(edit, Keep)
                for at in range(edit.start, edit.stop)]  # fmt: skip
        own = [one for one in found.messages if any(one is mine for mine in whole)]
        assert len(own) == len(kept)
        changed = changed or found.is_changed
        again = session.follow(whole[:stop])
        assert (dumped(again.messages), again.course) == (dumped(found.messages), "same")
    assert changed
    assert session.info.compactions >= 2
    assert len(session.store.lineage(session.id)) == 1


def test_a_result_with_a_summary_of_the_host_beside_it_is_recognized() -> None:
    """The log has the result without the summary, the host's list has both."""
    session, whole = Session(**WINDOW), spoken("anthropic", 12)
    result = next(one for one in whole[10:] if one["content"][0].get("type") == "tool_result")
    result["content"].append({"type": "text", "text": f"{CLAUDE_CODE_SUMMARY}\n\n1. {WORDS}"})
    first = session.follow(whole)
    assert first.is_changed
    again = session.follow(whole)
    assert (again.course, dumped(again.messages)) == ("same", dumped(first.messages))


@each_row("dialect", DIALECTS)
def test_a_host_that_takes_what_it_was_given_goes_on_from_there(dialect: str) -> None:
    """What comes back is recognized: one log, in which every message is once."""
    session, host = Session(**WINDOW), list[Any]()
    whole = spoken(dialect, 24)
    step = len(whole) // 12
    for start in range(0, len(whole), step):
        host += whole[start : start + step]
        host = session.follow(host).messages
    rows = [json.loads(row.body) for row in session.store.read(session.id)]
    assert dumped(rows) == dumped(whole)
    assert session.info.compactions >= 2


def with_marks(messages: list[Any]) -> list[Any]:
    return [{**one, "cache_control": {"type": "ephemeral"}} for one in messages]


def with_keys(messages: list[Any]) -> list[Any]:
    return [{"_db_persisted": True, **one, "finish_reason": "stop"} for one in messages]


def turned_around(messages: list[Any]) -> list[Any]:
    return [dict(reversed(one.items())) for one in messages]


def as_blocks(messages: list[Any]) -> list[Any]:
    return [
        {**one, "content": [{"type": "text", "text": one["content"]}]}
        if isinstance(one.get("content"), str) and one["role"] != "tool"
        else one
        for one in messages
    ]


def with_new_ids(messages: list[Any]) -> list[Any]:
    return json.loads(json.dumps(messages).replace("call_", "toolu_x"))


def merged(messages: list[Any]) -> list[Any]:
    """Return messages as hosts send them that never have two of a user in a row."""
    found: list[Any] = []
    for one in messages:
        last = found[-1] if found else None
        if last and last["role"] == one["role"] == "user":
            both = (last["content"], one["content"])
            if all(isinstance(content, str) for content in both):
                found[-1] = {**last, "content": "\n\n".join(both)}
            else:
                found[-1] = as_blocks([last])[0]
                found[-1]["content"] = [*found[-1]["content"], *as_blocks([one])[0]["content"]]
        else:
            found.append(one)
    return found


DISGUISES: tuple[Callable[[list[Any]], list[Any]], ...] = (
    with_marks, with_keys, turned_around, as_blocks, with_new_ids,
)  # fmt: skip


@given(st.lists(st.sampled_from([*DISGUISES, merged]), min_size=12, max_size=12), st.booleans())
def test_no_spelling_of_the_same_list_is_another_list(
    disguises: list[Callable[[list[Any]], list[Any]]], adopts: bool
) -> None:
    """Keys, marks, order, blocks, ids, merged neighbors: whether the host keeps its own list or
    goes on with what it was given, nothing is entered twice and nothing branches."""
    session, host, whole = Session(**WINDOW), list[Any](), talk(24)
    for number, disguise in enumerate(disguises):
        host += whole[8 * number : 8 * number + 8]
        shown = disguise(list(host))
        found = session.follow(shown)
        assert found.course in ("new", "continues")
        host = found.messages if adopts else host
    assert session.info.length == len(whole)
    assert len(session.store.lineage(session.id)) == 1


@pytest.mark.parametrize("between", ["\n\n", "\n", " ", ""])
@pytest.mark.parametrize("adopts", [False, True])
def test_blocks_that_a_host_joins_are_the_same_message(between: str, adopts: bool) -> None:
    """Its own and those that our summary is in, with whatever it puts between them; edited blanks
    of one string are not."""

    def as_string(one: Any) -> Any:
        content = one["content"]
        if not isinstance(content, list):
            return one
        texts = [part["text"] for part in cast("list[Any]", content)]
        return {**one, "content": between.join(texts)}

    session, host, whole = Session(**WINDOW), list[Any](), talk(24)
    for one in whole:
        if isinstance(one["content"], str):
            parts = [one["content"][:9], one["content"][9:].strip()]
            one["content"] = [{"type": "text", "text": part} for part in parts]
    for start in range(0, len(whole), 8):
        host = [*map(as_string, host), *whole[start : start + 8]]
        found = session.follow(host)
        assert found.course in ("new", "continues")
        host = found.messages if adopts else host
    assert session.info.compactions > 1
    assert session.info.length == len(whole)
    last = as_string(whole[-1])
    session.follow([*map(as_string, host), last])
    edited = {**last, "content": last["content"].replace(" on ", "  on\n")}
    assert session.follow([*map(as_string, host), edited]).course == "volatile"


def test_words_beside_our_summary_are_the_users_and_are_kept() -> None:
    """A host that puts the summary and the next request into one string loses neither."""
    session, whole = Session(**WINDOW), talk(20)
    host = session.follow(whole, force=True).messages
    at = next(n for n, one in enumerate(host) if "recall fa-" in (one["content"] or ""))
    asked = "Now deploy it to staging-eu-7, please."
    one_string = [*host[:at], {**host[at], "content": f"{host[at]['content']}\n\n{asked}"}]
    found = session.follow([*one_string, *host[at + 1 :]])
    assert asked in dumped(found.messages)
    said = [json.loads(row.body) for row in session.store.read(session.id)]
    assert any(asked == one.get("content") for one in said) or asked in dumped(said)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_list_that_is_cut_anywhere_ends_with_what_was_cut(dialect: str) -> None:
    """A summary says that the conversation follows: so something does, wherever a host goes back
    to, also exactly to the end of what was folded.
    """
    session, whole = Session(**WINDOW), spoken(dialect, 24)
    for stop in range(8, len(whole) + 1, 8):
        session.follow(whole[:stop])
    assert session.info.compactions
    for stop in range(1, len(whole) + 1):
        last = dumped(session.follow(whole[:stop]).messages[-1])
        words = re.findall(r"(?:Question|Answer) \d+", dumped(whole[stop - 1]))
        assert "[foldaway summary" not in last or (words and last.count(words[0]) == 1), stop


def test_a_shorter_list_loses_nothing_and_another_end_is_a_branch() -> None:
    """What was known stays in its session, and references lead to it from every branch."""
    session, whole = Session(key="host"), talk(30)
    session = Session(key="host", **WINDOW)
    first = session.follow(whole, force=True)
    row = first.report.references[0]
    before = session.follow(whole[:8])
    assert (before.course, before.messages) == ("rewind", whole[:8])
    other = session.follow([*whole[:8], *talk(1, 90)])
    assert other.course == "branch"
    assert other.report.compaction_count == first.report.compaction_count
    assert session.recall(row.ref) == whole[row.start : row.stop]
    back = session.follow([*whole, *talk(1, 31)])
    assert back.course == "continues"
    assert len(session.store.lineage(session.id)) == 2
    assert session.info.length == len(whole) + 4


@pytest.mark.parametrize("text", ["Edited.", f"Edited. {WORDS * 2}"])
def test_a_list_from_before_an_edit_finds_its_way_back(text: str) -> None:
    """Whichever of the two the host sends, and whichever goes on: none begins a session again."""
    session, whole = Session(context_length=100_000), talk(6)
    edited = [*whole[:4], {**whole[4], "content": text}, *whole[5:]]
    session.follow(whole)
    session.follow(edited)
    session.follow(whole)
    known = len(session.store.lineage(session.id))
    for number in range(3):
        for one in (edited, whole):
            one += talk(1, 20 + number)
            assert session.follow(one).course == "continues"
            assert not session.follow(one).is_changed
    assert len(session.store.lineage(session.id)) == known <= 3


def test_a_list_that_the_host_compacted_goes_on_under_the_same_key(tmp_path: Path) -> None:
    """Its summary takes the place of what it dropped; a restart goes on there."""
    whole = talk(12)
    session = Session(tmp_path, "host", **WINDOW)
    session.follow(whole)
    own = {"role": "user", "content": "This session is being continued from a previous "
           "conversation that ran out of context.\n\n## Goal\nFix the modules."}  # fmt: skip
    found = session.follow([own, *whole[-4:], *talk(1, 50)])
    assert found.course == "compression"
    again = Session(tmp_path, "host", **WINDOW)
    assert again.id == session.id
    assert again.follow([own, *whole[-4:], *talk(1, 50)]).course == "same"
    assert len(again.store.read(again.info.parent_id)) == len(whole)


def test_a_tail_that_the_host_rewrites_each_time_is_kept_when_it_stays() -> None:
    """As goose does: a clock before the newest call. After the first surprise nothing branches."""
    session, whole = Session(**WINDOW), talk(30)
    courses: list[str] = []
    for stop in range(4, len(whole) + 1, 2):
        clock = {"role": "user", "content": f"<info>it is {stop}</info>"}
        found = session.follow([*whole[: stop - 2], clock, *whole[stop - 2 : stop]])
        courses.append(found.course)
        assert found.messages[-3:] == [clock, *whole[stop - 2 : stop]]
    assert set(courses[3:]) == {"continues"}
    assert session.info.compactions >= 1
    rows = session.store.read(session.id, 4)
    assert not any(b"<info>" in row.body for row in rows)


def test_messages_between_rewritten_ones_are_no_sign_of_a_shorter_list() -> None:
    """A host that notes the time in its newest results leaves its calls as they are."""
    session, whole = Session(**WINDOW), talk(30)
    courses: list[str] = []
    for stop in range(3, len(whole) + 1, 4):
        newest = [
            {**one, "content": f"{one['content']} at {stop}"} if one["role"] == "tool" else one
            for one in whole[max(stop - 6, 0) : stop]
        ]
        found = session.follow([*whole[: max(stop - 6, 0)], *newest])
        courses.append(found.course)
        assert found.messages[-len(newest) :] == newest
    assert "compression" not in courses
    assert set(courses[3:]) == {"continues"}
    assert 1 <= session.info.compactions < 10


def test_an_end_that_was_rewritten_once_is_kept_from_the_next_request_on() -> None:
    """What the user edits once is not what a host rewrites each time."""
    session, whole, clock = Session(context_length=100_000), talk(4), system("It is late.")
    session.follow([system("It is early."), *whole])
    edited = [*whole[:-8], *talk(2, 90)]
    assert session.follow([clock, *edited]).course == "volatile"
    goes_on = [*edited, *talk(1, 5)]
    assert session.follow([clock, *edited]).course == "same"
    assert session.follow([clock, *goes_on]).course == "continues"
    rows = [json.loads(row.body) for row in session.store.read(session.id)]
    assert rows[1:] == goes_on


SCRIPT = """
import json, sys
from foldaway import Policy
from foldaway.sessions.session import Session
where, key, count = sys.argv[1:]
from tests.sessions.test_follow import WINDOW, spoken
session = Session(where, key, **WINDOW)
print(json.dumps(session.follow(spoken(key, int(count))).messages))
"""


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_list_gives_the_same_bytes_after_a_restart_and_elsewhere(
    tmp_path: Path, dialect: str
) -> None:
    """Also through a copy, a pickle and another process, and nothing is written twice."""
    session = Session(tmp_path, dialect, **WINDOW)
    whole = spoken(dialect, 24)
    found = dumped(session.follow(whole, force=True).messages)
    again = Session(tmp_path, dialect, **WINDOW)
    for one in (again, copy.deepcopy(session), pickle.loads(pickle.dumps(session))):
        assert (one.id, dumped(one.follow(whole).messages)) == (session.id, found)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), dialect, "24"],
        capture_output=True, text=True, check=True, cwd=root,
    )  # fmt: skip
    assert dumped(json.loads(done.stdout)) == found
    assert session.info.length == len(whole)


def test_two_handles_on_one_key_agree(tmp_path: Path) -> None:
    """Each takes up what the other one wrote; nothing is entered twice."""
    whole = talk(24)
    first, second = Session(tmp_path, "k", **WINDOW), Session(tmp_path, "k", **WINDOW)
    for stop in range(8, len(whole) + 1, 8):
        one = first.follow(whole[:stop])
        two = second.follow(whole[:stop])
        assert dumped(one.messages) == dumped(two.messages)
        first, second = second, first
    assert first.info.length == second.info.length == len(whole)
    assert first.id == second.id


def test_a_request_comes_back_as_the_same_bytes_except_for_what_changed() -> None:
    """Blanks, escapes and numbers of everything that stayed are as the host wrote them."""
    body = json.dumps(
        {"model": "m", "temperature": 1.0, "messages": talk(24), "note": "caf\u00e9"}, indent=1
    )
    short = json.dumps({"model": "m", "messages": talk(1)}).encode()
    session = Session(**WINDOW)
    assert session.follow(request=short).body is short
    found = session.follow(request=body.encode(), force=True)
    made = json.loads(found.body)
    assert made["messages"] == found.messages
    assert found.body.endswith(body.encode()[-30:])
    for edit in found.edits:
        assert isinstance(edit, (Keep, Replace, Insert))
    kept = json.dumps(talk(24)[-1], indent=1).replace("\n", "\n  ").encode()
    assert kept in found.body
    as_object = Session(**WINDOW).follow(request=json.loads(body), force=True)
    assert dumped(as_object.body) == dumped(made)


def test_tools_and_the_answer_count() -> None:
    """What stands beside the messages is measured, not guessed."""
    tools = [{"type": "function", "function": {"name": f"tool_{n}", "description": WORDS,
              "parameters": {"type": "object", "properties": {}}}} for n in range(20)]  # fmt: skip
    request = {"model": "m", "messages": talk(4)}
    bare = Session(**WINDOW).follow(request=request).report
    full = Session(**WINDOW).follow(request={**request, "tools": tools, "max_tokens": 900}).report
    assert full.prompt_tokens > bare.prompt_tokens + 20 * 100
    assert full.effective_window == bare.effective_window - 900


def test_a_failed_constructor_and_an_unused_session_leave_nothing(tmp_path: Path) -> None:
    """A session is there from its first message on."""
    for window in (-1, 0):
        with pytest.raises(InvalidSetting, match="a number of tokens, at least 1"):
            Session(tmp_path, "k", context_length=window)
        with pytest.raises(InvalidSetting, match="a number of tokens, at least 1"):
            Session(tmp_path, "k").change(context_length=window)
    Session(tmp_path, "k")
    with open_store(tmp_path) as store:
        assert store.folders() == {}


REQUESTS = sorted((DATA / "requests").glob("*.jsonl.gz"))


@pytest.mark.shared
@pytest.mark.skipif(not REQUESTS, reason="needs the captured requests of FOLDAWAY_DATA")
@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: path.name.partition(".")[0])
def test_requests_of_real_agents_are_followed_without_a_false_branch(path: Path) -> None:
    """Each body comes out as the same bytes; only goose rewrites its newest messages, and only
    requests for a title are another conversation."""
    session, courses = Session(key=path.name), list[str]()
    with gzip.open(path) as lines:
        for line in lines:
            body = json.loads(line)["body"].encode()
            for _ in range(2):
                found = session.follow(request=body)
                assert found.body is body
                courses.append(found.course)
    allowed = {"new", "continues", "same"}
    if path.name.startswith(("goose", "opencode")):
        allowed |= {"delegation"}
    if path.name.startswith("goose"):
        allowed |= {"volatile"}
        assert courses.count("volatile") <= 2
    assert set(courses) <= allowed


def test_the_objects_of_the_clients_are_taken_as_they_come() -> None:
    """Messages and whole responses of the openai and anthropic packages, as their own types."""
    chat = pytest.importorskip("openai.types.chat")
    responses = pytest.importorskip("openai.types.responses")
    anthropic = pytest.importorskip("anthropic.types")
    said = {"role": "assistant", "content": "Done.", "refusal": None}
    completion = chat.ChatCompletion.model_validate({
        "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": said}],
    })  # fmt: skip
    for one in (completion, completion.choices[0].message, completion.model_dump_json().encode()):
        session = Session()
        session.append({"role": "user", "content": "Do it."}, one)
        assert session.messages[1]["content"] == "Done."
        assert check(session.messages) == []
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Done.", "annotations": []}]}  # fmt: skip
    response = responses.Response.model_construct(
        id="r1", object="response", output=[responses.ResponseOutputMessage.model_validate(item)]
    )
    session = Session(options=SessionOptions(provider="openai-responses"))
    session.append({"role": "user", "content": "Do it."}, response)
    assert session.messages[1]["content"][0]["text"] == "Done."
    answer = anthropic.Message.model_validate({
        "id": "m1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": [{"type": "text", "text": "Done."}],
    })  # fmt: skip
    session = Session(options=SessionOptions(provider="anthropic"))
    session.append({"role": "user", "content": "Do it."}, answer)
    assert session.messages[1] == {
        "role": "assistant", "content": [{"type": "text", "text": "Done."}],
    }  # fmt: skip
    assert check(session.messages, dialect="anthropic") == []


@pytest.mark.slow
def test_after_warming_up_the_first_compaction_loads_nothing() -> None:
    """In a process of its own: no module of ours is imported any more."""
    script = (
        "import sys, foldaway; foldaway.warm();"
        "from tests.sessions.test_follow import talk, WINDOW;"
        "known = {name for name in sys.modules if name.startswith('foldaway')};"
        "session = foldaway.Session(**WINDOW); session.follow(talk(24), force=True);"
        "print(sorted(n for n in sys.modules if n.startswith('foldaway') and n not in known))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("last", [1, 4])
def test_a_host_that_went_on_with_a_view_may_change_its_end(last: int) -> None:
    """What it sends is its own list, and the log before stays with the session before."""
    session, whole = Session(**WINDOW), talk(24)
    host = session.follow(whole, force=True).messages
    edited = [*host[:-last], {"role": "user", "content": "No: undo that first."}]
    if last == 1:
        edited = [*edited, *talk(1, 60)]
    found = session.follow(edited)
    assert found.course in ("volatile", "branch", "compression")
    assert dumped(found.messages) == dumped(edited)
    assert dumped(session.follow(edited).messages) == dumped(edited)
    goes_on = [*edited, {"role": "assistant", "content": "Undone."}]
    assert dumped(session.follow(goes_on).messages) == dumped(goes_on)


@pytest.mark.parametrize("course", ["new", "branch", "compression"])
def test_results_are_shown_as_the_host_has_them_after_a_restart_too(
    tmp_path: Path, course: str
) -> None:
    """Nothing is reduced on arrival, also in the child of a list that went another way."""
    lines = "\n".join(f"\x1b[32mok\x1b[0m   test_{number % 3} passed   " for number in range(300))
    whole = talk(6)
    whole[2]["content"] = whole[-2]["content"] = lines
    session = Session(tmp_path, "k", context_length=100_000)
    if course == "branch":
        session.follow([*talk(3), *talk(12, 30)])
    elif course == "compression":
        session.follow([*talk(3, 70), *whole[-4:]])
    first = session.follow(whole)
    assert not first.is_changed
    assert dumped(Session.open(tmp_path, session.id).messages) == dumped(whole)
    again = Session(tmp_path, "k", context_length=100_000).follow(whole)
    assert dumped(again.messages) == dumped(whole)
    appended = Session(context_length=100_000)
    appended.append(*whole)
    assert dumped(appended.messages) != dumped(whole)  # fed by append, it is reduced


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_what_a_host_merges_into_the_last_message_is_new(dialect: str) -> None:
    """Into a request that nobody answered, or into a result: only the new words are appended, and
    the host's own message is sent."""
    asked = {"type": "text", "text": "And then deploy it."}
    whole = spoken(dialect, 2)
    whole = whole[:-3] if dialect == "openai-chat" else whole[:-1]
    session, last = Session(**WINDOW), whole[-1]
    session.follow(whole)
    said = last["content"]
    said = [*said, asked] if isinstance(said, list) else f"{said}\n\n{asked['text']}"
    host = [*whole[:-1], {**last, "content": said}, *talk(1, 9)[-1:]]
    found = session.follow(host)
    assert (found.course, found.messages) == ("continues", host)
    assert session.info.length == len(host) + 1
    assert asked["text"] in str(session.recall(f"m{len(whole)}"))


def test_an_agent_of_its_own_under_the_same_key_is_a_delegation(tmp_path: Path) -> None:
    """It shares nothing with the session that it came from, and is found again by its list."""
    system = {"role": "system", "content": "You help."}
    session = Session(tmp_path, "k", **WINDOW)
    session.follow([system, *talk(3)])
    main, lines = session.id, {**talk(1, 70)[2], "content": "ok   passed   \n" * 300}
    other = [system, *talk(2, 70)[:2], lines, *talk(2, 70)[3:]]
    assert session.follow(other).course == "delegation"
    info = session.info
    assert (info.descent, info.parent_id, info.length) == ("delegation", main, len(other))
    again = Session(tmp_path, "k", **WINDOW)
    assert again.id == main
    assert dumped(again.follow([*other, *talk(1, 80)]).messages) == dumped([*other, *talk(1, 80)])
    assert again.id == info.id


@pytest.mark.parametrize("head", [1, 2])
@pytest.mark.parametrize(("newest", "step"), [(3, 2), (5, 2), (5, 4), (7, 4)])
def test_a_host_that_only_sends_its_newest_messages_loses_none(
    newest: int, head: int, step: int, tmp_path: Path
) -> None:
    """Beside the first ones, as Cline and `trim_messages` do: each of them is in a log."""
    store = open_store(tmp_path)
    session = Session(store, context_length=1_000_000)
    names = ("user", "assistant")
    whole: list[Any] = [{"role": names[at % 2], "content": f"{at}: {WORDS}"} for at in range(40)]
    sent: set[str] = set()
    for stop in range(newest + head, len(whole), step):
        listed = [*whole[:head], *whole[max(stop - newest, head) : stop]]
        session.follow(listed)
        sent |= {dumped(one) for one in listed}
    logs = [store.read(info.id) for info in store.lineage(session.id)]
    held = {dumped(json.loads(one.body)) for log in logs for one in log}
    assert sent <= held
    store.close()


def test_a_session_goes_on_under_another_key(tmp_path: Path) -> None:
    """Every key leads to it, with all that was given out; one that has not begun takes the last."""
    new = NewSession(source="host")
    session = Session(tmp_path, "a", **WINDOW, options=SessionOptions(new=new))
    session.switch(key="b")
    found = session.follow(talk(20), force=True)
    row = found.report.references[0]
    for key in ("b", "c", "c"):
        session.switch(key=key)
    again = Session(tmp_path, "b", **WINDOW, options=SessionOptions(new=new))
    assert again.id == Session(tmp_path, "c", options=SessionOptions(new=new)).id == session.id
    assert again.recall(row.ref) == session.recall(row.ref) == talk(20)[row.start : row.stop]
    assert dumped(again.follow(talk(20)).messages) == dumped(found.messages)
    assert again.info.compactions == 1
    assert Session(tmp_path, "a", options=SessionOptions(new=new)).key == "a"


@pytest.mark.parametrize("count", [0, 1])
def test_no_session_goes_on_under_the_key_of_another_conversation(
    count: int, tmp_path: Path
) -> None:
    """Whether it has begun or not; nothing is written there."""
    other = Session(tmp_path, "other")
    other.append(*talk(1))
    session = Session(tmp_path, "mine")
    session.append(*talk(count, 5))
    with pytest.raises(Conflict):
        session.switch(key="other")
    with pytest.raises(InvalidSetting, match="key"):
        session.switch(key="")
    session.append(*talk(1, 6))
    assert Session(tmp_path, "other").info.length == 4
    assert Session(tmp_path, "mine").id == session.id


def test_the_key_leads_to_what_was_begun_in_its_place(tmp_path: Path) -> None:
    """After one reset and after two; the sessions before are there by their ids."""
    session, ids = Session(tmp_path, "k"), list[str]()
    for number in range(3):
        session.append(*talk(1, number))
        ids.append(session.id)
        again = Session(tmp_path, "k")
        assert (again.id, again.key, session.key) == (session.id, "k", "k")
        assert again.messages == talk(1, number)
        session = session.switch()
    for number, name in enumerate(ids):
        assert Session.open(tmp_path, name).messages == talk(1, number)
    assert Session(tmp_path, "k").messages == []


def test_what_was_used_before_the_first_message_begins_nothing() -> None:
    """The report says how full the window is, and the session begins in its own wire format."""
    session = Session(**WINDOW)
    session.used({"prompt_tokens": 7_000})
    assert internals(session).engine.decide().due
    session.follow(request={"max_tokens": 9, "messages": spoken("anthropic", 3)})
    assert session.info.dialect == "anthropic"


def test_cache_marks_are_those_of_the_hosts_newest_request() -> None:
    """A host marks its newest messages and moves the marks on. What is sent has no others: the
    provider takes four."""

    def marked(messages: list[Any]) -> list[Any]:
        found = copy.deepcopy(messages)
        for message in found[-3:]:
            if isinstance(message["content"], str):
                message["content"] = [{"type": "text", "text": message["content"]}]
            message["content"][-1]["cache_control"] = {"type": "ephemeral"}
        return found

    session, whole = Session(**WINDOW), spoken("anthropic", 30)
    compactions = 0
    for length in range(2, len(whole) + 1, 2):
        found = session.follow(request={"max_tokens": 9, "messages": marked(whole[:length])})
        compactions += found.report.status == "compacted"
        marks = [at for at, one in enumerate(found.messages) if "cache_control" in str(one)]
        count = min(length, 3)
        assert marks == list(range(len(found.messages)))[-count:]
    assert compactions > 1


def test_a_handle_sees_what_another_one_compacted_and_took_back(tmp_path: Path) -> None:
    whole = talk(20)
    one = Session(tmp_path, "k", **WINDOW)
    one.follow(whole[:20])
    other = Session(tmp_path, "k", **WINDOW)
    assert other.compact(force=True).status == "compacted"
    assert dumped(one.follow(whole[:20]).messages) == dumped(other.messages) != dumped(whole[:20])
    assert other.undo()
    assert dumped(one.follow(whole[:22]).messages) == dumped(whole[:22])


@pytest.mark.parametrize("mode", ["in-place", "rotate"])
def test_a_retry_is_the_same_after_every_compaction_of_a_host_that_goes_on_with_the_view(
    tmp_path: Path, mode: Any
) -> None:
    """Its list holds the summary before: in this process, after a restart, and if what was sent
    was refused and compacted again."""

    def opened() -> Session:
        return Session(tmp_path, "k", **WINDOW, options=SessionOptions(new=NewSession(mode=mode)))

    session, host, compactions = opened(), list[Any](), 0
    for one in talk(40):
        host.append(one)
        found = session.follow(host)
        if found.report.status == "compacted":
            compactions += 1
            for handle in (session, opened()):
                again = handle.follow(host)
                assert (again.course, dumped(again.messages)) == ("same", dumped(found.messages))
            if compactions == 3:
                session.compact(force=True, keep_last=2)
                again = session.follow(host)
                assert (again.course, again.messages) == ("same", session.messages)
        host = found.messages
    assert compactions > 3
    assert session.info.length == len(talk(40))


def system(text: object, role: str = "system") -> dict[str, Any]:
    return {"role": role, "content": f"You help. {text}"}


@pytest.mark.parametrize("adopts", [False, True])
@given(
    st.lists(
        st.lists(st.builds(system, st.integers(), st.sampled_from(["system", "developer"])),
                 max_size=2), min_size=12, max_size=12)
)  # fmt: skip
def test_system_messages_at_the_start_are_the_hosts_of_now(adopts: bool, heads: list[Any]) -> None:
    """A clock, a folder, one more or none: the conversation is the same one, and what is sent has
    those of the request. The log keeps the first, the session the newest."""
    session, host, whole = Session(**WINDOW), list[Any](), talk(24)
    for number, head in enumerate(heads):
        host = [*host, *whole[8 * number : 8 * number + 8]]
        for course in ("continues", "same"):
            found = session.follow([*head, *host])
            assert found.course == (course if number or course == "same" else "new")
            assert found.messages[: len(head)] == head
            assert not any(one["role"] == "system" for one in found.messages[len(head) :])
        host = found.messages[len(head) :] if adopts else host
    rows = [json.loads(row.body) for row in session.store.read(session.id)]
    assert dumped(rows) == dumped([*heads[0], *whole])
    if any(head != heads[0] for head in heads):
        assert frame_of(session.info)["head"] == heads[-1]


def test_an_agent_with_another_system_message_is_a_delegation() -> None:
    """What tells conversations apart is what was said in them, however short they are."""
    session = Session(**WINDOW)
    session.follow([system("a"), *talk(1)])
    assert session.follow([system("b"), *talk(2, 70)]).course == "delegation"
    other = session.id
    assert session.follow([system("c"), *talk(2)]).course == "continues"
    assert session.follow([system("d"), *talk(3, 70)]).course == "continues"
    assert session.id == other


def objects_of_clients() -> list[tuple[str, list[Any]]]:
    """Lists that hold the objects of clients: as messages, as items, and inside of a message."""
    chat = pytest.importorskip("openai.types.chat")
    responses = pytest.importorskip("openai.types.responses")
    anthropic = pytest.importorskip("anthropic.types")
    function = {"name": "read", "arguments": "{}"}
    said = chat.ChatCompletionMessage.model_validate({
        "role": "assistant", "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    })  # fmt: skip
    call = responses.ResponseFunctionToolCall.model_validate(
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
    )
    block = anthropic.ToolUseBlock.model_validate(
        {"type": "tool_use", "id": "c1", "name": "read", "input": {}}
    )
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "text"}
    return [
        ("openai-chat", [said, {"role": "tool", "tool_call_id": "c1", "content": "text"}]),
        ("openai-responses", [call, {"type": "function_call_output", "call_id": "c1",
                                     "output": "text"}]),
        ("anthropic", [{"role": "assistant", "content": [block]},
                       {"role": "user", "content": [result]}]),
    ]  # fmt: skip


@each_row("at", range(3))
def test_lists_with_the_objects_of_clients_are_followed(at: int) -> None:
    """What stays is the host's own object, in requests too; what is kept is plain."""
    dialect, objects = objects_of_clients()[at]
    first = {"role": "user", "content": "Read it."}
    history = [first, *objects]
    followed = Session(**WINDOW, options=SessionOptions(provider=dialect)).follow(history)
    assert all(map(operator.is_, followed.messages, history))
    name = "input" if dialect == "openai-responses" else "messages"
    session = Session(**WINDOW, options=SessionOptions(provider=dialect))
    request = {"model": "m", name: history}
    assert session.follow(request=request).body is request
    assert check(session.messages, dialect=dialect) == []
    history += [{"role": "user", "content": f"{n} {WORDS * 9}"} for n in range(20)]
    history += objects
    found = session.follow(request={"model": "m", name: history}, force=True)
    assert found.is_changed
    assert found.messages[-2] is found.body[name][-2] is objects[0]
    fed = Session(options=SessionOptions(provider=dialect))
    fed.append(*history[:3])
    assert check(fed.messages, dialect=dialect) == []
    assert session.follow(history).course == "same"


def test_the_model_of_the_requests_gives_the_window_if_nothing_else_does() -> None:
    """A switch of the model changes it; a window or a model of the session stays."""

    def windows(session: Session) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        for model in ("gpt-4o", "gpt-4o", "claude-sonnet-4-5", "of-nobody", ""):
            session.follow(request={"model": model, "messages": talk(1)})
            settings = internals(session).engine.settings
            found.append((settings.context_length, settings.window_source))
        return found

    first, other = (128_000, "model"), (200_000, "model")
    unknown = (200_000, "assumed")
    noted = Session(options=SessionOptions(new=NewSession(dialect="openai-chat", model="gpt-4")))
    assert windows(Session()) == windows(noted) == [first, first, other, unknown, unknown]
    assert windows(Session(model="gpt-4o")) == [first] * 5
    assert windows(Session(context_length=9_000)) == [(9_000, "given")] * 5


def test_a_window_that_an_error_named_holds_for_the_next_requests() -> None:
    """Until they name another model."""
    session = Session()
    request = {"model": "gpt-4o", "messages": talk(30)}
    session.follow(request=request)
    assert session.recover(RuntimeError("maximum context length is 9000 tokens"))
    for temperature, model, window in ((0, "gpt-4o", 9_000), (1, "gpt-4o", 9_000),
                                       (1, "gpt-4o-mini", 128_000)):  # fmt: skip
        session.follow(request={**request, "temperature": temperature, "model": model})
        assert internals(session).engine.settings.context_length == window


def test_a_window_that_an_error_named_holds_when_the_session_is_taken_up_again() -> None:
    """As after another process went on with it; what the provider read before fits in any case."""
    store, request = open_store(":memory:"), {"messages": talk(30)}
    session = Session(store, "a", model="gpt-4o")
    session.follow(request=request)
    session.used({"prompt_tokens": 11_000, "completion_tokens": 10})
    assert session.recover(RuntimeError("maximum context length is 9000 tokens"))
    Session(store, "a", model="gpt-4o").append({"role": "user", "content": "Go on."})
    assert session.messages
    assert internals(session).engine.settings.context_length == 11_000


@each_row("said", ["maximum context length is 9000 tokens", "prompt is too long"])
def test_a_provider_that_refuses_less_than_it_read_before_is_believed(said: str) -> None:
    """Its model or its settings are others now: first it counts what was read, then no more."""
    session, held = Session(model="gpt-4o"), talk(30)
    session.follow(request={"messages": held})
    session.used({"prompt_tokens": 20_000, "completion_tokens": 10})
    held += talk(12, 30)
    session.follow(request={"messages": held}, when="never")
    assert session.recover(RuntimeError(said))
    assert internals(session).engine.settings.context_length == 20_000
    while (sent := session.breakdown().tokens) < 12_000:
        held += talk(4, len(held))
        session.follow(request={"messages": held}, when="never")
    assert session.recover(RuntimeError(said))
    assert internals(session).engine.settings.context_length <= max(9_000, sent // 2)
    assert session.breakdown().tokens <= 9_000


def test_a_pause_in_which_the_cache_went_cold_is_a_time_to_compact() -> None:
    """The answer in the next list was read before the pause, and not when the list comes."""
    prices = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6.0)
    policy = Policy(floor_tokens=500, target_ratio=0.6)
    now = [1_800_000_000.0]
    session = Session(
        context_length=80_000,
        policy=policy,
        model=Model(prices=prices),
        options=SessionOptions(clock=lambda: now[0]),
    )
    listed = written("openai-chat", [Exchange(1, 2, 9_000)] * 4)
    assert session.follow(listed).report.reason == "deferred"
    listed += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Go on."}]
    assert session.follow(listed).report.reason == "deferred"
    now[0] += 301
    listed += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Go on."}]
    assert session.follow(listed).report.status == "compacted"

"""Laws of reading: a longer file never takes back what a shorter one gave; keys are unique."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.agents.importers import ImportedSession, message_keys, read_bytes
from foldaway.errors import NotReadable

HERE = Path(__file__).parent / "data"
GROWING = {path.name: path.read_bytes() for path in sorted(HERE.glob("*.jsonl"))}
GROWING["messages.jsonl"] = b"".join(
    json.dumps(message).encode() + b"\n"
    for message in (
        {"role": "user", "content": "Grüß dich"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hallo"}]},
        {"role": "user", "content": "Grüß dich"},
    )
)
GROWING["records.jsonl"] = b"".join(
    json.dumps({"conversations": [{"from": "human", "value": word}]}).encode() + b"\n"
    for word in ("one", "two", "two")
)


def sessions(data: bytes) -> list[ImportedSession]:
    try:
        return list(read_bytes(data, "growing.jsonl"))
    except NotReadable:
        return []


def told(data: bytes) -> dict[str, list[tuple[str, Any]]]:
    """Return the keys and payloads of each session, by its id."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for session in sessions(data):
        payloads = [message.wire for message in session.transcript.messages]
        found[session.source_id] = list(zip(message_keys(session), payloads, strict=True))
    return found


def assert_grown(before: bytes, after: bytes) -> None:
    longer = told(after)
    for source_id, said in told(before).items():
        assert said == longer[source_id][: len(said)]


@pytest.mark.parametrize("name", GROWING)
@given(data=st.data())
def test_a_file_that_grew_only_adds_messages(name: str, data: st.DataObject) -> None:
    """A prefix of the bytes, torn anywhere, gives a prefix of the messages of each session."""
    whole = GROWING[name]
    assert_grown(whole[: data.draw(st.integers(0, len(whole)))], whole)


UUIDS = st.sampled_from(["a", "b", "c", "d", "e", "f"])
BLOCKS = st.one_of(
    st.builds(lambda words: {"type": "text", "text": words}, st.text(max_size=8)),
    st.builds(lambda own: {"type": "tool_use", "id": own, "name": "Read", "input": {}}, UUIDS),
    st.builds(lambda own: {"type": "tool_result", "tool_use_id": own, "content": "x"}, UUIDS),
)
CLAUDE = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["user", "assistant", "system", "summary", "progress"]),
        "uuid": UUIDS,
        "parentUuid": st.none() | UUIDS,
        "sessionId": st.sampled_from(["s", "t"]),
    },
    optional={
        "isSidechain": st.booleans(),
        "agentId": UUIDS,
        "isCompactSummary": st.booleans(),
        "message": st.fixed_dictionaries(
            {
                "role": st.sampled_from(["user", "assistant"]),
                "content": st.text(max_size=8) | st.lists(BLOCKS, max_size=3),
            }
        ),
    },
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["type", "role", "content", "message", "messages", "payload", "uuid", "sessionId", "id",
             "parentId", "parts", "info", "kind", "source", "action", "observation", "traj",
             "task_id", "simulations", "history", "trajectory", "conversations", "from", "value",
             "tool_calls", "timestamp", "response", "parent_session_id", "llm_message", "input"]
        ),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
WORDS = st.sampled_from(
    ["user", "assistant", "message", "session", "compacted", "session_meta", "response_item",
     "compaction", "ActionEvent", "ObservationEvent", "human", "tool", "event_msg"]
)  # fmt: skip
_KEYS = ("message", "payload", "kind", "source", "role", "content", "uuid", "id", "parentId",
         "timestamp", "tool_name")  # fmt: skip
ODD = st.fixed_dictionaries(
    {"type": WORDS | ANY_JSON}, optional=dict.fromkeys(_KEYS, ANY_JSON | WORDS)
)


def as_lines(values: list[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


@given(st.lists(CLAUDE, min_size=1, max_size=12), st.data())
@pytest.mark.soak
def test_any_tree_that_grew_only_adds_messages(lines: list[Any], data: st.DataObject) -> None:
    """However parents, sidechains and sessions are mixed, the past of a file is settled."""
    whole = as_lines(lines)
    assert_grown(whole[: data.draw(st.integers(0, len(whole)))], whole)


@given(st.lists(CLAUDE, min_size=1, max_size=12))
def test_keys_are_unique_and_reading_is_deterministic(lines: list[Any]) -> None:
    """Two messages of a session never share a key, and a second reading gives the same values."""
    found = sessions(as_lines(lines))
    assert found == sessions(as_lines(lines))
    for session in found:
        keys = message_keys(session)
        assert len(set(keys)) == len(keys) == len(session.times) == len(session.entry_ids)


@given(st.lists(ODD | ANY_JSON, min_size=1, max_size=6), st.booleans())
def test_no_json_is_a_traceback(values: list[Any], lines: bool) -> None:
    """Whatever a file holds, it is read or it is `NotReadable`."""
    data = as_lines(values) if lines else json.dumps(values).encode()
    for session in sessions(data):
        message_keys(session)


@given(st.binary(max_size=200))
def test_no_bytes_are_a_traceback(data: bytes) -> None:
    """The same for bytes that are no JSON at all, also behind the start of a gzip file."""
    sessions(data)
    sessions(b"\x1f\x8b" + data)
    sessions(b'{"type":"user",' + data)


PARSED = {
    path.name: [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
    if path.suffix == ".jsonl"
    else json.loads(path.read_text())
    for path in sorted(HERE.iterdir())
    if path.suffix in (".json", ".jsonl") and path.name != "claude-code.jsonl"
}


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container with each of its keys."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            found.append((value, key))
            found.extend(places(value[key]))
    return found


@pytest.mark.parametrize("name", PARSED)
@given(data=st.data())
def test_a_changed_value_anywhere_is_no_traceback(name: str, data: st.DataObject) -> None:
    """Readers trust no value of a file to be what its format says."""
    value = copy.deepcopy(PARSED[name])
    for _ in range(3):
        container, key = data.draw(st.sampled_from(places(value)))
        container[key] = data.draw(ANY_JSON | WORDS)
    is_lines = name.endswith(".jsonl")
    whole = as_lines(value) if is_lines else json.dumps(value).encode()
    for session in sessions(whole):
        assert len(set(message_keys(session))) == len(session.transcript.messages)
    if is_lines:
        assert_grown(as_lines(value[: len(value) // 2]), whole)


def test_the_first_record_keeps_its_id_when_a_second_one_comes() -> None:
    """A file of one record may be a file of two tomorrow."""
    whole = GROWING["records.jsonl"]
    assert_grown(whole.partition(b"\n")[0], whole)
    assert list(told(whole)) == ["growing", "growing#2", "growing#3"]


@pytest.mark.parametrize(
    ("header", "line"),
    [
        (
            {"type": "session", "id": "late", "timestamp": "2026-01-01T00:00:00Z"},
            {"type": "message", "message": {"role": "user", "content": "Hi"}},
        ),
        (
            {"type": "session_meta", "payload": {"id": "late"}},
            {"type": "response_item", "payload": {"type": "message", "role": "user",
                                                  "content": "Hi"}},
        ),
    ],
    ids=["pi", "codex"],
)  # fmt: skip
def test_a_header_that_comes_late_renames_nothing(header: Any, line: Any) -> None:
    """The session has its id from what stands before its first message, or from the file."""
    assert list(told(as_lines([header, line]))) == ["late"]
    assert list(told(as_lines([line, header, line]))) == ["growing"]

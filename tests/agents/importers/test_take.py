"""Sessions of other agents in a store: the right counts, no doubles, a way out again."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from foldaway.agents.importers import ImportedSession, read_file, sessions_in
from foldaway.agents.importers.take import Taken, take_all
from foldaway.dialects.checking import check_transcript
from foldaway.dialects.conversion import convert_transcript
from foldaway.dialects.loading import load
from foldaway.dialects.profiles import profile_for
from foldaway.errors import NotReadable
from foldaway.sessions.exporting import export, transcript_of
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession, NewView, SessionFilter
from foldaway.transcript import Media, survey

DATA = Path(os.environ.get("FOLDAWAY_DATA", Path(__file__).parents[4] / "shared" / "data"))
NATIVE = DATA / "native"
IMPORTERS = Path(__file__).parent
COUNTS: dict[str, list[int]] = json.loads((IMPORTERS / "native_counts.json").read_text())
OURS = IMPORTERS / "data"


MEMORY = "/dev/shm"


@pytest.fixture
def store() -> Iterator[Store]:
    """A store in memory where there is such a folder: hundreds of synced commits take a while."""
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    with TemporaryDirectory(dir=place) as folder, open_store(Path(folder) / "s.db") as opened:
        yield opened


def taken(store: Store, *paths: Path) -> list[Taken]:
    return list(take_all(store, (one for path in paths for one in sessions_in(path))))


def native(name: str) -> Path:
    if not NATIVE.is_dir():
        pytest.skip(f"no shared data at {NATIVE}; set FOLDAWAY_DATA")
    return NATIVE / name


@pytest.mark.shared
@pytest.mark.parametrize("name", COUNTS)
def test_an_original_is_kept_with_its_counts_once_and_goes_out_as_chat(
    store: Store, name: str
) -> None:
    """Sessions, messages, calls and results are those of the file; a second import adds nothing;
    what goes out as OpenAI chat passes `check`, mended only where the file itself is broken.
    """
    path = native(name)
    first = taken(store, path)
    assert [one.problem for one in first if one.problem] == []
    calls = results = messages = 0
    for one, source in zip(first, read_file(path), strict=True):
        assert one.session is not None
        kept = transcript_of(store, one.session)
        found = survey(kept.messages)
        messages += len(kept.messages)
        calls, results = calls + len(found.calls), results + len(found.results)
        made = export(store, one.session, "openai-chat")
        assert broken(load(json.loads(made.data))) == set()
        assert set(made.mended) == broken_in_file(source)
    assert [len(first), messages, calls, results] == COUNTS[name]
    again = taken(store, path)
    assert [(one.added, one.is_new) for one in again] == [(0, False)] * len(first)
    assert sum(one.known for one in again) == messages


def broken(transcript: Any) -> set[str]:
    return {found.rule for found in check_transcript(transcript, profile_for("openai-chat"))}


def broken_in_file(source: ImportedSession) -> set[str]:
    """What the file breaks without ever having been in a store, and for a reason that it tells."""
    found = broken(convert_transcript(source.transcript, "openai-chat").transcript)
    calls = [call.id for _, call in survey(source.transcript.messages).calls]
    explained = {"id-unique"} if len(set(calls)) < len(calls) else set[str]()
    if any(note.kind == "unanswered" for note in source.notes):
        explained |= {"call-answered", "call-pending"}
    assert found <= explained
    return found


FOLDERS = sorted({name.split("/")[0] for name in COUNTS})


@pytest.mark.shared
@pytest.mark.parametrize(
    "folders",
    [[name for name in FOLDERS if "sharegpt" not in name],
     pytest.param(FOLDERS, marks=pytest.mark.soak)],
    ids=["agents", "all"],
)  # fmt: skip
def test_originals_together_lose_nothing(store: Store, folders: list[str]) -> None:
    """One store for all: every message of every file, though two of them share an id."""
    paths = [native(name) for name in folders]
    first = taken(store, *paths)
    rows = [row for name, row in COUNTS.items() if name.split("/")[0] in folders]
    assert len(first) == sum(row[0] for row in rows)
    assert sum(one.added for one in first) == sum(row[1] for row in rows)
    assert sum(one.added for one in taken(store, *paths)) == 0
    assert store.health(deep=True).problems == ()


def test_sidechains_branches_and_summaries_keep_their_place(store: Store) -> None:
    """A subagent is found only on request, a branch shares what was said before it, and what a
    compaction of the agent wrote is marked.
    """
    rows = taken(store, OURS / "claude-code.jsonl")
    infos = [store.session(one.session.id) for one in rows if one.session]
    by_descent = {info.descent: info for info in infos}
    assert by_descent["delegation"].kind == "subagent"
    main = by_descent[""]
    assert by_descent["delegation"].parent_id == main.id
    branch = by_descent["branch"]
    shared = [row.body for row in store.read(main.id)][: branch.forked_at]
    assert branch.forked_at > 0
    assert [row.body for row in store.read(branch.id)][: branch.forked_at] == shared
    assert any(row.generated for info in infos for row in store.read(info.id))
    listed = store.sessions(SessionFilter()).sessions
    assert by_descent["delegation"].id not in {info.id for info in listed}


def test_media_come_along(store: Store) -> None:
    """An image of a session is in what is exported."""
    found: list[Media] = []
    for path in sorted(OURS.glob("*.json*")):
        for one in taken(store, path):
            assert one.session is not None
            media = survey(transcript_of(store, one.session).messages).media
            found += [part for _, part in media]
    assert found


def test_a_database_of_hermes_is_taken_and_taken_again(store: Store, tmp_path: Path) -> None:
    """Written by the peer itself: sessions, lineage, nothing twice."""
    path = tmp_path / "state.db"
    path.write_bytes(gzip.decompress((OURS / "hermes-state.db.gz").read_bytes()))
    rows = taken(store, path)
    infos = {one.session.source_id[-4:]: one.session for one in rows if one.session}
    assert store.session(infos["cccc"].id).descent == "compression"
    assert store.session(infos["cccc"].id).parent_id == infos["bbbb"].id
    assert store.session(infos["dddd"].id).kind == "subagent"
    assert store.newest_leaf(infos["bbbb"].id).id == infos["cccc"].id
    assert sum(one.added for one in taken(store, path)) == 0


def line(session: str, uuid: str, text: str, parent: str | None = None, **more: Any) -> bytes:
    message = {"role": "user", "content": text}
    entry = {"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": session,
             "timestamp": "2026-01-15T12:00:00.000Z", "message": message}  # fmt: skip
    return json.dumps({**entry, **more}).encode() + b"\n"


def test_a_file_that_grew_gives_only_what_is_new(store: Store, tmp_path: Path) -> None:
    """Torn at first, whole and longer later."""
    path = tmp_path / "s.jsonl"
    whole = line("s1", "u1", "one") + line("s1", "u2", "two", "u1")
    path.write_bytes(whole[:-30])
    (first,) = taken(store, path)
    assert (first.added, first.is_new, [note.kind for note in first.notes]) == (1, True, ["torn"])
    path.write_bytes(whole + line("s1", "u3", "three", "u2"))
    (second,) = taken(store, path)
    assert (second.added, second.known, second.is_new) == (2, 1, False)
    assert second.session is not None
    assert [row.key for row in store.read(second.session.id)] == ["u1", "u2", "u3"]


def test_two_sessions_of_one_id_stay_two(store: Store, tmp_path: Path) -> None:
    """Where messages would have to go between those that are there, it is another session."""
    one, other = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    one.write_bytes(line("same", "u2", "two"))
    other.write_bytes(line("same", "u1", "one") + line("same", "u2", "two", "u1"))
    rows = taken(store, one, other)
    assert [row.added for row in rows] == [1, 2]
    assert [row.added for row in taken(store, one, other)] == [0, 0]
    assert rows[1].session is not None
    assert re.fullmatch("same@[0-9a-f]{8}", rows[1].session.source_id)


def test_a_child_that_comes_before_its_parent_is_still_its_child(
    store: Store, tmp_path: Path
) -> None:
    """Names of files say nothing about who was first."""
    (tmp_path / "a-agent.jsonl").write_bytes(
        line("z-main", "x1", "look it up", isSidechain=True, agentId="7")
    )
    (tmp_path / "z-main.jsonl").write_bytes(line("z-main", "u1", "why?"))
    rows = taken(store, tmp_path)
    infos = {one.agent and one.source_id: one.session for one in rows}
    assert len(infos) == 2
    parent = infos["z-main"]
    child = next(info for name, info in infos.items() if name != "z-main")
    assert parent is not None
    assert child is not None
    assert (child.parent_id, child.kind, child.root_id) == (parent.id, "subagent", parent.id)


def test_an_orphan_is_taken_without_its_parent(store: Store, tmp_path: Path) -> None:
    """The parent's file may be gone."""
    path = tmp_path / "agent.jsonl"
    path.write_bytes(line("gone", "x1", "look it up", isSidechain=True, agentId="7"))
    (row,) = taken(store, path)
    assert row.session is not None
    assert (row.added, row.session.parent_id, row.session.kind) == (1, "", "subagent")


def test_a_dry_run_says_the_same_and_changes_nothing(store: Store, tmp_path: Path) -> None:
    """Before there is a store, with one, and where all is known."""
    path = OURS / "claude-code.jsonl"
    none = list(take_all(None, sessions_in(path), dry_run=True))
    dry = list(take_all(store, sessions_in(path), dry_run=True))
    assert store.sessions(SessionFilter(kind="any")).sessions == ()
    real = taken(store, path)
    told = [(one.agent, one.source_id, one.added, one.known, one.is_new) for one in real]
    for rows in (none, dry):
        assert [
            (one.agent, one.source_id, one.added, one.known, one.is_new) for one in rows
        ] == told
    after = list(take_all(store, sessions_in(path), dry_run=True))
    assert [one.added for one in after] == [0] * len(real)


def test_a_file_that_is_no_session_is_told_and_the_rest_is_taken(
    store: Store, tmp_path: Path
) -> None:
    """One broken file stops nothing."""
    (tmp_path / "a.jsonl").write_bytes(b"not json\n")
    (tmp_path / "b.jsonl").write_bytes(line("s1", "u1", "one"))
    broken_row, good = taken(store, tmp_path)
    assert broken_row.problem.startswith(str(tmp_path / "a.jsonl"))
    assert broken_row.session is None
    assert good.added == 1
    (alone,) = take_all(store, [NotReadable("is empty", where="x")])
    assert alone.path == "x"


def test_ids_that_no_database_can_hold_are_known_again(store: Store, tmp_path: Path) -> None:
    """NUL and half surrogate pairs in the ids of entries and sessions."""
    path = tmp_path / "s.jsonl"
    text = line("s\x00\ud800", "u\x00\udfff", "one")
    path.write_bytes(text)
    (first,) = taken(store, path)
    (second,) = taken(store, path)
    assert (first.added, second.added, second.known) == (1, 0, 1)


def test_a_file_that_was_edited_is_another_session(store: Store, tmp_path: Path) -> None:
    """What was taken before stays as it was; the edited one grows by itself from then on."""
    path = tmp_path / "plain.json"
    said = [{"role": "user", "content": text} for text in ("hi", "yo", "third")]
    path.write_text(json.dumps(said))
    taken(store, path)
    path.write_text(json.dumps([{"role": "user", "content": "hi, edited"}, *said[1:]]))
    (second,) = taken(store, path)
    assert (second.is_new, second.added) == (True, 3)
    more = {"role": "user", "content": "fourth"}
    path.write_text(json.dumps([{"role": "user", "content": "hi, edited"}, *said[1:], more]))
    (third,) = taken(store, path)
    assert (third.is_new, third.added, third.known) == (False, 1, 3)
    assert third.session is not None
    assert second.session is not None
    assert third.session.id == second.session.id


def test_a_result_is_found_by_its_tool_and_is_the_tools(store: Store, tmp_path: Path) -> None:
    """Also where the dialect hands results over as the user's and names the tool in the call."""
    path = tmp_path / "talk.json"
    call = {"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "x"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "needle in a.py"}
    path.write_text(json.dumps([
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]))  # fmt: skip
    (one,) = taken(store, path)
    assert one.session is not None
    rows = store.read(one.session.id)
    assert [(row.role, row.tools) for row in rows] == [
        ("user", ()), ("assistant", ("Grep",)), ("tool", ("Grep",)),
    ]  # fmt: skip


def held(store: Store) -> dict[str, list[tuple[str, bytes]]]:
    """Return the messages of each session, by its source id."""
    listed = store.sessions(SessionFilter(kind="any"), most=10_000).sessions
    return {info.source_id: [(row.key, row.body) for row in store.read(info.id)] for info in listed}


HISTORY = """
# aider chat started at 2024-05-09 11:32:00

> Aider v0.30.0
> Model: gpt-4-turbo with diff format

#### add a tëst for the parser
#### and run it

Sure, here it is:

```python
def test_parser(): ...
```

> Tokens: 2.1k sent, 300 received.

# aider chat started at 2024-05-09 12:00:01

> Aider v0.30.0

#### y

Yes.

#### yes

> Bye
"""
GROWING: dict[str, bytes] = {
    path.name: path.read_bytes()
    for path in sorted(OURS.iterdir())
    if path.suffix in (".json", ".jsonl", ".traj", ".gz")
} | {".aider.chat.history.md": HISTORY.encode()}


def grown(store: Store, path: Path, data: bytes, cuts: list[int]) -> None:
    """Import a file at each of these lengths, and when it is whole."""
    for length in (*cuts, len(data)):
        path.write_bytes(data[:length])
        taken(store, path)


@pytest.mark.parametrize("name", GROWING)
def test_a_file_imported_while_it_grew_gives_what_it_gives_at_once(
    name: str, tmp_path: Path
) -> None:
    """Cut at any byte, once or twice: the same sessions, messages and order; nothing twice."""
    data, path = GROWING[name], tmp_path / name.replace(".db.gz", ".db")
    data = gzip.decompress(data) if path.suffix == ".db" else data
    with open_store(tmp_path / "once.db") as store:
        grown(store, path, data, [])
        once = held(store)
    chosen = random.Random(name)
    for number in range(4):
        with open_store(tmp_path / f"{number}.db") as store:
            cuts = sorted(chosen.randrange(len(data)) for _ in range(1 + number % 2))
            grown(store, path, data, cuts)
            assert held(store) == once, cuts


@pytest.mark.soak
def test_an_aider_history_may_grow_by_single_bytes(store: Store, tmp_path: Path) -> None:
    """Imported after every byte: two chats, nine messages, each whole."""
    path, data = tmp_path / ".aider.chat.history.md", HISTORY.encode()
    grown(store, path, data, list(range(len(data))))
    said = {name: [json.loads(body)["content"] for _, body in rows]
            for name, rows in held(store).items()}  # fmt: skip
    assert len(said) == 2
    assert [text for rows in sorted(said.items()) for text in rows[1]] == [
        "[console]\nAider v0.30.0\nModel: gpt-4-turbo with diff format",
        "add a tëst for the parser\nand run it",
        "Sure, here it is:\n\n```python\ndef test_parser(): ...\n```",
        "[console]\nTokens: 2.1k sent, 300 received.",
        "[console]\nAider v0.30.0", "y", "Yes.", "yes", "[console]\nBye",
    ]  # fmt: skip
    infos = store.sessions(SessionFilter()).sessions
    assert sorted(info.model for info in infos) == ["", "gpt-4-turbo"]


def test_a_chat_that_is_in_use_is_added_to_and_not_replaced(store: Store, tmp_path: Path) -> None:
    """What is pinned stays where it is, also if its last message was cut."""
    path, data = tmp_path / ".aider.chat.history.md", HISTORY.encode()
    cut = data.index(b"here it is")
    path.write_bytes(data[:cut])
    (first,) = taken(store, path)
    assert first.session is not None
    store.pin(first.session.id, 2, "this one")
    path.write_bytes(data)
    second, _ = taken(store, path)
    assert (second.is_new, second.added) == (False, 2)
    assert second.session is not None
    assert second.session.id == first.session.id
    assert len(store.read(first.session.id)) == 5
    assert [pin.position for pin in store.pins(first.session.id)] == [2]


SAID = [{"role": "user", "content": text} for text in ("hi", "yo", "third")]


@pytest.mark.parametrize("record", [{"messages": SAID}, {"id": "talks/conv-42", "messages": SAID}])
def test_a_file_that_was_moved_is_known_again(
    store: Store, tmp_path: Path, record: dict[str, Any]
) -> None:
    """Whether it names its session or not, and if that begins with the name of the file: the id
    is that of the file and not its place.
    """
    path = tmp_path / "talks.jsonl"
    path.write_text(f"{json.dumps(record)}\n" * 2)
    first = taken(store, path)
    names = [one.session.source_id for one in first if one.session]
    given = record.get("id")
    assert names[0] == given or names == ["talks", "talks#2"]
    assert store.find(names[0]).source_id == names[0]
    (tmp_path / "elsewhere").mkdir()
    shutil.move(path, tmp_path / "elsewhere")
    again = taken(store, tmp_path / "elsewhere" / "talks.jsonl")
    assert [one.added for one in again] == [0, 0]


def test_files_of_one_name_stay_apart(store: Store, tmp_path: Path) -> None:
    """Runs of one task begin alike; each goes on by itself, wherever they were told apart."""
    said = [{"role": "user", "content": text} for text in "abcdefgh"]
    runs = {"1": [0, 1, 2], "2": [0, 3, 4], "3": [0, 3, 5], "4": [6, 7]}
    for times in (1, 2):
        for folder, order in runs.items():
            (tmp_path / folder).mkdir(exist_ok=True)
            path = tmp_path / folder / "run.json"
            path.write_text(json.dumps([said[at] for at in order * times]))
            (one,) = taken(store, path)
            assert (one.is_new, one.added) == (times == 1, len(order))
    assert len(held(store)) == len(runs)
    assert sum(one.added for one in taken(store, tmp_path)) == 0


def test_a_session_that_was_rotated_takes_what_is_new_in_its_child(
    store: Store, tmp_path: Path
) -> None:
    """Its own log is closed; the rest of the import goes on."""
    path = tmp_path / "s.jsonl"
    whole = line("s1", "u1", "one") + line("s1", "u2", "two", "u1")
    path.write_bytes(whole)
    (first,) = taken(store, path)
    assert first.session is not None
    child = NewSession(dialect="anthropic")
    view = NewView(items=b"[]", length=2)
    leaf = store.rotate(first.session.id, child, view, expect=0)
    path.write_bytes(whole + line("s1", "u3", "three", "u2"))
    (second,) = taken(store, path)
    assert (second.problem, second.added, second.known) == ("", 1, 2)
    assert [row.key for row in store.read(leaf.id)] == ["u1", "u2", "u3"]


def test_two_imports_at_once_take_everything_once(tmp_path: Path) -> None:
    """Threads with a store each, in opposite orders: no error, nothing lost, nothing doubled."""
    paths = [tmp_path / f"{number}.jsonl" for number in range(12)]
    for number, path in enumerate(paths):
        path.write_bytes(b"".join(line(f"s{number}", f"u{number}-{at}", "x") for at in range(4)))
    told: list[Taken] = []

    def work(order: list[Path]) -> None:
        with open_store(tmp_path / "s.db") as store:
            told.extend(taken(store, *order))

    with open_store(tmp_path / "s.db") as store:
        threads = [threading.Thread(target=work, args=(order,))
                   for order in (paths, paths[::-1], paths)]  # fmt: skip
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [one.problem for one in told if one.problem] == []
        assert sum(one.added for one in told) == 48
        assert sum(one.is_new for one in told) == 12
        assert {name: len(rows) for name, rows in held(store).items()} == {
            f"s{number}": 4 for number in range(12)
        }

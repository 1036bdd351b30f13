"""Stores that earlier versions wrote, each with the folder that was imported into it.

`earlier/make_store.py` made them, and says how.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import foldaway
from foldaway.agents.importers import sessions_in
from foldaway.agents.importers.take import take_all
from foldaway.facts.frame import carried_summary
from foldaway.sessions import internals
from foldaway.sessions.finding import discover
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import SessionFilter
from foldaway.transcript import Folded

EARLIER = Path(__file__).parent / "earlier"
ARCHIVES = sorted(EARLIER.glob("schema-*.tar.gz"))


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The content of an archive."""
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture
def expected(folder: Path) -> list[dict[str, Any]]:
    """What the version that wrote a store said of its sessions."""
    return json.loads((folder / "expected.json").read_bytes())


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    """The store, opened by this version."""
    with open_store(folder / "store.db") as opened:
        yield opened


def test_a_store_that_is_only_read_is_brought_up_to_date_first(
    folder: Path, expected: list[dict[str, Any]]
) -> None:
    """Whoever looks at sessions after an update has no other command to give before."""
    with open_store(folder / "store.db", read_only=True) as store:
        for row in expected:
            assert store.session(row["id"]).title == row["title"]
        assert store.health(deep=True).problems == ()


def test_an_older_version_that_is_still_running_writes_into_no_index(tmp_path: Path) -> None:
    """It knows no blocks: what it wrote into the first one, no deletion would find."""
    with tarfile.open(EARLIER / "schema-6.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    path = tmp_path / "store.db"
    with closing(apsw.Connection(str(path))) as older, open_store(path):
        for index in ("words", "trigrams"):
            with pytest.raises(apsw.SQLError, match="no such table"):
                older.execute(f"INSERT INTO {index} (rowid, text) VALUES (99999, 'late')")


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def joined(messages: list[Any]) -> list[Any]:
    """Return messages with neighbors of Anthropic's results alone as one, as Anthropic reads them:
    earlier versions joined them before they were shown.
    """
    found: list[Any] = []
    for message in messages:
        if found and has_results_alone(found[-1]) and has_results_alone(message):
            found[-1] = {**message, "content": [*found[-1]["content"], *message["content"]]}
        else:
            found.append(message)
    return found


def has_results_alone(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and all(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


def long_one(expected: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the session that was compacted twice."""
    [found] = [one for one in expected if one["compactions"]]
    return found


def summaries_in(session: Session) -> list[str]:
    """Return the bodies of what a session shows as summaries."""
    folded = [item for item in internals(session).engine.view.items if isinstance(item, Folded)]
    bodies = [carried_summary(message) for item in folded for message in item.messages]
    return [body for body in bodies if body]


def test_there_is_a_store_of_every_schema_before_this_one() -> None:
    """A new migration needs a store as the version before it wrote it."""
    newest = max(int(path.stem) for path in Path(migrations_folder()).glob("*.sql"))
    made = {int(re.findall(r"\d+", path.name)[0]) for path in ARCHIVES}
    assert made >= set(range(1, newest))


def migrations_folder() -> str:
    import foldaway.stores.sqlite

    return str(Path(foldaway.stores.sqlite.__file__).parent / "migrations")


def test_everything_that_was_kept_is_there(store: Store, expected: list[dict[str, Any]]) -> None:
    """Messages byte by byte, roles, keys, titles, lineages, pins and usage."""
    health = store.health(deep=True)
    assert health.problems == ()
    assert health.written_by.startswith("created ")
    assert store.count(SessionFilter()) == len(expected)
    for one in expected:
        info, rows = store.session(one["id"]), store.read(one["id"])
        names = ("source", "source_id", "title", "kind", "view", "compactions")
        assert {name: getattr(info, name) for name in names} == {n: one[n] for n in names}
        assert info.parent_id == one["parent"]
        assert [row.role for row in rows] == one["roles"]
        assert [row.key for row in rows] == one["keys"]
        assert [hashlib.sha256(row.body).hexdigest() for row in rows] == one["bodies"]
        assert [[pin.position, pin.note] for pin in store.pins(info.id)] == one["pins"]
        used = [[turn.position, turn.input_tokens, turn.cost] for turn in store.usage(info.id)]
        assert used == one["usage"]


def test_a_store_says_which_version_brought_it_up_to_date(
    request: pytest.FixtureRequest, store: Store
) -> None:
    """Only a store of an earlier schema is changed when it is opened."""
    schema = int(re.findall(r"schema-(\d+)", request.node.name)[0])
    created = "before 0.2" if schema < 4 else "by 0.2.0"
    migrated = "" if schema == store.health().schema else f", migrated by {foldaway.__version__}"
    assert store.health().written_by == f"created {created}{migrated}"


def test_what_an_old_session_used_is_counted(
    request: pytest.FixtureRequest, store: Store, expected: list[dict[str, Any]]
) -> None:
    """A store from before it was kept with a session counts it once, when it is asked to."""
    one, everything = long_one(expected), list(store.all_sessions(SessionFilter(kind="any")))
    assert store.session(one["id"]).requests is None
    waiting = sum(info.requests is None for info in everything)
    is_counted = any(one in request.node.name for one in ("schema-5", "schema-6"))
    assert is_counted or waiting == len(everything)
    assert store.count_used(lambda request: request.cost, most=1_000) == waiting
    assert store.count_used(lambda request: request.cost) == 0
    info = store.session(one["id"])
    assert (info.requests, info.used_tokens, info.cost, info.unpriced) == (1, 1_050, 0.25, 0)
    [first] = store.sessions(SessionFilter(), most=1, order="cost").sessions
    assert first.id == one["id"]


def test_a_session_shows_what_it_showed(store: Store, expected: list[dict[str, Any]]) -> None:
    """A view stays as it was, and every reference of it leads to the same originals."""
    for one in expected:
        session = Session.open(store, one["id"])
        forms = (joined(session.messages), session.messages)
        assert one["shown"] in [[digest(message) for message in form] for form in forms]
        for ref, recalled in one["recalled"].items():
            assert digest(session.recall(ref)) == recalled
            assert "src/alpha/" in session.call("foldaway_recall", {"ref": ref})
    assert len(long_one(expected)["recalled"]) > 1


def test_an_old_compaction_can_be_undone(store: Store, expected: list[dict[str, Any]]) -> None:
    """One after the other, back to all messages."""
    one = long_one(expected)
    session = Session.open(store, one["id"])
    assert session.undo()
    assert 0 < store.session(one["id"]).view < one["view"] or session.undo() is False
    while session.undo():
        pass
    assert len(session.messages) == len(one["roles"])


def test_an_old_session_is_compacted_again(store: Store, expected: list[dict[str, Any]]) -> None:
    """The summary of an earlier version is understood as one: the next one takes its facts over
    and stands in its place.
    """
    one = long_one(expected)
    session = Session.open(store, one["id"])
    [before] = summaries_in(session)
    assert "LICENSE" in before
    report = session.compact(force=True, keep_last=1)
    assert report.folded
    [after] = summaries_in(session)
    assert "LICENSE" in after
    assert json.dumps(session.messages).count("summary: reference only]") == 1
    assert session.undo()
    assert [digest(message) for message in session.messages] == one["shown"]


def test_old_sessions_are_found(store: Store, expected: list[dict[str, Any]]) -> None:
    """Words and substrings, also of what was folded."""
    one = long_one(expected)
    for text in ("word3zebra", "scheduler_1.py", "ord3zeb"):
        assert one["id"] in {hit.session for hit in discover(store, text)}


def test_the_same_folder_adds_nothing(
    folder: Path, store: Store, expected: list[dict[str, Any]]
) -> None:
    """Schema 1 knew sessions by the path of their file: they are recognized by content, although
    the folder lies elsewhere now, and get the names of today. Equal records stay apart.
    """
    length = sum(len(one["roles"]) for one in expected)
    for _ in range(2):
        taken = list(take_all(store, sessions_in(folder / "agents")))
        assert [one for one in taken if one.added or one.is_new or one.problem] == []
    infos = list(store.all_sessions(SessionFilter()))
    assert len(infos) == len(expected)
    assert sum(info.length for info in infos) == length
    assert not [info.source_id for info in infos if info.source_id.startswith("/")]

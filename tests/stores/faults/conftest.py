"""What must hold after any fault."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from foldaway.search.query import parse_query
from foldaway.search.values import Wanted
from foldaway.stores.store import Store
from foldaway.stores.values import SessionFilter, SessionInfo

Start = Callable[..., "subprocess.Popen[str]"]
Verify = Callable[[Store, Iterable[str]], "Counter[str]"]
_FOLDER = Path(__file__).parent


@pytest.fixture
def start() -> Start:
    """Start a script of this folder; it is killed at the latest when the test ends."""
    running: list[subprocess.Popen[str]] = []

    def run(script: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(_FOLDER / script), *arguments],
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        running.append(process)
        return process

    yield run  # pyright: ignore
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def verify() -> Verify:
    """Hold a store against what was acknowledged; return the counts."""
    return _verify


def _verify(store: Store, lines: Iterable[str]) -> Counter[str]:
    said = [line.split() for line in lines]
    sessions = _all_sessions(store)
    _nothing_half(store, sessions)
    for words in said:
        _ACKNOWLEDGED[words[0]](store, sessions, words[1:])
    _are_found(store, [words[2] for words in said if words[0] == "append"])
    health = store.health(deep=True)
    assert health.problems == ()
    return Counter(words[0] for words in said)


def _all_sessions(store: Store) -> dict[str, SessionInfo]:
    sessions: dict[str, SessionInfo] = {}
    after = ""
    while True:
        page = store.sessions(SessionFilter(kind="any"), most=500, after=after)
        sessions |= {info.id: info for info in page.sessions}
        after = page.next
        if not after:
            return sessions


def _nothing_half(store: Store, sessions: dict[str, SessionInfo]) -> None:
    """Logs without gap or double, views whole, a rotation with both of its sides."""
    children = Counter(info.parent_id for info in sessions.values())
    for info in sessions.values():
        log = store.read(info.id)
        assert [message.position for message in log] == list(range(info.length))
        keys = [message.key for message in log]
        assert len(set(keys)) == len(keys)
        assert all(message.body.startswith(f'"{message.key} '.encode()) for message in log)
        views = store.views(info.id)
        assert all(view.items == b"items " + view.state for view in views)
        assert all(view.length <= info.length for view in views)
        assert info.view in {0, *(view.number for view in views)}
        assert (info.end_reason == "compression") == (children[info.id] == 1)


def _has_message(store: Store, sessions: dict[str, SessionInfo], words: list[str]) -> None:
    session_id, key = words
    assert key in store.keys(session_id)


def _are_found(store: Store, keys: list[str]) -> None:
    """Some of the messages, and the last ones, by their words."""
    for key in (*keys[:: len(keys) // 20 + 1], *keys[-10:]):
        found = store.match(Wanted(query=parse_query(key)), most=3)
        assert [match.text for match in found] == [f"{key} word"]


def _has_view(store: Store, sessions: dict[str, SessionInfo], words: list[str]) -> None:
    session_id, number, tag = words
    view = store.view(session_id, int(number))
    assert view is not None
    assert view.state == tag.encode()


def _has_child(store: Store, sessions: dict[str, SessionInfo], words: list[str]) -> None:
    parent, child, tag = words
    assert sessions[child].parent_id == parent
    assert sessions[child].forked_at == sessions[parent].length
    assert tag.encode() in {view.state for view in store.views(child)}


def _nothing_to_see(store: Store, sessions: dict[str, SessionInfo], words: list[str]) -> None:
    """What follows an undo may have changed the view again."""


_ACKNOWLEDGED = {
    "append": _has_message,
    "commit": _has_view,
    "rotate": _has_child,
    "undo": _nothing_to_see,
    "end": _nothing_to_see,
}

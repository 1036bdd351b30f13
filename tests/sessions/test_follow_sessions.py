"""What `follow` promises holds on real sessions, in four wire formats.

Skipped if the shared data is not there; `FOLDAWAY_DATA` says where it is.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.sessions.test_follow import DATA, DIALECTS, DISGUISES, dumped

from foldaway import Policy
from foldaway.dialects.conversion import convert
from foldaway.dialects.loading import LIST_KEYS
from foldaway.sessions.following import Followed, apply_edits
from foldaway.sessions.session import Session

FILES = sorted((DATA / "sessions").glob("*.jsonl.gz"))
if not FILES:
    pytest.skip(f"no shared sessions at {DATA}; set FOLDAWAY_DATA", allow_module_level=True)
pytestmark = pytest.mark.shared

POLICY = Policy(floor_tokens=500)
STEPS = 6
"""In how many requests a session is handed over."""
SHORT, LONG = 40_000, 600_000
"""Characters of a session at most: in the plain suite, and in the soak."""


class Host:
    """A conversation that a host hands over step by step: a bare list, or the list of a request."""

    def __init__(self, messages: list[Any], dialect: str) -> None:
        made: Any = convert(messages, dialect).messages
        self.frame: dict[str, Any] = {"": made} if isinstance(made, list) else dict(made)
        self.key = next(key for key in ("", *LIST_KEYS) if key in self.frame)
        self.whole: list[Any] = self.frame.pop(self.key)
        self.window: Any = {
            "context_length": max(3_000, len(dumped(self.whole)) // 8), "policy": POLICY,
        }  # fmt: skip
        self.stops = sorted({len(self.whole) * at // STEPS for at in range(1, STEPS + 1)} - {0})

    def follow(self, session: Session, items: list[Any]) -> Followed:
        if self.key:
            return session.follow(request={**self.frame, self.key: items})
        return session.follow(items)


def hosts(path: Path, dialect: str, most: int, chars: int) -> Iterator[Host]:
    """Yield hosts with sessions of a file."""
    with gzip.open(path) as lines:
        for line in islice((line for line in lines if len(line) < chars), most):
            host = Host(json.loads(line)["messages"], dialect)
            if host.whole:
                yield host


def logged(session: Session) -> list[Any]:
    return [json.loads(row.body) for row in session.store.read(session.id)]


def keeps_its_list(host: Host, where: Path) -> int:
    """After follow(a), follow(a + b) appends exactly b; a restart gives the same bytes."""
    session, whole = Session(where, "k", **host.window), host.whole
    for stop in host.stops:
        found = host.follow(session, whole[:stop])
        assert found.course in ("new", "continues")
        assert session.info.length == stop
        assert apply_edits(found.edits, whole[:stop]) == found.messages
        again = host.follow(session, whole[:stop])
        assert (again.course, dumped(again.messages)) == ("same", dumped(found.messages))
        session = Session(where, "k", **host.window)
        again = host.follow(session, whole[:stop])
        assert dumped((again.messages, again.body)) == dumped((found.messages, found.body))
    assert dumped(logged(session)) == dumped(whole)
    return session.info.compactions


def goes_on_with_the_view(host: Host, disguise: Any) -> None:
    """What follow returned is recognized in every disguise: one log, each message once."""
    session, held, done = Session(**host.window), list[Any](), 0
    for stop in host.stops:
        held = [*held, *host.whole[done:stop]]
        done = stop
        found = host.follow(session, disguise(held))
        assert found.course in ("new", "continues")
        assert session.info.length == stop
        held = found.messages


def disguises(dialect: str) -> list[Any]:
    """Return what hosts do to messages of a wire format."""
    return list(DISGUISES) if dialect == "openai-chat" else list(DISGUISES[:3])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_few_sessions_are_followed(dialect: str, tmp_path: Path) -> None:
    """A few in the plain suite; many in the soak."""
    compactions = 0
    for path in FILES[::5]:
        for host in hosts(path, dialect, 1, SHORT):
            compactions += keeps_its_list(host, tmp_path / path.name)
            goes_on_with_the_view(host, disguises(dialect)[compactions % 3])
    assert compactions


@pytest.mark.soak
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_sessions_are_followed(path: Path, dialect: str, tmp_path: Path) -> None:
    """Twenty of each file, with every disguise."""
    for number, host in enumerate(hosts(path, dialect, 20, LONG)):
        keeps_its_list(host, tmp_path / str(number))
        for disguise in disguises(dialect):
            goes_on_with_the_view(host, disguise)

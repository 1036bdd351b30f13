"""Every call by which SQLite reads and writes its files is made to fail, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.sessions.talking import WINDOW, talk
from tests.stores.faults.failing import FAULTS, attempt, failing_disk

from foldaway.dialects.jsontext import dump_bytes
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession

pytestmark = pytest.mark.slow

_SAMPLED = 12
"""Places of one piece of work that fail in the normal run; all of them under `soak`."""
Work = Callable[[Store, int], object]


def _append(store: Store, number: int) -> None:
    Session(store, "kept", **WINDOW).append({"role": "user", "content": f"new {number}"})


def _compact(store: Store, number: int) -> None:
    Session(store, "kept", **WINDOW).compact(force=True)


def _import(store: Store, number: int) -> None:
    rows = [
        NewMessage(body=dump_bytes({"n": at}), role="user", text=f"word{at} " * 50, key=str(at))
        for at in range(40)
    ]
    new = NewSession(dialect="openai-chat", source="other", source_id=str(number))
    store.create(new, messages=rows)


def _erase(store: Store, number: int) -> None:
    going = store.by_source("", f"going {number}")
    if going is not None:
        store.erase([going.id])


def _open(store: Store, number: int) -> None:
    open_store(store.where).close()


def _backup(store: Store, number: int) -> None:
    store.backup(f"{store.where}-{number}.copy")


WORK: dict[str, Work] = {
    "append": _append, "compact": _compact, "import": _import, "erase": _erase, "open": _open,
    "backup": _backup,
}  # fmt: skip


def _check(tmp_path: Path, name: str, *, is_all: bool) -> None:
    work, place, went_wrong = WORK[name], tmp_path / "sessions", set[str]()
    with failing_disk():
        store = open_store(place)
        Session(store, "kept", **WINDOW).append(*talk(0, 20))
        Session(store, "going 0").append(*talk(0, 2))
        store.close()  # so that files are opened again
        assert attempt(partial(work, store, 0), fails_at=0)
        step = 1 if is_all else max(1, FAULTS.calls // _SAMPLED)
        for number in range(1, FAULTS.calls + 1, step):
            Session(store, f"going {number}").append(*talk(0, 2))
            before = _log(store)
            store.close()
            done = attempt(partial(work, store, number), fails_at=number)
            went_wrong |= {FAULTS.failed} if not done else set()
            after = _log(store)
            assert after[: len(before)] == before
            assert len(after) - len(before) in ((1,) if name == "append" and done else (0, 1))
            said = {"role": "user", "content": f"after {number}"}
            Session(store, "kept", **WINDOW).append(said)  # the same process goes on
            with open_store(place) as again:
                assert _log(again)[-1] == dump_bytes(said)
                assert again.health().problems == ()
        assert went_wrong
        store.close()


def _log(store: Store) -> list[bytes]:
    found = store.by_source("", "kept")
    assert found is not None
    return [row.body for row in store.read(store.newest_leaf(found.id).id)]


@pytest.mark.parametrize("name", list(WORK))
def test_a_call_that_fails_loses_nothing_that_was_acknowledged(tmp_path: Path, name: str) -> None:
    """The error is one of ours, and the store works again at once and after it is reopened."""
    _check(tmp_path, name, is_all=False)


@pytest.mark.soak
@pytest.mark.parametrize("name", list(WORK))
def test_every_call_that_fails_loses_nothing_that_was_acknowledged(
    tmp_path: Path, name: str
) -> None:
    """The same for each of the calls."""
    _check(tmp_path, name, is_all=True)

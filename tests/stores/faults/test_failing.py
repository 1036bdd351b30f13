"""Every call by which SQLite reads and writes its files is made to fail, one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.sessions.talking import WINDOW, talk
from tests.stores.faults.failing import FAULTS, attempt, failing_disk

from foldaway.dialects.jsontext import dump
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession

_SAMPLED = 12
"""Places of one piece of work that fail in the normal run; all of them under `soak`."""
Work = Callable[[Store, int], object]


def _append(store: Store, number: int) -> None:
    Session(store, "kept", **WINDOW).append({"role": "user", "content": f"new {number}"})


def _compact(store: Store, number: int) -> None:
    Session(store, "kept", **WINDOW).compact(force=True)


def _import(store: Store, number: int) -> None:
    rows = [
        NewMessage(body=dump({"n": at}), role="user", text=f"word{at} " * 50, key=str(at))
        for at in range(40)
    ]
    new = NewSession(dialect="openai-chat", source="other", source_id=str(number))
    store.create(new, messages=rows)


def _erase(store: Store, number: int) -> None:
    going = store.by_source("", f"going {number}")
    if going is not None:
        store.erase([going.id])


WORK: dict[str, Work] = {
    "append": _append, "compact": _compact, "import": _import, "erase": _erase,
}  # fmt: skip


def _places(count: int, *, is_all: bool) -> Iterator[int]:
    step = 1 if is_all else max(1, count // _SAMPLED)
    return iter(range(1, count + 1, step))


def _check(tmp_path: Path, name: str, *, is_all: bool) -> None:
    work = WORK[name]
    with failing_disk():
        place = tmp_path / "sessions"
        store = open_store(place)
        kept = Session(store, "kept", **WINDOW)
        kept.append(*talk(0, 20))
        went_wrong = set[str]()
        for number in itertools.count():
            Session(store, f"going {number}").append(*talk(0, 2))
            if number == 0:  # how many calls there are, opening included
                store.close()
                assert attempt(partial(work, store, 0), fails_at=0)
                calls, wanted = FAULTS.calls, list(_places(FAULTS.calls, is_all=is_all))
                continue
            if number > len(wanted):
                break
            store.close()  # so that files are opened again
            before = _log(store)
            store.close()
            done = attempt(partial(work, store, number), fails_at=wanted[number - 1])
            if not done:
                went_wrong.add(FAULTS.failed)
            after = _log(store)
            assert after[: len(before)] == before
            assert len(after) - len(before) in ((1,) if name == "append" and done else (0, 1))
            kept = Session(store, "kept", **WINDOW)  # the same process goes on
            kept.append({"role": "user", "content": f"after {number}"})
            with open_store(place) as again:
                assert _log(again)[-1] == dump({"role": "user", "content": f"after {number}"})
                assert again.health().problems == ()
        assert calls > 5
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

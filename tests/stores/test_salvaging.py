"""What can still be read of a damaged store is copied into a new one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.sessions.talking import WINDOW, talk

from foldaway import Session
from foldaway.engine import unpack_view
from foldaway.errors import StoreUnavailable
from foldaway.stores.open import open_store
from foldaway.stores.sqlite.salvaging import LOST, Salvaged
from foldaway.stores.sqlite.salvaging import salvage as salvage_with
from foldaway.stores.values import SessionFilter

PAGE = 4096


def salvage(path: str, target: str) -> Salvaged:
    return salvage_with(path, target, unpack_view)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 40 sessions: branches, compactions, pins, results that are cut in parts."""
    place = tmp_path_factory.mktemp("whole")
    with open_store(place) as store:
        for number in range(30):
            session = Session(store, f"key {number}", **WINDOW)
            session.append(*talk(number * 100, 8), {"role": "user", "content": "AbC9" * 3_000})
            session.change(title=f"Talk {number}")
            if number % 3 == 0:
                session.pin(2)
                session.compact(force=True)
                session.branch(8).append(*talk(number * 100 + 50, 1))
        store.complete_index()
    return place / "default.db"


def facts(path: Path) -> dict[str, list[bytes]]:
    """Return the logs of a store, which has no problems."""
    with open_store(path) as store:
        assert store.health(deep=True).problems == ()
        found = store.all_sessions(SessionFilter())
        return {info.id: [row.body for row in store.read(info.id)] for info in found}


def go_on(path: Path) -> None:
    """Go on with every session of a store."""
    with open_store(path) as store:
        for info in list(store.all_sessions(SessionFilter())):
            session = Session.open(store, info.id, **WINDOW)
            session.append({"role": "user", "content": "Go on."})
            assert session.messages


def check(whole: Path, damaged: Path, data: bytes) -> tuple[int, int]:
    """Return how many sessions and messages of a damaged file are whole in a new one, after a
    check that each message is as it was, or named as lost.
    """
    damaged.write_bytes(data)
    target = damaged.with_name("saved.db")
    found = salvage(str(damaged), str(target))
    assert damaged.read_bytes() == data
    lost = {one.session_id: set(one.positions) for one in found.lost}
    before, after = facts(whole), facts(target)
    go_on(target)
    for file in (target, *target.parent.glob("saved.db-*")):
        file.unlink()
    right = 0
    for name, log in after.items():
        for at, (body, was) in enumerate(zip(log, before[name], strict=False)):
            assert (LOST.encode() in body) if at in lost.get(name, ()) else (body == was)
            right += at not in lost.get(name, ())
    assert set(before) <= set(after) | set(lost)
    return len(after), right


def test_a_store_that_is_whole_is_copied_whole(whole: Path, tmp_path: Path) -> None:
    """Also its titles, pins, views and lineage; and a file that is there is not replaced."""
    size = sum(map(len, facts(whole).values()))
    assert check(whole, tmp_path / "d.db", whole.read_bytes()) == (40, size)
    target = tmp_path / "saved.db"
    assert salvage(str(whole), str(target)).lost == ()
    with open_store(whole) as old, open_store(target) as new:
        for info in old.all_sessions(SessionFilter()):
            assert new.session(info.id) == info
            assert new.view(info.id) == old.view(info.id)
            assert new.pins(info.id) == old.pins(info.id)
        assert new.redaction_key() == old.redaction_key()
    with pytest.raises(StoreUnavailable, match="name a new file"):
        salvage(str(whole), str(target))


@pytest.mark.parametrize("count", [100, PAGE])
def test_a_store_without_its_header_loses_nothing(whole: Path, tmp_path: Path, count: int) -> None:
    """The header of a store is known, and so is the list of its tables."""
    size = sum(map(len, facts(whole).values()))
    data = random.Random(1).randbytes(count) + whole.read_bytes()[count:]
    assert check(whole, tmp_path / "d.db", data) == (40, size)


def test_half_a_store_keeps_what_is_in_that_half(whole: Path, tmp_path: Path) -> None:
    """What is in the other half is named as far as it is known."""
    data = whole.read_bytes()
    sessions, messages = check(whole, tmp_path / "d.db", data[: len(data) // 2])
    assert sessions
    assert messages


def damage(whole: Path, tmp_path: Path, pages: range) -> None:
    """Overwrite one page after the other, each time in a whole store."""
    data = whole.read_bytes()
    total = sum(map(len, facts(whole).values()))
    for page in pages:
        noise = random.Random(page).randbytes(PAGE)
        made = data[: page * PAGE] + noise + data[(page + 1) * PAGE :]
        _, messages = check(whole, tmp_path / "d.db", made)
        assert messages > total // 2, page


@pytest.mark.slow
def test_a_page_that_is_overwritten_takes_at_most_what_it_had(whole: Path, tmp_path: Path) -> None:
    """Every other message is as it was, and what is lost is named."""
    count = len(whole.read_bytes()) // PAGE
    damage(whole, tmp_path, range(1, count, count // 8))


@pytest.mark.soak
def test_every_page_that_is_overwritten_takes_at_most_what_it_had(
    whole: Path, tmp_path: Path
) -> None:
    """The same for each page of the file."""
    damage(whole, tmp_path, range(len(whole.read_bytes()) // PAGE))


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    """A sentence, and no new file."""
    file = tmp_path / "text.db"
    file.write_bytes(b"not a store" * 1_000)
    with pytest.raises(StoreUnavailable, match="no session in it can be read"):
        salvage(str(file), str(tmp_path / "new.db"))
    assert sorted(tmp_path.iterdir()) == [file]

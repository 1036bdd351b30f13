"""Files that are made, and files that are refused: one clear sentence each, nothing lost."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from foldaway.errors import StoreUnavailable
from foldaway.stores.open import open_store
from foldaway.stores.sqlite.opening import check, connect, make_ready, newest
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession, SessionFilter

# all files of the interpreter first: it may lie where a user without rights cannot read
_DROP = """
import os, sys
from foldaway.errors import StoreUnavailable
from foldaway.stores.open import open_store
import foldaway.stores.sqlite.database
from foldaway.stores.bodies import squeeze
from foldaway.stores.sqlite.opening import newest
from foldaway.stores.values import SessionFilter
squeeze(bytes(200)), newest()
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
"""


def filled(where: Path, count: int = 3) -> str:
    store = open_store(where)
    session_id = store.create(NewSession(dialect="x")).id
    said = [NewMessage(body=b"%d" % n * 50, role="user", text=f"word{n}") for n in range(count)]
    store.append(session_id, said)
    store.close()
    return session_id


def test_what_is_made_is_its_owners_alone(tmp_path: Path) -> None:
    """Folder 0700, files 0600, whatever the umask; one file a profile."""
    before = os.umask(0)
    try:
        store = open_store(tmp_path / "deep" / "home")
        open_store(tmp_path / "deep" / "home", profile="work").close()
        store.create(NewSession(dialect="x"))
    finally:
        os.umask(before)
    folder = tmp_path / "deep" / "home"
    assert folder.stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == {
        "default.db": 0o600, "default.db-wal": 0o600, "default.db-shm": 0o600, "work.db": 0o600,
    }  # fmt: skip
    store.close()


def test_every_commit_is_synced_in_a_write_ahead_log(tmp_path: Path) -> None:
    """The settings that keep what was acknowledged through a power cut."""
    store = open_store(tmp_path)
    database = store._database  # pyright: ignore
    assert database.read(lambda tx: tx.row("PRAGMA journal_mode")) == ("wal",)
    assert database.write(lambda tx: tx.row("PRAGMA synchronous")) == (2,)
    assert database.write(lambda tx: tx.row("PRAGMA busy_timeout")) == (5,)
    store.close()


def newer(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 999)
    connection.close()


def foreign(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE sessions (id TEXT)")
    connection.close()


def no_database(path: Path) -> None:
    path.write_bytes(b"this is some text and no database " * 100)


def torn_early(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def torn_within(path: Path) -> None:
    held = bytearray(path.read_bytes())
    held[100:300] = b"\xff" * 200
    path.write_bytes(bytes(held))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (newer, "newer version"),
        (foreign, "another program"),
        (no_database, "not an SQLite database"),
        (torn_early, "damaged"),
        (torn_within, "damaged"),
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_cannot_be_used_is_refused_and_left_alone(
    tmp_path: Path, spoil: Callable[[Path], None], said: str, read_only: bool
) -> None:
    """The sentence names the file, what is wrong and what to do; not a byte is changed."""
    filled(tmp_path)
    path = tmp_path / "default.db"
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match=said) as caught:
        open_store(tmp_path, read_only=read_only).sessions(SessionFilter())
    assert str(path) in str(caught.value)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("statement", range(4))
def test_a_file_that_another_process_fills_during_the_check_is_ours(
    tmp_path: Path, statement: int
) -> None:
    """Before each statement of the check in turn, another connection makes the tables."""
    path = tmp_path / "new.db"
    path.touch()
    connection, seen = connect(str(path)), 0

    def fill_before(*_: object) -> bool:
        nonlocal seen
        if seen == statement:
            make_ready(str(path))
        seen += 1
        return True

    connection.exec_trace = fill_before
    check(connection, str(path))
    connection.close()


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """As a process leaves it that died before its first commit."""
    (tmp_path / "default.db").write_bytes(b"")
    session_id = filled(tmp_path)
    assert len(open_store(tmp_path).read(session_id)) == 3


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("missing/x.db", "folder does not exist"),
        ("file/below", "cannot be made"),
        ("file/x.db", "cannot be made"),
        ("mysql://u:secret@host/x", "no store speaks"),
        ("", "no name of a folder"),
        ("a\0b", "no name of a folder"),
    ],
)
def test_a_place_that_cannot_be_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, said: str
) -> None:
    """A missing folder, a file in its place, a wrong address; no password is shown."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable, match=said) as caught:
        open_store(where)
    assert "secret" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


@pytest.mark.parametrize("profile", ["", "..", "a/b", "a\0", "x" * 65, ".hidden"])
def test_a_profile_is_a_plain_name(tmp_path: Path, profile: str) -> None:
    """It names a file, and never one elsewhere."""
    with pytest.raises(StoreUnavailable, match="no name for a profile"):
        open_store(tmp_path, profile=profile)


def test_a_file_of_its_own_is_known_by_its_ending(tmp_path: Path) -> None:
    """A folder under such a name is still a folder."""
    open_store(tmp_path / "one.db").close()
    assert (tmp_path / "one.db").is_file()
    (tmp_path / "two.db").mkdir()
    open_store(tmp_path / "two.db").close()
    assert (tmp_path / "two.db" / "default.db").is_file()


def test_reading_only_changes_nothing(tmp_path: Path) -> None:
    """Everything can be read; every change is refused with a clear word."""
    session_id = filled(tmp_path)
    store = open_store(tmp_path, read_only=True)
    assert len(store.read(session_id)) == 3
    assert store.health(deep=True).problems == ()
    for call in (
        lambda: store.create(NewSession(dialect="x")),
        lambda: store.append(session_id, [NewMessage(body=b"", role="user")]),
        lambda: store.erase([session_id]),
        store.complete_index,
    ):
        with pytest.raises(StoreUnavailable, match="read-only"):
            call()
    store.close()
    with pytest.raises(StoreUnavailable, match="no such file"):
        open_store(tmp_path / "elsewhere", read_only=True)
    assert not (tmp_path / "elsewhere").exists()


def test_a_reader_sees_what_a_writer_adds(tmp_path: Path) -> None:
    """A store that is only read follows the one that is written."""
    session_id = filled(tmp_path)
    writer, reader = open_store(tmp_path), open_store(tmp_path, read_only=True)
    writer.append(session_id, [NewMessage(body=b"new", role="user", text="new")])
    assert reader.read(session_id)[-1].body == b"new"
    writer.close()
    reader.close()


def as_nobody(code: str, *arguments: str) -> str:
    """Run code as a user without rights, where the tests run as root; otherwise as it is."""
    done = subprocess.run(
        [sys.executable, "-c", _DROP + textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return done.stdout + done.stderr


@pytest.fixture
def locked() -> Iterator[Path]:
    """A folder with a store that nobody may write to; not below pytest's own, which another run of
    tests closes to others."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        folder = Path(os.path.realpath(place)) / "locked"
        folder.mkdir()
        filled(folder)
        (folder / "default.db").chmod(0o444)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def test_a_folder_that_cannot_be_written_is_told_and_can_be_read(locked: Path) -> None:
    """For writing one sentence; read-only opening works."""
    code = """
        store = open_store(sys.argv[1], read_only=True)
        info = store.sessions(SessionFilter()).sessions[0]
        print("read", store.read(info.id)[1].body[:3], store.health(True).problems)
        for where in (sys.argv[1], sys.argv[1] + "/below", sys.argv[1] + "/other.db"):
            try:
                open_store(where)
            except StoreUnavailable as error:
                print("told", error)
    """
    printed = as_nobody(code, str(locked))
    assert "read b'111' ()" in printed
    told = [line for line in printed.splitlines() if line.startswith("told")]
    assert len(told) == 3, printed
    assert "cannot be written" in told[0]
    assert "cannot be made" in told[1]
    assert "cannot be made" in told[2]
    assert "Traceback" not in printed


def test_an_older_store_that_may_not_be_changed_is_told_so(locked: Path) -> None:
    """It could be read only after an update of its tables, which its owner can make."""
    with closing(apsw.Connection(str(locked / "default.db"))) as connection:
        connection.pragma("user_version", newest() - 1)
    code = """
        try:
            open_store(sys.argv[1], read_only=True)
        except StoreUnavailable as error:
            print("told", error)
    """
    printed = as_nobody(code, str(locked))
    assert printed.startswith("told")
    assert "make it writable once" in printed


def test_a_backup_is_a_whole_store(tmp_path: Path) -> None:
    """Taken while the store is in use, opened like any other, its owner's alone."""
    session_id = filled(tmp_path / "home")
    store = open_store(tmp_path / "home")
    store.backup(str(tmp_path / "copy.db"))
    store.append(session_id, [NewMessage(body=b"later", role="user")])
    copy = open_store(tmp_path / "copy.db")
    assert len(copy.read(session_id)) == 3
    assert copy.health(deep=True).problems == ()
    copy.append(session_id, [NewMessage(body=b"on", role="user")])
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    with pytest.raises(StoreUnavailable, match="backup cannot be written"):
        store.backup(str(tmp_path / "missing" / "x.db"))
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "copy.db", "copy.db-shm", "copy.db-wal",
    ]  # fmt: skip
    copy.close()
    store.close()


def test_damage_within_is_found_and_the_rest_is_read(tmp_path: Path) -> None:
    """A body that was changed is never taken for what was said."""
    session_id = filled(tmp_path)
    connection = apsw.Connection(str(tmp_path / "default.db"))
    connection.execute("UPDATE bodies SET packed = x'01ffff' WHERE key = 2")
    connection.close()
    store = open_store(tmp_path)
    assert store.read(session_id, 0, 1)[0].body == b"0" * 50
    with pytest.raises(StoreUnavailable, match="damaged"):
        store.read(session_id)
    assert store.health().problems == ()
    assert store.health(deep=True).problems == ("body 2 cannot be unpacked",)
    store.close()


def test_a_store_goes_on_after_it_was_closed(tmp_path: Path) -> None:
    """Closing lets go of the file; the next call opens it again."""
    session_id = filled(tmp_path)
    store: Store = open_store(tmp_path)
    store.close()
    assert len(store.read(session_id)) == 3
    store.append(session_id, [NewMessage(body=b"x", role="user")])
    store.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["default.db"]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_in_the_place_of_a_folder_is_told(tmp_path: Path, read_only: bool) -> None:
    """It is no empty store, and it stays as it is."""
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(StoreUnavailable, match="a file, and no store"):
        open_store(path, read_only=read_only)
    assert path.read_text() == "mine"


def test_a_statement_is_not_planned_again_for_each_value(tmp_path: Path) -> None:
    """The plan of a lookup does not depend on what is looked for."""
    filled(tmp_path / "one.db")
    with closing(connect(str(tmp_path / "one.db"))) as connection:
        assert connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1)

"""A file that agents and editors write at the same time: changes that are whole, kept, and lose
nobody's work.

Next to the file are its lock, its history, and the file that the last change replaced.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from foldaway._core import Redact, make_private_folder, replace_file, sync_folder
from foldaway.errors import MemoryRefused, NotReadable, NotWritable
from foldaway.memory.files.entries import entries_of, merge
from foldaway.memory.files.history import History, Version, Who, digest, to_bytes, to_text

UNSEEN_SECONDS = 5.0
"""What Foldaway wrote so shortly before an editor saved, nobody can have read in that editor: where
it is missing then, it was not taken out by anybody and is put back."""
_PATIENT = 5
"""Tries that are given up where somebody saves meanwhile; the next ones are not."""
_TRIES = 15
_ENTRIES = 3
MOST_BYTES = 256_000
"""Of a file that is read; nobody's memory is longer."""
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
"""A pipe keeps nobody waiting."""
_PAUSE_SECONDS = 0.02
_ROUNDS = 2
_ROUNDS_EMPTY = 50
_MOST_ROUNDS = 200
WAIT_SECONDS = 10.0
"""For the lock; a change takes a few milliseconds, and a second if a file has to settle."""
_POLL_SECONDS = 0.004


class FileContent(Struct, frozen=True):
    """What a file held, and which file it was; a file that is not there holds nothing."""

    data: bytes
    sign: tuple[int, ...] = ()
    """Device, inode, size and times: it differs where somebody wrote since."""
    changed: float = 0.0
    """When it was put in its place, or written, in seconds since 1970."""


class _Now(Struct, frozen=True):
    """The file under the lock, the newest version of its history, and what it should say."""

    seen: FileContent
    last: Version | None
    text: str
    """That of the file, or with what has yet to be put back or taken in."""

    @property
    def there(self) -> str:
        """What the file says."""
        return to_text(self.seen.data)


class SharedFile:
    """The file at a path, and beside it its lock, its history and the file before it."""

    def __init__(self, path: Path, redact: Redact, clock: Callable[[], float]) -> None:
        self.path = path
        self.history = History(path.with_name(f".{path.name}.history"))
        self._old = path.with_name(f".{path.name}.before")
        self._redact = redact
        self._clock = clock

    def exists(self) -> bool:
        """Return whether there is, or was, anything."""
        return self.path.exists() or self.history.path.exists()

    def read(self) -> FileContent:
        """Return what is there now."""
        return read_file(self.path)

    def change(self, who: Who, what: str, edit: Callable[[str], str]) -> str:
        """Put what `edit` makes of the text in its place and return it; it is on the disk then.

        `edit` may be called again where somebody writes meanwhile; what it raises goes through,
        and nothing is changed.
        """
        try:
            make_private_folder(self.path.parent)
            with hold_lock(self.path.with_name(f".{self.path.name}.lock"), self.path.name):
                for number in range(_TRIES):
                    insist = number >= _PATIENT
                    now = self._notice(insist=insist)
                    if now is None:
                        continue
                    new = edit(now.text)
                    if new == now.there:
                        return new
                    if self._write(now, new, who, what or "put back", insist=insist):
                        if insist or self._is_overtaken(now):
                            self._settle()
                        return new
        except OSError as error:
            raise NotWritable(
                str(self.path),
                f"cannot be written ({error.strerror or error})",
                remedy="what was there is still there",
            ) from error
        raise MemoryRefused(
            self.path.name, "somebody else writes it without a pause", remedy="try again"
        )

    def purge(self, clean: Callable[[str], str], *, dry_run: bool) -> None:
        """Make of the file and of each of its versions what `clean` makes of them; the file that
        the last change replaced goes. Nothing is written in a dry run.

        If it is cut short, doing it again does the rest.
        """
        if not self.exists():
            return
        try:
            with hold_lock(self.path.with_name(f".{self.path.name}.lock"), self.path.name):
                self._purge(clean, dry_run=dry_run)
        except OSError as error:
            raise NotWritable(
                str(self.path),
                f"cannot be written ({error.strerror or error})",
                remedy="free some room or change its permissions, and try again",
            ) from error

    def _purge(self, clean: Callable[[str], str], *, dry_run: bool) -> None:
        last = self._finish_last()
        versions = [(one.version, one.text) for one in self.history.versions() if one.text]
        seen, old = read_file(self.path), to_text(read_file(self._old).data)
        is_known = last is not None and last.after == digest(seen.data)
        now = to_text(seen.data if is_known else read_settled(self.path).data)
        cleaned = [(version, clean(text)) for version, text in versions]
        new, new_old = clean(now), clean(old)
        if dry_run or (cleaned, new, new_old) == (versions, now, old):
            return
        self._old.unlink(missing_ok=True)
        if new != now:
            target, draft = self._target(), self._new_file(0)
            write_new(draft, to_bytes(new), like=target)
            os.replace(draft, target)
            sync_folder(target.parent)
        self.history.rewrite(cleaned, digest(to_bytes(new)) if is_known else "")

    def _is_overtaken(self, now: _Now) -> bool:
        """Return whether the file that was replaced is another one than the file that was read."""
        try:
            return _sign(os.stat(self._old))[:-1] != now.seen.sign[:-1]  # renaming changes ctime
        except FileNotFoundError:
            return False

    def _settle(self) -> None:
        """Take in what was saved at the moment of our own change."""
        for _ in range(_PATIENT):
            now = self._notice(insist=True)
            if now is None or now.text == now.there:
                return
            self._write(now, now.text, "editor", "put back", insist=True)

    def _notice(self, *, insist: bool) -> _Now | None:
        """Return the file as it is now, after taking in what others did; None to look again.

        Who insists writes also where somebody saved since it was looked at: what they saved is
        then the old file, and is taken in next. What is to be put back they write with their own.
        """
        last = self._finish_last()
        known = last.after if last is not None else digest(b"")
        seen = read_file(self.path)
        if digest(seen.data) != known:
            seen = read_settled(self.path)
        now = _Now(seen, last, to_text(seen.data))
        if digest(seen.data) != known:
            now = self._take_in(now, insist=insist)
        late = self._read_late(now) if now is not None else None
        if now is None or late is None:
            return now
        if insist:
            return _Now(now.seen, now.last, late)
        self._write(now, late, "editor", "edit in place", insist=False)
        return None

    def _finish_last(self) -> Version | None:
        """Return the newest version, without one whose writer ended before it was in its place."""
        last = self.history.last()
        new = self._new_file(last.number) if last is not None else None
        if last is not None and new is not None and new.exists():
            if digest(read_file(self.path).data) == last.after:  # exchanged, but not yet renamed
                os.replace(new, self._old)
            else:
                self.history.drop_last()
                new.unlink()
                last = self.history.last()
        if last is not None and last.part:
            self.history.drop_last()
            last = self.history.last()
        self._new_file(_next_number(last)).unlink(missing_ok=True)
        return last

    def _take_in(self, now: _Now, *, insist: bool) -> _Now | None:
        """Keep what an editor saved, with what it cannot have shown."""
        merged = self._add_unseen(now.text, now.seen.changed or self._clock())
        start = self.history.size()
        version = Version(
            number=_next_number(now.last),
            time=self._clock(),
            who="editor",
            what="edit",
            written=False,
            before=now.last.after if now.last is not None else "",
            after=digest(now.seen.data),
            part=merged != now.text,
        )
        self.history.put(version, None, self._redact(now.text))
        if insist or not version.part:
            return _Now(now.seen, version, merged)
        self._write(
            _Now(now.seen, version, merged), merged, "editor", "put back", start, insist=False
        )
        return None

    def _add_unseen(self, text: str, saved: float) -> str:
        """Return what an editor saved at a moment with what it cannot have shown by then."""
        base = newest = ""
        passed: set[str] = set()
        for kept in self.history.versions():
            newest = kept.text if kept.text is not None else newest
            seen_by = saved if not kept.version.written else saved - UNSEEN_SECONDS
            if kept.version.time <= seen_by:
                base, passed = newest, set[str]()
            else:
                passed.update(entry.text for entry in entries_of(newest))
        return merge(base, newest, text, passed).text

    def _read_late(self, now: _Now) -> str | None:
        """Return the text with what was written into the old file after it was read, if anything.

        An editor that writes in place may have had it open when it was replaced.
        """
        old = read_file(self._old)
        if not old.sign or digest(old.data) == self._read_replaced(now.last):
            return None
        old = read_settled(self._old)
        if not old.data:  # emptied and not filled again: nobody saved that
            return None
        late = self._add_unseen(to_text(old.data), old.changed)
        if now.text != now.there:
            late = merge(now.there, now.text, late).text
        if late == now.text:
            self._old.unlink(missing_ok=True)
            return None
        return late

    def _read_replaced(self, last: Version | None) -> str:
        """Return what the old file held when it was replaced."""
        if last is None or last.written:
            return last.before if last is not None else ""
        written = [one.version for one in self.history.versions() if one.version.written]
        return written[-1].before if written else ""

    def _write(
        self, now: _Now, text: str, who: Who, what: str, start: int | None = None, *, insist: bool
    ) -> bool:
        """Put a text in the place of what was read; False if that is no longer there.

        The history is then as it was when it ended at `start`, before this if nothing is said.
        """
        data = to_bytes(text)
        target = self._target()
        if now.seen.sign and is_read_only(target):
            raise PermissionError(errno.EACCES, "it is read-only", str(target))
        new = self._new_file(_next_number(now.last))
        start = self.history.size() if start is None else start
        try:
            write_new(new, data, like=target)
            self._record(now, text, who, what)
            if is_unchanged(target, now.seen) or insist:
                replace_file(new, target, self._old, must_keep=insist)
                sync_folder(target.parent)
                return True
        except OSError:
            self._take_back(start, new)
            raise
        self._take_back(start, new)
        return False

    def _record(self, now: _Now, text: str, who: Who, what: str) -> None:
        """Put a version into the history, again where the disk took so long that its time is old.

        By its time it is told what an editor can have shown.
        """
        known = now.last is not None and now.last.after == digest(now.seen.data)
        before = self._redact(now.there) if known else None
        start, kept = self.history.size(), self._redact(text)
        for _ in range(_ENTRIES):
            version = Version(
                number=_next_number(now.last),
                time=self._clock(),
                who=who,
                what=what,
                before=digest(now.seen.data),
                after=digest(to_bytes(text)),
            )
            self.history.cut(start)
            self.history.put(version, before, kept)
            if self._clock() - version.time < UNSEEN_SECONDS / 5:
                break

    def _take_back(self, start: int, new: Path) -> None:
        """Leave the history first: as long as the new file is there, it was not put in place."""
        self.history.cut(start)
        new.unlink(missing_ok=True)

    def _target(self) -> Path:
        """Return the file that a link leads to: the link stays."""
        return Path(os.path.realpath(self.path))

    def _new_file(self, number: int) -> Path:
        return self._target().with_name(f".{self.path.name}.{number}.new")


def _next_number(last: Version | None) -> int:
    return 1 if last is None else last.number + 1


@contextmanager
def hold_lock(lock: Path, name: str, wait_seconds: float = WAIT_SECONDS) -> Generator[None]:
    """Hold the lock; the system releases it when the process ends, however it ends.

    Every call opens the lock for itself, so threads exclude each other too. Raises `MemoryRefused`
    if another holder keeps it longer than `wait_seconds`, and `OSError` if the file system has no
    locks.
    """
    from filelock import FileLock, Timeout  # slow to import, and only writers need it

    held = FileLock(
        lock, wait_seconds, mode=0o600, poll_interval=_POLL_SECONDS, fallback_to_soft=False
    )
    try:
        held.acquire()
    except Timeout:
        raise MemoryRefused(
            name,
            f"another process has held its lock for {wait_seconds:g} seconds",
            remedy="try again",
        ) from None
    try:
        yield
    finally:
        held.release()


def read_file(path: Path, *, cut: bool = False) -> FileContent:
    """Return what is in a file, or raise `NotReadable`; `cut` takes the beginning of a long one."""
    try:
        handle = os.open(path, _READ)
    except FileNotFoundError:
        return FileContent(b"")
    except OSError as error:
        raise NotReadable(
            f"cannot be read ({error.strerror})", where=str(path), remedy="check the file"
        ) from None
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise NotReadable("is no file", where=str(path), remedy="move it away")
    with os.fdopen(handle, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES and not cut:
        raise NotReadable(
            f"is larger than {MOST_BYTES:,} bytes", where=str(path), remedy="make it shorter"
        )
    return FileContent(data[:MOST_BYTES], _sign(found), found.st_ctime)


def read_settled(path: Path) -> FileContent:
    """Return what is in a file that somebody may be writing to just now.

    An editor that writes in place empties the file first; one that replaces it may take it away
    for a moment. So it has to look the same several times.
    """
    seen, same = read_file(path), 1
    for _ in range(_MOST_ROUNDS):
        if same >= (_ROUNDS if seen.data else _ROUNDS_EMPTY):
            break
        time.sleep(_PAUSE_SECONDS)
        again = read_file(path)
        same = same + 1 if again == seen else 1
        seen = again
    return seen


def is_unchanged(path: Path, seen: FileContent) -> bool:
    """Return whether nobody wrote since."""
    try:
        return _sign(os.stat(path)) == seen.sign
    except FileNotFoundError:
        return not seen.sign


def is_read_only(path: Path) -> bool:
    """Return whether nobody may write a file: it could be replaced, but somebody wants it kept."""
    try:
        return not stat.S_IMODE(os.stat(path).st_mode) & 0o222
    except FileNotFoundError:
        return False


def write_new(path: Path, data: bytes, like: Path) -> None:
    """Write a file of our own and put it and its name on the disk, as readable as `like`."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        if like.exists():
            os.chmod(path, stat.S_IMODE(like.stat().st_mode))
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def _sign(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

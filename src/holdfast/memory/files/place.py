"""A file with its lock and its history: changes that are whole, kept, and lose nobody's work."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from holdfast.disk import make_private_folder, sync_folder
from holdfast.errors import MemoryRefused, NotWritable
from holdfast.memory.files.disk import (
    Seen,
    is_read_only,
    is_unchanged,
    look,
    settled,
    write_new,
)
from holdfast.memory.files.entries import entries_of
from holdfast.memory.files.history import History, Version, Who, digest, to_bytes, to_text
from holdfast.memory.files.lock import locked
from holdfast.memory.files.merge import merge
from holdfast.ports import Redact

UNSEEN_SECONDS = 5.0
"""What Holdfast wrote so shortly before an editor saved, nobody can have read in that editor: where
it is missing then, it was not taken out by anybody and is put back."""
_PATIENT = 5
"""Tries that are given up where somebody saves meanwhile; the next ones are not."""
_TRIES = 15
_ENTRIES = 3


class _Now(Struct, frozen=True):
    """The file under the lock, the newest version of its history, and what it should say."""

    seen: Seen
    last: Version | None
    text: str
    """That of the file, or with what has yet to be put back or taken in."""

    @property
    def there(self) -> str:
        """What the file says."""
        return to_text(self.seen.data)


class Place:
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

    def look(self) -> Seen:
        """Return what is there now."""
        return look(self.path)

    def change(self, who: Who, what: str, edit: Callable[[str], str]) -> str:
        """Put what `edit` makes of the text in its place and return it; it is on the disk then.

        `edit` may be called again where somebody writes meanwhile; what it raises goes through,
        and nothing is changed.
        """
        try:
            make_private_folder(self.path.parent)
            with locked(self.path.with_name(f".{self.path.name}.lock"), self.path.name):
                for number in range(_TRIES):
                    insist = number >= _PATIENT
                    now = self._noticed(insist=insist)
                    if now is None:
                        continue
                    new = edit(now.text)
                    if new == now.there:
                        return new
                    if self._write(now, new, who, what or "put back", insist=insist):
                        self._settle(insist)
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

    def _settle(self, insisted: bool) -> None:
        """Take in what was saved while we did not wait; the next change does it otherwise."""
        for _ in range(_PATIENT if insisted else 0):
            now = self._noticed(insist=True)
            if now is None or now.text == now.there:
                return
            self._write(now, now.text, "editor", "put back", insist=True)

    def _noticed(self, *, insist: bool) -> _Now | None:
        """Return the file as it is now, after taking in what others did; None to look again.

        Who insists writes also where somebody saved since it was looked at: what they saved is
        then the old file, and is taken in next. What is to be put back they write with their own.
        """
        last = self._finished()
        known = last.after if last is not None else digest(b"")
        seen = look(self.path)
        if digest(seen.data) != known:
            seen = settled(self.path)
        now = _Now(seen, last, to_text(seen.data))
        if digest(seen.data) != known:
            now = self._take_in(now, insist=insist)
        late = self._late(now) if now is not None else None
        if now is None or late is None:
            return now
        if insist:
            return _Now(now.seen, now.last, late)
        self._write(now, late, "editor", "edit in place", insist=False)
        return None

    def _finished(self) -> Version | None:
        """Return the newest version, without one whose writer ended before it was in its place."""
        last = self.history.last()
        if last is not None and self._new_file(last.number).exists():
            self.history.drop_last()
            self._new_file(last.number).unlink()
            last = self.history.last()
        if last is not None and last.part:
            self.history.drop_last()
            last = self.history.last()
        self._new_file(_next(last)).unlink(missing_ok=True)
        return last

    def _take_in(self, now: _Now, *, insist: bool) -> _Now | None:
        """Keep what an editor saved, with what it cannot have shown."""
        merged = self._with_unseen(now.text, now.seen.changed or self._clock())
        start = self.history.size()
        version = Version(
            number=_next(now.last), time=self._clock(), who="editor", what="edit", written=False,
            before=now.last.after if now.last is not None else "", after=digest(now.seen.data),
            part=merged != now.text,
        )  # fmt: skip
        self.history.put(version, None, self._redact(now.text))
        if insist or not version.part:
            return _Now(now.seen, version, merged)
        self._write(
            _Now(now.seen, version, merged), merged, "editor", "put back", start, insist=False
        )
        return None

    def _with_unseen(self, text: str, saved: float) -> str:
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

    def _late(self, now: _Now) -> str | None:
        """Return the text with what was written into the old file after it was read, if anything.

        An editor that writes in place may have had it open when it was replaced.
        """
        old = look(self._old)
        if not old.sign or digest(old.data) == self._replaced(now.last):
            return None
        old = settled(self._old)
        if not old.data:  # emptied and not filled again: nobody saved that
            return None
        late = self._with_unseen(to_text(old.data), old.changed)
        if now.text != now.there:
            late = merge(now.there, now.text, late).text
        if late == now.text:
            self._old.unlink(missing_ok=True)
            return None
        return late

    def _replaced(self, last: Version | None) -> str:
        """Return what the old file held when it was replaced."""
        if last is None or last.written:
            return last.before if last is not None else ""
        written = [one.version for one in self.history.versions() if one.version.written]
        return written[-1].before if written else ""

    def _write(
        self, now: _Now, text: str, who: Who, what: str, start: int | None = None, *, insist: bool
    ) -> bool:
        """Put a text in the place of what was read; False where that is no longer there.

        The history is then as it was when it ended at `start`, before this if nothing is said.
        """
        data = to_bytes(text)
        target = self._target()
        if now.seen.sign and is_read_only(target):
            raise PermissionError(errno.EACCES, "it is read-only", str(target))
        new = self._new_file(_next(now.last))
        start = self.history.size() if start is None else start
        try:
            write_new(new, data, like=target)
            self._enter(now, text, who, what)
            if is_unchanged(target, now.seen) or insist:
                self._keep_old(target, needed=insist)
                os.replace(new, target)
                sync_folder(target.parent)
                return True
        except OSError:
            self._take_back(start, new)
            raise
        self._take_back(start, new)
        return False

    def _enter(self, now: _Now, text: str, who: Who, what: str) -> None:
        """Put a version into the history, again where the disk took so long that its time is old.

        By its time it is told what an editor can have shown.
        """
        known = now.last is not None and now.last.after == digest(now.seen.data)
        before = self._redact(now.there) if known else None
        start, kept = self.history.size(), self._redact(text)
        for _ in range(_ENTRIES):
            version = Version(
                number=_next(now.last), time=self._clock(), who=who, what=what,
                before=digest(now.seen.data), after=digest(to_bytes(text)),
            )  # fmt: skip
            self.history.cut(start)
            self.history.put(version, before, kept)
            if self._clock() - version.time < UNSEEN_SECONDS / 5:
                break

    def _take_back(self, start: int, new: Path) -> None:
        """Leave the history first: as long as the new file is there, it was not put in place."""
        self.history.cut(start)
        new.unlink(missing_ok=True)

    def _keep_old(self, target: Path, *, needed: bool) -> None:
        self._old.unlink(missing_ok=True)
        try:
            os.link(target, self._old)
        except FileNotFoundError:
            return
        except OSError:  # not every file system has links
            if needed:
                raise

    def _target(self) -> Path:
        """Return the file that a link leads to: the link stays."""
        return Path(os.path.realpath(self.path))

    def _new_file(self, number: int) -> Path:
        return self._target().with_name(f".{self.path.name}.{number}.new")


def _next(last: Version | None) -> int:
    return 1 if last is None else last.number + 1

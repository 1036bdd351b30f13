"""A person's or a project's words taken out of a store, and proof of it read from the disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from foldaway.compaction import message_tokens
from foldaway.dialects import dump_bytes
from foldaway.errors import InvalidSetting, StoreUnavailable, UnknownSession
from foldaway.memory import MemoryProvider
from foldaway.search import extract_searchable
from foldaway.sessions.erased_words import Words, erase_message, fold, is_by, is_by_user
from foldaway.sessions.library import Project
from foldaway.sessions.rows import INBOX, decode_rows, new_message
from foldaway.stores import (
    HeldPiece,
    Rewording,
    SessionFilter,
    SessionInfo,
    Store,
    StoredMessage,
    is_store_file,
    stores_in,
)
from foldaway.transcript import Estimator

Why: TypeAlias = Literal["author", "quote", "words"]
"""Why a message is erased: its author, a line of theirs in it, or words that were given."""
Tell: TypeAlias = Callable[[str, int, int], object]
"""Hears what is being done, and how many steps of how many are."""

LEAST_CHARS: Final = 3
"""Of words that are looked for; chosen, shorter ones are in most messages."""
QUOTE_CHARS: Final = 40
"""Of a line that counts as a person's own in another message of the conversation; chosen, half a
line of print. Shorter ones (`yes, please do`) are said by everybody."""
SOUGHT_CHARS: Final = 8
"""Of a line that is looked for on the disk; chosen, shorter ones are there by chance."""
MOST_LINES: Final = 200
"""Lines that are looked for on the disk, the longest; chosen, a second each for every gigabyte."""
_TITLE_BYTES = 1_000
"""Of a title or a note that may be a line of somebody; chosen, longer ones have more in them."""
_AT_ONCE = 500
BLANK: Final = dump_bytes({"length": 0, "items": []})
"""A view that shows the log."""


class ErasedPlace(Struct, frozen=True):
    """A message whose words were taken out, in the session that owns it."""

    session: str
    position: int
    why: Why


class LookedAt(Struct, frozen=True):
    """A file that was read byte by byte."""

    path: str
    bytes: int


class Proof(Struct, frozen=True, kw_only=True):
    """What was looked for afterwards, where, and what is left."""

    words: int
    """The words that were given."""
    lines: int
    """Lines of the messages that are gone, of `of_lines` that are long enough to be theirs."""
    of_lines: int
    shared: int = 0
    """Lines that were not looked for on the disk, because others said the same."""
    shared_places: tuple[str, ...] = ()
    """Where others said the same, if a line is long enough to be a quote."""
    bodies: int = 0
    """Bodies that were unpacked; the tables around them were read too."""
    files: tuple[LookedAt, ...] = ()
    left: tuple[str, ...] = ()
    """Where something was found, and what keeps it there; nothing is left if this is empty."""


class Erasure(Struct, frozen=True, kw_only=True):
    """What was erased, or would be."""

    sessions: tuple[str, ...] = ()
    """Sessions that are gone whole."""
    whole_messages: int = 0
    messages: tuple[ErasedPlace, ...] = ()
    """Messages in sessions that stay."""
    touched: tuple[str, ...] = ()
    """Sessions that stay and in which something changed; before it is done, of some only their
    names, goals, pins or views have the words."""
    views: int = 0
    """Views that were dropped, because they may quote what is gone."""
    kept_for: tuple[str, ...] = ()
    """Sessions that share messages of one that is gone; these messages stay with them."""
    notes: int = 0
    """Notes in memory, old versions of them included."""
    cannot_forget: tuple[str, ...] = ()
    """Memories that cannot be asked to forget, or that failed."""
    is_done: bool = False
    proof: Proof | None = None


class _Plan(Struct):
    """What is to go."""

    whole: tuple[str, ...]
    whole_messages: int
    pieces: dict[str, list[HeldPiece]]
    """By the root of their sessions."""
    why: dict[tuple[str, int], Why]
    own: Mapping[str, str]
    """Lines of a person in conversations that stay, by what they are compared by."""
    lines: Words
    """Lines of all messages that go by which it is seen that they are gone."""
    of_lines: int


def _ignore(*_: object) -> None: ...


def erase_words(
    store: Store,
    *,
    person: str = "",
    project: str | Path | None = None,
    words: Sequence[str] = (),
    memories: Sequence[MemoryProvider] = (),
    also: Sequence[str | Path] = (),
    dry_run: bool = False,
    tell: Tell = _ignore,
) -> Erasure:
    """Erase the words of a person or a project, or all messages with given words; return what went
    and a proof that was read afterwards.

    `person` is a key or source of conversations, which go whole, and an author of messages in
    others, which then say `[erased]`, as do messages that quote a line of theirs. `project` is a
    folder: sessions that ran in it go whole, with all that came from them. `words` are looked for
    in all messages. Views that may quote any of it are dropped, names and notes with the words go,
    and files are written again. `also` are files and folders that the proof looks at too, such as
    backups. Done twice is done once; what an interrupt left undone, the next call does.
    """
    given = Words(words)
    if any(len(fold(text)) < LEAST_CHARS for text in words):
        raise InvalidSetting("words", "…", f"texts of at least {LEAST_CHARS} characters")
    if not (person or project is not None or words):
        raise InvalidSetting("person", "", "a person, a project or words")
    places = [Path(one).expanduser() for one in also]
    if missing := [str(one) for one in places if not one.exists()]:
        raise InvalidSetting("also", missing[0], "a file or folder that exists")
    plan = _plan(store, person, project, given, tell)
    quotes = (line for key, line in plan.own.items() if len(key) >= QUOTE_CHARS)
    found = Words([*words, *quotes])
    if dry_run:
        return Erasure(
            sessions=plan.whole,
            whole_messages=plan.whole_messages,
            messages=_places(plan),
            touched=_list_touched(plan),
            notes=_forget(memories, given, plan, dry_run=True)[0],
            cannot_forget=tuple(one.name for one in memories if not one.does("forget")),
        )

    def holds(data: bytes) -> bool:
        """Return whether it has the words, or is what the person said, as a title may be."""
        is_short = len(data) <= _TITLE_BYTES
        return found.holds(data) or (is_short and fold(data.decode("utf-8", "replace")) in plan.own)

    kept_for = store.erase(plan.whole, vacuum=False).kept_for if plan.whole else ()
    views, touched = 0, set[str]()
    for number, (root, held) in enumerate(plan.pieces.items()):
        tell("erasing", number, len(plan.pieces))
        changes = list(_changes(store, held, found))
        done = store.reword(root, changes, holds, mend=found.mend, blank=BLANK)
        views += done.views
        touched.update(done.sessions)
    notes, cannot = _forget(memories, given, plan, dry_run=False)
    tell("writing the files anew", 0, 1)
    troubles = store.leave_no_trace()
    proof = _prove(store, given, plan, also=places, memories=memories, troubles=troubles, tell=tell)
    return Erasure(
        sessions=plan.whole,
        whole_messages=plan.whole_messages,
        messages=_places(plan),
        touched=tuple(sorted(touched)),
        views=views,
        kept_for=kept_for,
        notes=notes,
        cannot_forget=cannot,
        is_done=True,
        proof=proof,
    )


# What is to go


def _plan(store: Store, person: str, project: str | Path | None, given: Words, tell: Tell) -> _Plan:
    folders = (
        () if project is None else Project.at(Path(project).expanduser()).pick(set(store.folders()))
    )
    # a person's are those whose key or source is theirs, and the inbox of such a key
    named = store.known_as(person, (person, INBOX + person)) if person else []
    if folders:
        wanted = SessionFilter(kind="any", folders=tuple(folders))
        named += [info.id for info in store.all_sessions(wanted)]
    whole = store.descendants(sorted({*named}))
    lines, own = _Lines(), _Lines()
    for info, _ in store.leaves(whole).values():
        lines.take(store, info, everybody=info.cwd in folders)
    pieces: dict[tuple[object, ...], HeldPiece] = {}
    why: dict[tuple[str, int], Why] = {}

    def take(found: Iterable[HeldPiece], reason: Callable[[HeldPiece], Why]) -> None:
        for piece in found:
            if piece.session_id and piece.session_id not in whole:
                pieces.setdefault((piece.kind, piece.session_id, piece.position), piece)
                if piece.kind == "message" and piece.key is not None:
                    why.setdefault((piece.session_id, piece.position), reason(piece))

    author = Words([person] if person else ())

    def is_by_person(data: bytes) -> bool:
        return author.holds(data) and is_by(person, data)

    def look(holds: Callable[[bytes], bool], words: Words) -> Iterator[HeldPiece]:
        told = partial(tell, "looking")
        return store.look_through(holds, told, sift=words.sift)

    if person or given.texts:
        either = Words([*given.spelled.values(), *author.spelled.values()])
        found = look(lambda data: given.holds(data) or is_by_person(data), either)
        take(found, lambda piece: "author" if is_by_person(piece.data) else "words")
    authored = [piece for piece in pieces.values() if _is_authored(why, piece)]
    for piece in authored:
        own.add(store, piece)
    roots = {piece.root_id for piece in authored}
    joined = _joined_roots(store, {piece.session_id for piece in authored})

    def quotes(piece: HeldPiece) -> bool:
        is_joined = piece.root_id in joined and piece.kind == "message" and is_by_user(piece.data)
        return is_joined or (piece.root_id in roots | joined and own.quotes.holds(piece.data))

    if authored and own.texts:
        wanted = Words(own.texts.values()) if joined else own.quotes
        take((piece for piece in look(wanted.holds, wanted) if quotes(piece)), lambda _: "quote")
    by_root: dict[str, list[HeldPiece]] = {}
    for piece in pieces.values():
        by_root.setdefault(piece.root_id, []).append(piece)
    lines.texts |= own.texts
    return _Plan(
        whole, store.owned_alone(whole), by_root, why, own.texts, lines.sought, len(lines.texts)
    )


def _joined_roots(store: Store, authored: set[str]) -> set[str]:
    """Return the roots of conversations whose inbox has messages of a person: what waits there
    together becomes one message, under the name of its first author.
    """
    known = (info for info, _ in store.leaves(sorted(authored)).values())
    keys = {
        info.source_id.removeprefix(INBOX) for info in known if info.source_id.startswith(INBOX)
    }
    ids = store.known_as("", sorted(keys))
    return {info.root_id for info, _ in store.leaves(ids).values()}


def _is_authored(why: Mapping[tuple[str, int], Why], piece: HeldPiece) -> bool:
    return piece.kind == "message" and why.get((piece.session_id, piece.position)) == "author"


class _Lines:
    """Lines of messages that go, by which it is seen that they are gone."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        """Each as it was said, by what it is compared by."""

    def take(self, store: Store, info: SessionInfo, *, everybody: bool) -> None:
        """Take the lines of a session's own messages: of all, or of those of a person."""
        for start in range(0, info.length, _AT_ONCE):
            rows = store.read(info.id, start, start + _AT_ONCE)
            own = [row for row in rows if row.owner_id == info.id]
            self._split([row for row in own if everybody or row.role == "user"], info.dialect)

    def add(self, store: Store, piece: HeldPiece) -> None:
        """Take the lines of one message."""
        rows = store.read(piece.session_id, piece.position, piece.position + 1)
        self._split(rows, store.session(piece.session_id).dialect)

    def _split(self, rows: Sequence[StoredMessage], dialect: str) -> None:
        for message in decode_rows(rows, dialect):
            text = extract_searchable(message).text
            lines = {fold(line): line for line in (*text.splitlines(), text)}
            self.texts |= {key: line for key, line in lines.items() if len(key) >= SOUGHT_CHARS}

    @property
    def quotes(self) -> Words:
        """Those that nobody else says by chance."""
        return Words(line for key, line in self.texts.items() if len(key) >= QUOTE_CHARS)

    @property
    def sought(self) -> Words:
        """The longest."""
        return Words(sorted(self.texts.values(), key=len, reverse=True)[:MOST_LINES])


def _places(plan: _Plan) -> tuple[ErasedPlace, ...]:
    return tuple(ErasedPlace(name, at, why) for (name, at), why in sorted(plan.why.items()))


def _list_touched(plan: _Plan) -> tuple[str, ...]:
    return tuple(sorted({one.session_id for some in plan.pieces.values() for one in some}))


# What is done


def _changes(store: Store, held: Sequence[HeldPiece], words: Words) -> Iterator[Rewording]:
    """Yield the messages of one root as they will be."""
    counter = Estimator()
    for piece in held:
        if piece.kind != "message" or piece.key is None:
            continue
        try:
            info = store.session(piece.session_id)
            (row,) = store.read(piece.session_id, piece.position, piece.position + 1)
        except (UnknownSession, ValueError):
            continue  # somebody deleted it meanwhile
        (message,) = decode_rows([row], info.dialect)
        made = erase_message(message, info.dialect, words)
        new = new_message(
            made,
            message_tokens(made, counter),
            time=row.time,
            generated=row.generated,
            key="" if words.holds(row.key.encode()) else row.key,
        )
        yield piece.reword(row.owner_id, row.position, new)


def _forget(
    memories: Sequence[MemoryProvider], given: Words, plan: _Plan, *, dry_run: bool
) -> tuple[int, tuple[str, ...]]:
    """Have memories forget what holds the words; return how many notes went, and who could not."""
    quotes = (line for key, line in plan.lines.spelled.items() if len(key) >= QUOTE_CHARS)
    words, notes, cannot = Words([*given.texts, *quotes]), 0, list[str]()
    for memory in memories:
        if not memory.does("forget"):
            cannot.append(memory.name)
            continue
        try:
            notes += memory.forget(lambda text: words.holds(text.encode()), dry_run=dry_run)
        except Exception:  # noqa: BLE001 a guest must not keep the rest from being erased
            cannot.append(memory.name)
    return notes, tuple(cannot)


# What is left


def _prove(
    store: Store,
    given: Words,
    plan: _Plan,
    *,
    also: Sequence[Path],
    memories: Sequence[MemoryProvider],
    troubles: Sequence[str],
    tell: Tell,
) -> Proof:
    read = 0

    def count(done: int, total: int) -> None:
        nonlocal read
        read = done
        tell("checking", done, total)

    everything = Words([*given.spelled.values(), *plan.lines.spelled.values()])
    left, shared, places = list(troubles), set[str](), list[str]()
    for piece in store.look_through(everything.holds, count, sift=everything.sift):
        if given.holds(piece.data) or not piece.session_id:
            left.append(piece.place)
            continue
        said = plan.lines.among(piece.data)
        shared |= said
        if piece.kind == "message" and any(len(line) >= QUOTE_CHARS for line in said):
            places.append(piece.place)
    sought = Words(text for key, text in everything.spelled.items() if key not in shared)
    if _forget(memories, given, plan, dry_run=True)[0]:
        left.append("a note in memory")
    files: list[LookedAt] = []
    paths = dict.fromkeys((*store.files(), *_files_in(also), *_stores_beside(store)))
    for number, path in enumerate(paths, 1):
        tell("checking files", number, len(paths))
        left += _left_in_file(path, sought, is_own=path == os.path.abspath(store.where))
        if os.path.exists(path):
            files.append(LookedAt(path, os.path.getsize(path)))
    return Proof(
        words=len(given.texts),
        lines=len(plan.lines.texts) - len(shared),
        of_lines=plan.of_lines,
        shared=len(shared),
        shared_places=tuple(places),
        bodies=read,
        files=tuple(files),
        left=tuple(dict.fromkeys(left)),
    )


def _files_in(places: Sequence[Path]) -> Iterator[str]:
    for place in places:
        yield from (str(one) for one in sorted((place, *place.rglob("*"))) if one.is_file())


def _stores_beside(store: Store) -> Iterator[str]:
    """Yield stores in the folder of this one: backups, and other profiles."""
    for own in store.files()[:1]:
        for path in sorted(Path(own).parent.iterdir()):
            if path.is_file() and str(path) not in store.files() and is_store_file(str(path)):
                yield str(path)


def _left_in_file(path: str, sought: Words, *, is_own: bool) -> Iterator[str]:
    """Yield what a file has, as bytes and, if it is another store, packed."""
    try:
        with open(path, "rb") as file:
            if number := sought.count_in(file):
                yield f"{path}: {number} of them as bytes"
        if not is_own and is_store_file(path):
            for other in stores_in(path):
                held = other.look_through(sought.holds, sift=sought.sift)
                yield from (f"{path}: {one.place}" for one in held)
    except StoreUnavailable as error:
        yield f"{path} could not be looked into: {error.what}"
    except FileNotFoundError:
        pass  # it went meanwhile, and what was in it
    except OSError as error:
        yield f"{path} could not be read ({error.strerror})"

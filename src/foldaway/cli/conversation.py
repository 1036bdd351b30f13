"""The one place where commands read a conversation, whatever names it."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from foldaway.agents.importers import ImportedSession, read_native, sessions_in
from foldaway.cli.files import STANDARD, count_of, label, read_bytes
from foldaway.cli.inputs import Input, input_limits, reading, refuse_contradiction
from foldaway.config import agent_places, open_store, read_settings
from foldaway.dialects import Document, Profile, dialect_for, profile_for, repair_transcript
from foldaway.errors import AmbiguousSession, NotReadable, StoreUnavailable, UnknownSession
from foldaway.transcript import Transcript

if TYPE_CHECKING:
    from foldaway.stores import SessionInfo, Store

_BOOKKEEPING = "keys-foreign"
"""The rule against fields that an agent keeps with its messages and no provider takes."""
_LAST = "last"


def read_input(
    name: str, provider: str | None, dialect: str | None, *, any_roles: bool = False
) -> Input:
    """Return a conversation decoded, or raise `NotReadable`.

    `name` is a file (of an agent that `import` knows, a message list, a request body, transcripts,
    also as gzip), a folder of them, `-` for standard input, or a stored session: its id or a part
    of it, its title, or `last`, which is the session that an agent wrote to last if none is stored.
    A file that exists wins. What a file is, its data say, unless a wire format is named. A list in
    which no message has a known role is refused unless `any_roles`: `check` says what is wrong with
    each.
    """
    limits, wanted = input_limits(), dialect_for(provider, dialect)
    data, is_native = b"", True
    if os.path.isdir(name):
        document = _build_document(sessions_in(name, limits=limits))
    elif is_path(name):
        data = read_bytes(name, limits)
        native = None if dialect else read_native(data, name, limits)
        is_native = native is not None
        if native is None:
            document = Document.read(data, dialect=wanted, limits=limits)
        else:
            document = _build_document(native)
    elif is_newest_file(name) and (newest := _read_newest()) is not None:
        name, document = newest
    else:
        name, document = _load_stored(name)
    for record in () if any_roles else document.records:
        _refuse_strangers(record.transcript)
    profiles = [_profile(record.transcript, provider) for record in document.records]
    return Input(name, data, document, tuple(profiles), is_native)


def read_given(name: str, given: Mapping[str, Any], *, err: bool = False) -> Input:
    """Return the conversation that a command is given; if there is none, the command ends."""
    refuse_contradiction(given["provider"], given["dialect"])
    with reading(name, as_json=given["as_json"], err=err):
        return read_input(name, given["provider"], given["dialect"])


def is_path(name: str) -> bool:
    """Return whether a name is that of a file or folder, or standard input; else of a session."""
    return name == STANDARD or os.sep in name or os.path.lexists(name) or not name


def is_newest_file(name: str) -> bool:
    """Return whether a name means the session that an agent wrote to last: `last`, and no session
    is stored. If the command names a store, `last` is looked for only there.
    """
    if name != _LAST or any(_given().get(one) for one in ("store", "home", "profile")):
        return False
    from foldaway.cli.stores import is_missing
    from foldaway.stores import SessionFilter

    try:
        with _open_given() as store:
            return not store.count(SessionFilter(kind="any"))
    except StoreUnavailable as error:
        return is_missing(error)


def _read_newest() -> tuple[str, Document] | None:
    """Return the file that an agent wrote to last and its last session; None if there is none."""
    from foldaway.usage import SessionFile

    for file in SessionFile.newest(place for _, place in agent_places()):
        with suppress(NotReadable):  # half written, maybe
            if (session := file.session()) is not None and not session.is_partial:
                return str(file.path), _build_document([session])
    return None


def _profile(transcript: Transcript, provider: str | None) -> Profile:
    profile = profile_for(transcript.dialect, provider)
    if profile.dialect != transcript.dialect:
        raise NotReadable(
            f"is {transcript.dialect}, which {profile.name} does not take",
            remedy=f"write it as {profile.dialect} first, with `foldaway convert`",
        )
    return profile


def _refuse_strangers(transcript: Transcript) -> None:
    """Raise if not one message is known: nothing that is said of such a list would be true."""
    if all(message.role == "unknown" for message in transcript.messages):
        raise NotReadable(
            "holds no message with a known role",
            remedy="expected the messages of OpenAI, Anthropic or Gemini, ShareGPT turns, or a "
            "session of an agent that `foldaway import` knows",
        )


def _build_document(found: Iterable[ImportedSession | NotReadable]) -> Document:
    """Return the sessions as a document; branches, and files that are none, are only named."""
    whole: list[ImportedSession] = []
    warnings: list[str] = []
    parts = 0
    for one in found:
        if isinstance(one, NotReadable):
            warnings.append(f"not read: {label(str(one))}")
        elif one.is_partial:
            parts += 1
        else:
            whole.append(one)
            warnings += [f"{note.where}: {note.said}" for note in one.notes if note.kind == "torn"]
    if parts:
        left = count_of(parts, "branch", "branches")
        warnings.append(f"{left} left out, without what came before; `foldaway import` takes all")
    if not whole:
        remedy = "; ".join(warnings) or "name a file or folder with sessions"
        raise NotReadable("holds no conversation", remedy=remedy)
    named = [(_plain_session(one), f"{one.agent} {one.source_id}", one.model) for one in whole]
    return Document.of(named, warnings)


def _plain_session(session: ImportedSession) -> Transcript:
    """Return a transcript in which the agent's own summaries are not taken for words of the user,
    as in a stored session.
    """
    transcript = _plain(session.transcript)
    messages = list(transcript.messages)
    for at in session.summaries:
        messages[at] = replace(messages[at], origin="summary")
    return replace(transcript, messages=tuple(messages))


def _plain(transcript: Transcript) -> Transcript:
    """Return a transcript without what the agent notes in its messages."""
    return repair_transcript(transcript, profile_for(transcript.dialect).only(_BOOKKEEPING))[0]


def _load_stored(name: str) -> tuple[str, Document]:
    """Return the id of a stored session and what the model sees of it; raise `NotReadable` if there
    is none.
    """
    from foldaway.cli.stores import clip_id, session_name  # a plain file needs no store
    from foldaway.sessions import transcript_of

    with open_stored_session(name) as (store, info):
        transcript = transcript_of(store, info, what="view")
    return clip_id(info.id), Document.of([(_plain(transcript), session_name(info), info.model)])


@contextmanager
def open_stored_session(name: str) -> Generator[tuple[Store, SessionInfo]]:
    """Give a stored session and its store, only to be read; raise `NotReadable` if there is none.

    The store is the one that the options of the command name.
    """
    try:
        with _open_given() as store:
            yield store, store.find(name)
    except (UnknownSession, StoreUnavailable):
        if is_newest_file(name):
            raise NotReadable(
                "no session is stored, and no agent has left one on this machine",
                remedy="name a file; `foldaway import --help` lists the agents that it can read",
            ) from None
        raise NotReadable(
            "is neither a file nor a kept session",
            remedy="check the name; `foldaway sessions list` shows what is kept, and `foldaway "
            "import` takes the sessions of your agents",
        ) from None
    except AmbiguousSession as error:
        raise NotReadable("names several sessions", remedy=str(error)) from None


@contextmanager
def _open_given() -> Generator[Store]:
    """Give the store that the options of the command name, only to be read."""
    from foldaway.cli.stores import store_place  # a plain file needs no store

    given = _given()
    settings = read_settings(given.get("config"))
    profile = given.get("profile") or settings.profile
    place = store_place(given, settings)
    with closing(open_store(place, profile=profile, read_only=True)) as store:
        yield store


def _given() -> Mapping[str, Any]:
    """Return the options of the command, {} outside of one."""
    context = click.get_current_context(silent=True)
    return context.params if context else {}

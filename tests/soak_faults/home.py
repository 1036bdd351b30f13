"""A home with sessions, a memory and a transcript: built, read back, and checked after a fault.

A home holds what a fault could damage: `sessions/default.db` with two kept sessions, one compacted
in place and one by rotation, `MEMORY.md`, and `chat.json`, which is compressed in place. What an
import takes lies beside the homes and is only read.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from foldaway._core.policy import Policy
from foldaway.cli import run as foldaway
from foldaway.dialects.jsontext import dump_bytes
from foldaway.errors import FoldawayError
from foldaway.memory.files.history import History
from foldaway.memory.files.memory_file import Limit, MemoryFile
from foldaway.sessions import SessionOptions, internals
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession, SessionFilter

KINDS = ("import", "append", "compact", "memory", "undo")
NAMES = ("in-place", "rotate")
SOURCE_MESSAGES = 10
State = dict[str, Any]
"""What a home holds: `session NAME` is the log and what the model sees, `import NAME` the number of
messages, `memory` the entries, `chat` the transcript; contents as hashes.
"""
_SOURCES, _TURNS = 12, 14
_SMALL = Policy(floor_tokens=500)


class Refused(FoldawayError):
    """What the command line said when it ended with an error."""


class Broken(AssertionError):
    """A promise that a fault broke."""


def build(folder: Path) -> None:
    """Make the home that every run starts from, and the files that imports take."""
    home = folder / "template"
    home.mkdir(parents=True)
    with open_store(home / "sessions") as store:
        for name in NAMES:
            new = NewSession(dialect="openai-chat", mode=name, source_id=f"kept {name}")
            Session(store, options=SessionOptions(new=new)).append(*_talk(name))
    memory_of(home).add("the first entry", "tool")
    (home / "chat.json").write_text(json.dumps(_talk("file")))
    sources = folder / "sources"
    sources.mkdir()
    for number in range(_SOURCES):
        lines = [
            json.dumps({
                "type": "user", "uuid": f"u{number}-{at}", "sessionId": f"s{number}",
                "parentUuid": f"u{number}-{at - 1}" if at else None,
                "message": {"role": "user", "content": f"word{number}x{at} " + "so on " * 50},
            })
            for at in range(SOURCE_MESSAGES)
        ]  # fmt: skip
        (sources / f"{number}.jsonl").write_text("\n".join(lines) + "\n")


def _talk(name: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": "You help."}, *turns(name, _TURNS)]


def turns(name: str, count: int) -> list[dict[str, str]]:
    """Return questions and answers that are long enough to be folded."""
    talk: list[dict[str, str]] = []
    for number in range(count):
        words = f"Question {number} of {name} on module_{number}.py, at most {number} times. "
        talk += [
            {"role": "user", "content": words + "word " * 80},
            {"role": "assistant", "content": f"Answer {number}. " + "so on " * 90},
        ]
    return talk


def resume(store: Store, name: str) -> Session:
    """Take up a kept session, with a window that it fills: so every compaction has work to do."""
    return Session(store, f"kept {name}", context_length=8_000, policy=_SMALL)


def memory_of(home: Path) -> MemoryFile:
    """Return the memory of a home, without a limit that matters."""
    return MemoryFile(home / "MEMORY.md", Limit(chars=900_000, tokens=900_000))


def sha(data: bytes) -> str:
    """Return a short name for some bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def standing(store: Store, session: Session) -> list[Any]:
    """Return the messages of a log, and what the model sees of it."""
    log = [sha(row.body) for row in store.read(session.id)]
    return [log, sha(dump_bytes(session.messages))]


def command(*arguments: str) -> None:
    """Run the command line in this process; raise what it said if it ends with an error."""
    said = StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = foldaway(list(arguments))
    if code:
        raise Refused(f"{arguments[0]} ended with {code}: {said.getvalue().strip()}")


def check(home: Path, state: State, lines: Iterable[str]) -> State:
    """Check a home against its state before and what was said since; return its state now.

    What was acknowledged is there. What was begun is there or is not. Nothing else has changed.
    """
    begun: State = {}
    for line in lines:
        word, _, said = line.split(" ", 2)
        begun = json.loads(said) if word == "try" else {}
        state = state if word == "try" else {**state, **json.loads(said)}
    now = look(home)
    for name in sorted({*state, *now}):
        was, found = state.get(name), now.get(name)
        if found != was and not (name in begun and _fits(found, begun[name])):
            raise Broken(f"{name} is {found}, and was acknowledged as {was} (begun: {begun})")
    return now


def _fits(found: Any, wanted: Any) -> bool:
    """Return whether a state is the one that was begun; null is what was not known beforehand."""
    if isinstance(wanted, list) and len(wanted) == 2 and isinstance(wanted[0], list):
        return found is not None and found[0] == wanted[0]
    return wanted is None or found == wanted


def look(home: Path) -> State:
    """Return what a home holds; raise `Broken` if anything in it is not whole."""
    state: State = {"memory": _memory(home), "chat": _chat(home)}
    with open_store(home / "sessions") as store:
        if problems := store.health(deep=True).problems:
            raise Broken(f"the store has problems: {problems}")
        for name in NAMES:
            session = resume(store, name)
            state[f"session {name}"] = standing(store, session)
            if not all(
                session.recall(row.ref) for row in internals(session).engine.state.references
            ):
                raise Broken(f"a reference of {name} leads nowhere")
        for info in store.sessions(SessionFilter(kind="any"), most=500).sessions:
            if not info.length:
                raise Broken(f"an empty session is left: {info.source} {info.source_id}")
            if info.source_id.startswith("s"):
                state[f"import {info.source_id}"] = info.length
                number = info.source_id.removeprefix("s")
                keys = [row.key for row in store.read(info.id)]
                if keys != [f"u{number}-{at}" for at in range(info.length)]:
                    raise Broken(f"the messages of {info.source_id} are {keys}")
    return state


def _memory(home: Path) -> list[str]:
    file = memory_of(home)
    file.notice("cli")  # what a fault left unfinished is taken up by the next one that writes
    versions = list(History(home / ".MEMORY.md.history").versions())
    if any(one.text is None for one in versions):
        raise Broken("a version of the memory is damaged")
    if versions[-1].text != file.text():
        raise Broken("the memory is not its newest version")
    return [entry.text for entry in file.entries()]


def _chat(home: Path) -> str:
    """Return which transcript there is; whatever was done to it can be undone."""
    original = sha(json.dumps(_talk("file")).encode())
    found = sha((home / "chat.json").read_bytes())
    if found != original:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("chat.json", "chat.json.originals.jsonl"):
                shutil.copy(home / name, folder)
            copy = Path(folder, "chat.json")
            while Path(f"{copy}.originals.jsonl").exists():
                command("undo", str(copy))
            if sha(copy.read_bytes()) != original:
                raise Broken("the transcript cannot be undone to its original")
    return found

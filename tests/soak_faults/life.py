"""A process that works in a home: import, append, compact, memory, undo."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from home import NAMES, SOURCE_MESSAGES, State, command, memory_of, resume, sha, standing, turns

from foldaway.agents.importers import ImportedSession, sessions_in
from foldaway.agents.importers.take import take
from foldaway.dialects.jsontext import dump_bytes
from foldaway.stores.open import open_store

_NEW_TURNS = 8
"""Enough for the next compaction to have something to fold."""


class Life:
    """One process at work; every kind of operation by its name.

    `say` gets `try KIND STATE` before an operation and `done KIND STATE` after it. STATE is the
    part of the home that it changes, as it will be or as it is now; null is not known beforehand.
    """

    def __init__(self, home: Path, sources: Path, seed: int, say: Callable[[str], None]) -> None:
        self._home, self._say = home, say
        self._chance, self._seed, self._count = random.Random(seed), seed, 0
        self._store = open_store(home / "sessions")
        self._sessions = {name: resume(self._store, name) for name in NAMES}
        self._memory = memory_of(home)
        self._chat = home / "chat.json"
        self._sources = sorted(sources.iterdir())

    def do(self, kind: str) -> None:
        """Do one operation of a kind."""
        self._count += 1
        is_file = self._chance.random() < 0.4
        match kind:
            case "import":
                self._import()
            case "append":
                self._append()
            case "memory":
                self._remember()
            case "compact":
                self._compress_file() if is_file else self._compact(self._chance.choice(NAMES))
            case _:
                self._undo_file() if is_file else self._undo()

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _run(self, kind: str, begun: State, work: Callable[[], State | None]) -> None:
        self._say(f"try {kind} {json.dumps(begun)}")
        done = work()
        self._say(f"done {kind} {json.dumps(begun if done is None else done)}")

    def _import(self) -> None:
        found = self._new_source()
        if found is None:
            return self._append()

        def work() -> None:
            take(self._store, found)

        return self._run("import", {f"import {found.source_id}": SOURCE_MESSAGES}, work)

    def _new_source(self) -> ImportedSession | None:
        for path in self._sources:
            for found in sessions_in(path):
                assert isinstance(found, ImportedSession)
                if self._store.by_source(found.agent, found.source_id) is None:
                    return found
        return None

    def _append(self) -> None:
        text = f"k{self._seed}n{self._count} " + "x " * self._chance.choice((0, 50, 2000))
        self._take(self._chance.choice(NAMES), [{"role": "user", "content": text}])

    def _take(self, name: str, new: list[dict[str, str]]) -> None:
        def work() -> State:
            self._sessions[name].append(*new)
            return self._state(name)

        log = [*self._log(name), *(sha(dump_bytes(one)) for one in new)]
        self._run("append", {f"session {name}": [log, None]}, work)

    def _compact(self, name: str) -> State:
        """Append what can be folded and compact; return the state in between."""
        self._take(name, turns(f"k{self._seed}n{self._count}", _NEW_TURNS))
        before = self._state(name)

        def work() -> State:
            report = self._sessions[name].compact(force=True)
            # a process that was killed may still have the lease, for as long as that lasts
            assert report.status != "unchanged" or report.reason == "already running", report
            return self._state(name)

        self._run("compact", {f"session {name}": [self._log(name), None]}, work)
        return before

    def _undo(self) -> None:
        """Compact and take it back: the session is as it was before."""
        before = self._compact("in-place")
        if self._state("in-place") == before:
            return

        def work() -> State:
            self._sessions["in-place"].undo()
            assert self._state("in-place") == before
            return before

        self._run("undo", before, work)

    def _compress_file(self) -> None:
        def work() -> State:
            chat = str(self._chat)
            command("compress", chat, "-o", chat, "--target-tokens", "1500", "--force")
            return self._file()

        self._run("compact", {"chat": None}, work)

    def _undo_file(self) -> None:
        if not Path(f"{self._chat}.originals.jsonl").exists():
            self._compress_file()

        def work() -> State:
            command("undo", str(self._chat))
            return self._file()

        self._run("undo", {"chat": None}, work)

    def _remember(self) -> None:
        file = self._memory
        held = file.entries()
        old = self._chance.choice(held)
        text = f"k{self._seed} {self._count} " + "word " * self._chance.randint(0, 30) + "end"
        at = held.index(old)
        texts = [entry.text for entry in held]
        change, after = self._chance.choice([
            (lambda: file.add(text, "tool"), [*texts, text]),
            (lambda: file.replace(old.id, text, "tool"), [*texts[:at], text, *texts[at + 1 :]]),
            (lambda: file.remove(old.id, "tool"), texts[:at] + texts[at + 1 :]),
        ])  # fmt: skip
        if not after:
            change, after = (lambda: file.add(text, "tool")), [*texts, text]

        def work() -> None:
            change()

        self._run("memory", {"memory": after}, work)

    def _log(self, name: str) -> list[str]:
        return standing(self._store, self._sessions[name])[0]

    def _state(self, name: str) -> State:
        return {f"session {name}": standing(self._store, self._sessions[name])}

    def _file(self) -> State:
        return {"chat": sha(self._chat.read_bytes())}

"""Standard logging: a record for every decision, and never a word of what was said."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.testing.long_lists import Exchange, written

from foldaway import Model, Options, Session, compress
from foldaway._core.journal import EVENTS, listens, log_event
from foldaway._core.policy import Policy
from foldaway.agents.importers import sessions_in
from foldaway.agents.importers.take import take_all
from foldaway.caching.prices import Prices
from foldaway.config import read_settings
from foldaway.engine.compressor import Compressor
from foldaway.errors import SummarizerFailed
from foldaway.memory.manager import MemoryLimits, MemoryManager
from foldaway.memory.provider import MemoryProvider, MemoryTurn
from foldaway.sessions import Inbox, InboxWorker, SessionOptions
from foldaway.sessions.finding import discover
from foldaway.sessions.hooks import Hooks
from foldaway.sessions.repairs import repaired_view
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession
from foldaway.summarizers.writers import Writers
from foldaway.testing import ScriptedSummarizer

MARK = "Zebulon"
SECRET = "ghp_" + "a1B2c3D4e5" * 4
GOOD = '{"decisions": [{"text": "Everything was checked before it was changed.", "source": ""}]}'
WINDOW: Any = {
    "context_length": 8_000, "policy": Policy(floor_tokens=500),
}  # fmt: skip
PRICES = Prices(
    input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6.0, at_marks=True
)


def talk(count: int, start: int = 0) -> list[Any]:
    """Return a talk with the mark and a secret in every kind of place."""
    found: list[Any] = []
    for number in range(start, start + count):
        text = f"Question {number} of {MARK}: the token is {SECRET}. " + "word " * 40
        read = {"name": "read_file", "arguments": json.dumps({"path": f"{MARK}_{number}.py"})}
        call = {"id": f"call_{number}", "type": "function", "function": read}
        found += [
            {"role": "user", "content": text},
            {"role": "assistant", "content": f"{MARK} says so.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": f"{MARK} {SECRET}\n" * 9},
            {"role": "assistant", "content": f"Answer {number} to {MARK}. " + "so on " * 40},
        ]
    return found


class Guest(MemoryProvider):
    """A memory that raises, or waits until it is let go."""

    name = "guest"

    def __init__(self) -> None:
        self.free = threading.Event()

    def prefetch(self, query: str, session_id: str) -> str:
        if "wait" in query:
            self.free.wait(5)
        raise ValueError(query)

    def sync(self, turn: MemoryTurn) -> None:
        self.free.wait(5)


def compactions(place: Path) -> None:
    """Done, undone, unchanged, deferred, and not at all."""
    compress([*talk(12), talk(1, 12)[2]], target_tokens=1_500)  # the last result has no call
    made = Compressor(**WINDOW)
    made.append(*talk(1))
    assert made.compact().reason == "below threshold"
    policy = Policy(floor_tokens=500, target_ratio=0.6)
    dear = Compressor(context_length=80_000, policy=policy, model=Model(prices=PRICES))
    dear.append(*written("openai-chat", [Exchange(1, 2, 9_000)] * 4))
    assert dear.compact().reason == "deferred"


def summaries(place: Path) -> None:
    """By a model, by another one, by the ledger, and while there is a pause."""
    down = SummarizerFailed("refused", "down", f"{MARK} {SECRET}")
    for writers in (
        Writers(main=ScriptedSummarizer([down]), fallback=ScriptedSummarizer([GOOD])),
        Writers(main=ScriptedSummarizer([down]), on_failure="ledger"),
        Writers(main=ScriptedSummarizer([down]), on_failure="abort"),
    ):
        engine = Compressor(**WINDOW, summarizer=writers)
        engine.append(*talk(20))
        engine.compact()
        engine.append(*talk(20, 20))
        engine.compact()
    compress(talk(12), target_tokens=1_500, summarizer=ScriptedSummarizer([GOOD]),
             options=Options(focus=MARK))  # fmt: skip


class Unleased:
    """A store whose leases are broken."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if name == "acquire":
            raise RuntimeError(MARK)
        return getattr(self._store, name)


def settings(place: Path) -> None:
    """A variable that nobody knows."""
    assert read_settings(
        environment={"FOLDAWAY_HOME": str(place), f"FOLDAWAY_{MARK}": SECRET}
    ).warnings


def sessions(place: Path) -> None:
    """Followed, rotated, undone, searched, held by another, with a hook that raises, passed, or not
    answered."""

    def fail(_: object) -> None:
        raise ValueError(MARK)

    with open_store(place / "kept.db") as store:
        new = NewSession(dialect="openai-chat", title=MARK, mode="rotate")
        session = Session(store, hooks=Hooks(event=fail), **WINDOW, options=SessionOptions(new=new))
        session.follow(talk(20))
        session.compact(force=True)
        other: Any = Session(
            store, **WINDOW, options=SessionOptions(new=NewSession(dialect="openai-chat"))
        )
        other.append(*talk(20))
        lease: Any = store.acquire(other.id, MARK, 60)
        assert other.compact(force=True).reason == "already running"
        store.release(lease)
        other.compact(force=True)
        assert other.undo()
        assert discover(store, MARK)
        unleased: Any = Unleased(store)
        Session.open(unleased, other.id, **WINDOW).compact(force=True)
        passing = Session.open(store, other.id, **WINDOW, options=SessionOptions(on_error="pass"))
        passing.follow([MARK, 7])
        Inbox(store, MARK).put(MARK)
        InboxWorker(store, fail).close()
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": MARK}}
    assert repaired_view([{"role": "assistant", "content": [call]}], "anthropic").rules
    assert not repaired_view([{"role": "user", "content": ""}], "openai-chat").rules


def imports(place: Path) -> None:
    """One session, and a file that is none."""
    lines = [{"type": "session_meta", "payload": {"id": "one", "cwd": "/home/me"}}]
    lines += [
        {"type": "response_item", "payload": {"type": "message", "role": role, "content": [
            {"type": kind, "text": f"{MARK} {SECRET}"}]}}
        for role, kind in (("user", "input_text"), ("assistant", "output_text"))
    ]  # fmt: skip
    good, bad = place / "rollout-one.jsonl", place / "bad.jsonl"
    good.write_text("\n".join(map(json.dumps, lines)))
    bad.write_text(f'{{"{MARK}": ')
    with open_store(place / "imported.db") as store:
        taken = list(take_all(store, [*sessions_in(good), *sessions_in(bad)]))
    assert [bool(one.problem) for one in taken] == [False, True]


def memories(place: Path) -> None:
    """A provider that raises, is late, and takes no more."""
    guest = Guest()
    quick = MemoryLimits(prefetch_seconds=0.05, queued=1, close_seconds=5)
    with MemoryManager(guest, limits=quick) as manager:
        assert manager.prefetch(f"{MARK} {SECRET}").failed
        assert manager.prefetch(f"wait for {MARK}").late
        for _ in range(3):
            manager.sync(MARK, SECRET)
        guest.free.set()


FLOWS: Sequence[Callable[[Path], None]] = (
    compactions,
    summaries,
    settings,
    sessions,
    imports,
    memories,
)
GATEWAY = {event for event in EVENTS if event.startswith(("gateway.", "inspector."))}
"""Their records are checked with a server that runs, in tests/gateway."""


def test_every_decision_has_its_record_and_no_record_has_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """At every level, in the message and in all fields."""
    caplog.set_level(logging.DEBUG, "foldaway")
    for flow in FLOWS:
        flow(tmp_path)
    ours = [record for record in caplog.records if record.name.startswith("foldaway")]
    assert {vars(record)["foldaway_event"] for record in ours} == set(EVENTS) - GATEWAY
    said = "\n".join(f"{record.getMessage()} {vars(record)}" for record in ours)
    assert MARK not in said
    assert SECRET[4:] not in said
    for record in ours:
        event, facts = vars(record)["foldaway_event"], vars(record)["foldaway_facts"]
        assert record.name == f"foldaway.{event.partition('.')[0]}"
        assert record.levelno == EVENTS[event][0]
        assert record.getMessage().startswith(event)
        assert all(isinstance(value, (int, float, str)) for value in facts.values())


def test_a_record_is_one_line_whatever_a_name_holds(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody can write a second line into a log with the name of a file."""
    caplog.set_level(logging.DEBUG, "foldaway")
    log_event("import.skipped", file="a\nERROR root: done\x1b[2J" + "x" * 900, agent="")
    (record,) = caplog.records
    assert record.getMessage().startswith("import.skipped file='a\\nERROR root: done\\x1b[2J")
    assert "\n" not in record.getMessage()
    assert len(record.getMessage()) < 300


def test_a_process_that_asks_for_no_log_gets_none() -> None:
    """No handler of ours writes, and no level is set."""
    script = (
        "import logging, foldaway._core.journal as journal\n"
        "journal.log_event('summary.failed')\n"
        "assert not journal.listens('compaction.done')\n"
        "family = logging.getLogger('foldaway')\n"
        "assert [type(one).__name__ for one in family.handlers] == ['NullHandler']\n"
        "assert family.level == logging.NOTSET and family.propagate\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout + done.stderr == b""
    assert listens("summary.failed")


def test_every_event_is_documented() -> None:
    """With its level, in the table of the operators' page."""
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    for event, (level, _) in EVENTS.items():
        assert f"| `{event}` | {logging.getLevelName(level).lower()} |" in page

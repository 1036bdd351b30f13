"""One conversation of a store, kept together with its compressor: what is taken is durable."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import wraps
from hashlib import sha256
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from foldaway._core import log_event
from foldaway.compaction import CompactionState, ResultPolicy
from foldaway.dialects import dump_bytes, load, parse
from foldaway.engine import Compressor, Step, figures_of, unpack_view
from foldaway.errors import Conflict, InvalidSetting, StoreError
from foldaway.sessions.delegations import delegations, pick_sentences
from foldaway.sessions.events import prepared_event
from foldaway.sessions.following import find_dialect, refuse_others
from foldaway.sessions.hiding import redactor_of
from foldaway.sessions.hooks import (
    EventTeller,
    Hooks,
    Switched,
    announce_switch,
    call_hook,
    read_heard,
    switch_to,
)
from foldaway.sessions.options import SessionOptions
from foldaway.sessions.place import SessionPlace
from foldaway.sessions.repairs import MendedView, Repairs, has_open_calls
from foldaway.sessions.rows import frame_of, new_message, tool_names, turn_usage
from foldaway.sessions.snapshots import save_snapshot, snapshot_of
from foldaway.sessions.tracking import Tracker
from foldaway.stores import Descent, NewSession, SessionInfo, Store

P = ParamSpec("P")
T = TypeVar("T")
_TRIES = 20
"""How often an append or a list is tried again after another process was faster."""


class _Locked(Protocol):
    @property
    def lock(self) -> threading.RLock: ...


def in_turn(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method of a conversation that one thread at a time runs."""

    @wraps(method)
    def run(self: _Locked, *args: P.args, **given: P.kwargs) -> T:
        with self.lock:
            return method(self, *args, **given)

    return run


class Loaded(Struct):
    """What was taken up from the store; made again as a whole, never half."""

    engine: Compressor
    counted: str = ""
    """Under what name the tokens of its messages are kept, "" if not all are counted alike."""
    has_noted: bool = False
    """Whether the store knows how its results are shown on arrival."""
    given_out: int = 0
    """How many references of short results are in the store."""
    names: dict[str, str] = {}
    """The tools of the calls, by their ids."""
    saved: CompactionState = CompactionState()
    """What the store has of the state."""


class StoredConversation:
    """A compressor and its place in a store, kept together: what is taken is durable. Threads take
    turns; tasks of one thread must do so themselves.

    An interrupt at any point loses nothing: the next call goes on from what the store holds.
    """

    def __init__(self, place: SessionPlace) -> None:
        self.lock = threading.RLock()
        self.place, options = place, place.options
        self.teller, self.tracker = EventTeller(options.hooks.event), Tracker(options.same)
        self.repairs = Repairs(place.store)
        self.keep: Callable[[Step], None] = lambda step: None
        """Makes a compaction durable before it is taken in."""
        self.is_stale = True
        """Whether what is here may differ from what is in the store."""
        self.loaded = Loaded(options.compressor("", place.first_dialect))
        if place.known is None:
            _ = self.compressor.settings.budget  # refuses what cannot be, before it begins
        else:
            place.refuse_dialect(options.dialect)
            self.fresh()

    @property
    def compressor(self) -> Compressor:
        """What holds the conversation, as it was taken up last."""
        return self.loaded.engine

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self.place.store

    @property
    def options(self) -> SessionOptions:
        """What it was opened with."""
        return self.place.options

    @property
    def hooks(self) -> Hooks:
        """What the host hears."""
        return self.place.options.hooks

    # Which session of the store it is

    @property
    def row(self) -> SessionInfo:
        """The session as the store had it last; it is begun if it is not there yet."""
        return self.place.known or self._begin(self.place.first_dialect)

    @row.setter
    def row(self, info: SessionInfo) -> None:
        self.place.known = info

    def _begin(self, dialect: str) -> SessionInfo:
        self.place.begin(dialect)
        self.is_stale = True
        self.fresh()
        return self.row

    def begin_with(self, dialect: str) -> None:
        """Begin the session for messages of a wire format, or check that they are of its own."""
        if self.place.known is None:
            self._begin(dialect)
        self.take_dialect(dialect)

    def take_dialect(self, dialect: str) -> bool:
        """Read the log in the wire format that new messages show, and return whether that is
        another one; raise `InvalidSetting` if the log shows a format of its own.
        """
        if not dialect or dialect == self.row.dialect:
            return False
        self.fresh()
        wires = [one.wire for one in self.compressor.log.messages]
        if self.options.dialect or find_dialect(wires):
            self.place.refuse_dialect(dialect)
        self.row, self.is_stale = self.store.change(self.row.id, dialect=dialect), True
        self.fresh()
        return True

    # What it is

    def is_there(self) -> bool:
        """Return whether the store has the session; another handle may have begun it."""
        if self.place.known is None and self.place.key:
            with self.passing():
                self.place.known = self.place.find()
        return self.place.known is not None

    def look(self) -> bool:
        """Take up what the store has by now; return whether it has the session."""
        if not self.is_there():
            return False
        with self.passing():
            self.fresh()
            self.catch_up()
        return True

    @property
    @in_turn
    def engine(self) -> Compressor:
        """The compressor that holds the conversation; an empty one before the first message."""
        if self.place.known is not None:
            with self.passing():
                self.fresh()
        return self.compressor

    @contextmanager
    def passing(self) -> Generator[None]:
        """Let a failure of the store go if the host said so; what it holds is read again later."""
        try:
            yield
        except (StoreError, OSError) as error:
            self.is_stale = True
            if self.options.on_error == "raise":
                raise
            log_event("session.passed", error=type(error).__name__)

    @property
    def system(self) -> str:
        """The system prompt as it was rendered at the start or after the last compaction."""
        return str(self.place.frame.get("system", ""))

    @property
    @in_turn
    def messages(self) -> list[Any]:
        """What the model should see now, repaired if its provider would refuse it."""
        if not self.look():
            return []
        shown, system = self.render_view().messages, self.system
        if not system or not shown or self.hooks.system is None:
            return shown
        first = cast("dict[str, Any]", shown[0]) if isinstance(shown[0], dict) else {}
        if first.get("role") in ("system", "developer"):
            return [{**first, "content": system}, *shown[1:]]
        # elsewhere the host puts it into its field of the request
        is_chat = self.row.dialect == "openai-chat"
        return [{"role": "system", "content": system}, *shown] if is_chat else shown

    @in_turn
    def render_system(self) -> None:
        """Ask the hook for the system prompt and keep what it says."""
        text = call_hook(self.hooks.system, self.row)
        if isinstance(text, str) and text != self.system:
            self.note(system=text)

    def render_view(self) -> MendedView:
        """Return what the model sees, as its provider takes it."""
        return self.repairs.view(self.row, self.compressor)

    # What arrives

    @in_turn
    def append(self, given: Sequence[Any]) -> None:
        """Take new messages; refuse anything else before anything is written."""
        if not given:
            return
        dialect = self.place.dialect or load(given).dialect
        refuse_others(given, dialect)
        self.begin_with(find_dialect(given) or dialect)
        self.retry(lambda: self.take(given))
        self.become_current()

    def take(
        self, messages: Sequence[Any], raws: Sequence[bytes | Raw] = (), *, arrives: bool = True
    ) -> None:
        """Take new messages; `raws` are their bodies, if they are not to be encoded again. What
        does not arrive now was sent before, and is shown as it is.
        """
        engine, start = self.compressor, self.compressor.length
        was_open = len(messages) > 1 or has_open_calls(engine.log.messages)
        self._keep_arriving()
        with self.unsettled():
            engine.append(*messages, arrives=arrives)
            arrived = engine.list_arrived(start)
            self.loaded.names.update(tool_names(message for message, _ in arrived))
            bodies = raws or [dump_bytes(given) for given in messages]
            rows = [
                new_message(message, tokens, body=body, names=self.loaded.names)
                for body, (message, tokens) in zip(bodies, arrived, strict=True)
            ]
            new = engine.list_given_out(self.loaded.given_out)
            self.store.append(self.row.id, rows, expect=start, references=new)
            self.loaded.given_out += len(new)
        if was_open and any(row.role == "user" for row in rows):
            self.repairs.look_again()  # the user may go on from an open call
        self.row = replace(self.row, length=engine.length)
        self.tell_prepared()

    def _keep_arriving(self) -> None:
        """Note with the session how its results are shown on arrival, before the first one comes,
        and by what its messages are counted; nothing if not all of them are counted alike.

        What was there before, from another agent or an older version, was sent as it is.
        """
        if not self.loaded.has_noted:
            noted = msgspec.to_builtins(self.compressor.arriving)
            self.note(arrival=noted, counted=self.loaded.counted)
            self.loaded.has_noted = True

    @in_turn
    def used(self, usage: object, *, cost: float | None = None, corrects: bool = True) -> None:
        """Take what the provider reported for the last request."""
        engine = self.engine
        if isinstance(usage, (float, Sequence)):
            raise InvalidSetting("usage", cast("object", usage), "a number, or a report of usage")
        if isinstance(usage, int):
            engine.report_usage(usage, corrects=False)
            return
        figures = figures_of(usage)
        engine.report_usage(figures, corrects=corrects)
        if self.place.known is None:
            return
        row = turn_usage(
            figures, position=engine.length, model=self.row.model, cost=cost,
            view=self.row.view,
        )  # fmt: skip
        with self.passing():
            self.store.add_usage(self.row.id, row)

    def like(self) -> NewSession:
        """Return a new session of the same kind."""
        info = self.row
        return NewSession(
            dialect=info.dialect, model=info.model, source=info.source, cwd=info.cwd,
            mode=info.mode, kind=info.kind, goal=info.goal,
        )  # fmt: skip

    def announce(self, previous_id: str, descent: Descent) -> None:
        """Tell the host that the session goes on under another id."""
        if self.row.kind != "tool":
            announce_switch(self.hooks, Switched(previous_id, self.row.id, descent))

    def tell_prepared(self) -> None:
        """Tell the host of a summary that waits to be used."""
        if self.compressor.is_prepared:
            self.teller.tell(prepared_event(self.row))

    def note_delegated(self) -> None:
        """Let summaries and records say what subagents have."""
        self.compressor.about.delegated = pick_sentences(delegations(self.store, self.row))

    def become_current(self) -> None:
        """Make the session the current one; work in the background never is."""
        if self.row.kind != "tool":
            switch_to(self.row.id)

    def retry(self, attempt: Callable[[], T]) -> T:
        """Return what an attempt does on what the store holds; another one if somebody was
        faster.
        """
        tries = _TRIES
        while True:
            self.fresh()
            try:
                return attempt()
            except Conflict:
                tries -= 1
                if not tries:
                    raise

    # Store and engine together

    @contextmanager
    def unsettled(self) -> Generator[None]:
        """Until the body is through, what is here and what is in the store may differ."""
        self.is_stale = True
        yield
        self.is_stale = False

    def fresh(self) -> None:
        """Take up what the store holds if that may differ from what is here."""
        if self.is_stale and self.place.known is not None:
            self.load()
            self.is_stale = False

    def catch_up(self) -> None:
        """Take up what another handle or process did since."""
        now = self.store.newest_leaf(self.row.id)
        known = (self.row.id, self.row.view, self.compressor.length)
        if (now.id, now.view, now.length) != known:
            self.load()
        else:
            self.row = now
        self.compressor.about.goal = self.row.goal

    def load(self) -> None:
        """Take up what the store holds."""
        store, was = self.store, self.row
        # somebody may have rotated it, or did so here and was cut off before the answer
        self.row = info = store.newest_leaf(was.id)
        rows, kept = deque(store.read(info.id)), store.view(info.id)
        engine = self.options.compressor(info.model, info.dialect)
        engine.hide_with(redactor_of(store))
        snapshot = snapshot_of(store, info, kept)
        view = None if kept is None else unpack_view(kept.items, info.dialect)
        frame = self.place.frame
        self.teller.told = read_heard(frame)
        noted = frame.get("arrival")
        lists = ("off", engine.settings.policy.follow_arrival)
        if not rows and noted is not None and noted["level"] not in lists:
            noted = None  # nothing came yet: by the policy of now; a host that is followed stays so
        known: str = frame.get("counted", "")
        is_known, seals = known == engine.counted_by, list[bytes]()
        counted = engine.counted_by if is_known or not rows else ""
        if rows:
            start = replace(engine.arriving, start=len(rows))
            arriving = start if noted is None else msgspec.convert(noted, ResultPolicy)
            tokens = [row.tokens for row in rows] if is_known else None
            # taken out one by one: no more than one body is held beside its message
            bodies = (rows.popleft().body for _ in range(len(rows)))
            pairs = [(parse(body), sha256(body).digest()) for body in bodies]
            items, seals = [one for one, _ in pairs], [one for _, one in pairs]
            engine.resume(items, view, snapshot, arriving=arriving, tokens=tokens)
            engine.note_use(self.row.updated)
        elif noted is not None:
            engine.arriving = msgspec.convert(noted, ResultPolicy)
        engine.keep_with(lambda step: self.keep(step))
        engine.about.goal = info.goal
        names = tool_names(message for message, _ in engine.list_arrived(0))
        has_noted = noted is not None and known == counted
        self.loaded = Loaded(engine, counted, has_noted, 0, names, engine.state)
        self.tracker.load(engine.log.messages, info.dialect, engine.log.given, seals)
        self.repairs.forget()
        if info.id != was.id:
            self.announce(was.id, info.descent)
        if self.hooks.system is not None and not self.system:
            self.render_system()

    @in_turn
    def note(self, **facts: Any) -> None:
        """Keep facts with the session."""
        known = frame_of(self.store.session(self.row.id))  # other handles note facts too
        self.row = self.store.change(self.row.id, frame=dump_bytes({**known, **facts}))

    def save(self) -> None:
        """Keep what was learnt between two compactions: pauses, calibration."""
        save_snapshot(self.store, self.row, self.compressor.snapshot())
        self.loaded.saved = self.compressor.state

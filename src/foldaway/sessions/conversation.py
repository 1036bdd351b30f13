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

from foldaway._core import Report, __version__, log_event
from foldaway.compaction import CompactionState, ResultPolicy
from foldaway.dialects import dialect_named, dump_bytes, load, parse
from foldaway.engine import Compressor, Step, figures_of, unpack_view
from foldaway.errors import Conflict, InvalidSetting, StoreError
from foldaway.sessions.delegations import delegations, pick_sentences
from foldaway.sessions.following import find_dialect, refuse_others
from foldaway.sessions.hiding import redactor_of
from foldaway.sessions.hooks import (
    EventTeller,
    Hooks,
    Switched,
    announce_switch,
    call_hook,
    prepared_event,
    read_heard,
    switch_to,
)
from foldaway.sessions.place import SessionOptions, SessionPlace, SessionSettings
from foldaway.sessions.repairs import MendedView, Repairs, has_open_calls
from foldaway.sessions.rows import (
    frame_of,
    new_message,
    save_snapshot,
    snapshot_of,
    tool_names,
    turn_usage,
)
from foldaway.sessions.tracking import Tracker
from foldaway.stores import Descent, NewSession, SessionInfo, Store
from foldaway.summarizers import without_native
from foldaway.transcript import Message, Part, Text

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
    repairs: Repairs = msgspec.field(default_factory=Repairs)


class StoredConversation:
    """A compressor and its place in a store, kept together: what is taken is durable. Threads take
    turns; tasks of one thread must do so themselves.

    An interrupt at any point loses nothing: the next call goes on from what the store holds.
    """

    def __init__(self, place: SessionPlace) -> None:
        self.lock = threading.RLock()
        self.place, settings = place, place.settings
        self.teller, self.tracker = (
            EventTeller(settings.hooks.event),
            Tracker(settings.options.same),
        )
        self.keep: Callable[[Step], None] = lambda step: None
        """Makes a compaction durable before it is taken in."""
        self.is_stale = True
        """Whether what is here may differ from what is in the store."""
        self.loaded = Loaded(settings.compressor("", place.first_dialect))
        if place.known is None:
            _ = self.compressor.settings.budget  # refuses what cannot be, before it begins
        else:
            place.refuse_dialect(settings.dialect)
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
    def settings(self) -> SessionSettings:
        """With what it was opened."""
        return self.place.settings

    @property
    def options(self) -> SessionOptions:
        """What few hosts set."""
        return self.place.settings.options

    @property
    def hooks(self) -> Hooks:
        """What the host hears."""
        return self.place.settings.hooks

    # Which session of the store it is

    @property
    def row(self) -> SessionInfo:
        """The session as the store had it last; it is begun if it is not there yet."""
        return self.place.known or self._begin(self.place.first_dialect)

    def _begin(self, dialect: str, **facts: Any) -> SessionInfo:
        made = self.place.begin(dialect, facts)
        with self.unsettled():
            self.load(made)
        return self.row

    def begin_with(self, dialect: str) -> None:
        """Begin the session for messages of a wire format, or check that they are of its own."""
        if self.place.known is None:
            self._begin(dialect, **self._shown_by(self.compressor.counted_by))
        self.take_dialect(dialect)

    def take_dialect(self, dialect: str) -> bool:
        """Read the log in the wire format that new messages show, and return whether that is
        another one; raise `InvalidSetting` if the log shows a format of its own.
        """
        if not dialect or dialect == self.row.dialect:
            return False
        self.fresh()
        wires = [one.wire for one in self.compressor.log.messages]
        if self.settings.dialect or find_dialect(wires):
            self.place.refuse_dialect(dialect)
        self.place.known, self.is_stale = self.store.change(self.row.id, dialect=dialect), True
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
        """The system prompt as it was given, or rendered at the beginning or after the last
        compaction; "" if this handle has none.
        """
        return str(self.place.frame.get("system", "")) if self.settings.system else ""

    @property
    @in_turn
    def messages(self) -> list[Any]:
        """What the model should see now, repaired if its provider would refuse it."""
        if not self.look():
            return []
        shown = self.render_view().messages
        if not self.system or not shown:
            return shown
        said = Message("system", (Text(self.system),))
        if self._begins_with_system:  # as it was appended, by an earlier version or by the host
            first = self.compressor.log.messages[0].with_parts(said.parts)
            return [self.compressor.conversation.encode(first), *shown[1:]]
        is_field = dialect_named(self.row.dialect).system_key
        return shown if is_field else [self.compressor.conversation.encode(said), *shown]

    @in_turn
    def request(self, *, portable: bool = False) -> dict[str, Any]:
        """Return the messages and the system prompt under the names of the provider's API."""
        wire = dialect_named(self.place.dialect or "openai-chat")
        shown = self.messages
        if portable:
            shown = without_native(shown, self.compressor.state.native, wire.name)
        if wire.encode_system is None:
            return {wire.list_key: shown}
        parts: tuple[Part, ...] = (Text(self.system),) if self.system else ()
        if shown and self._begins_with_system:  # as it was appended
            parts = parts or self.compressor.log.messages[0].parts
            shown = shown[1:] if parts else shown
        asked: dict[str, Any] = {wire.list_key: shown}
        if parts:
            asked[wire.system_key] = wire.encode_system(Message("system", parts))
        return asked

    @in_turn
    def render_system(self) -> None:
        """Ask for the system prompt and keep what is said."""
        given = self.settings.system
        text = call_hook(given, self.row) if callable(given) else given
        if given and isinstance(text, str) and text != self.system:
            self.note(system=text)
        self._count_system()

    def _count_system(self) -> None:
        if self.system and not self._begins_with_system:
            self.compressor.take_system(self.system)

    @property
    def _begins_with_system(self) -> bool:
        log = self.compressor.log.messages
        return bool(log) and log[0].role == "system"

    def report_no_run(self, detail: str) -> Report:
        """Return a report on what is there, without a run."""
        engine = self.compressor
        tokens, shown = engine.decide().prompt_tokens, len(engine.messages)
        budget = engine.settings.budget
        return Report(
            status="unchanged",
            detail=detail,
            tokens_before=tokens,
            tokens_after=tokens,
            prompt_tokens=tokens,
            context_length=budget.context_length,
            effective_window=budget.effective_window,
            threshold_tokens=budget.threshold_tokens,
            messages_before=shown,
            messages_after=shown,
            kept=engine.length,
            rewritten=0,
            folded=0,
            compaction_count=engine.state.count,
            version=__version__,
        )

    def render_view(self) -> MendedView:
        """Return what the model sees, as its provider takes it."""
        return self.loaded.repairs.view(self.store, self.row, self.compressor)

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
            arrived = engine.conversation.list_arrived(start)
            self.loaded.names.update(tool_names(message for message, _ in arrived))
            bodies = raws or [dump_bytes(given) for given in messages]
            rows = [
                new_message(message, tokens, body=body, names=self.loaded.names)
                for body, (message, tokens) in zip(bodies, arrived, strict=True)
            ]
            new = engine.conversation.list_given_out(self.loaded.given_out)
            self.store.append(self.row.id, rows, expect=start, references=new)
            self.loaded.given_out += len(new)
        if was_open and any(row.role == "user" for row in rows):
            self.loaded.repairs.look_again()  # the user may go on from an open call
        self.place.known = replace(self.row, length=engine.length)
        self.tell_prepared()

    def _keep_arriving(self) -> None:
        """Note with the session how its results are shown on arrival, before the first one comes,
        by what its messages are counted (nothing if not all of them are counted alike), and what it
        was opened with.

        What was there before, from another agent or an older version, was sent as it is.
        """
        if not self.loaded.has_noted:
            self.note(**self._shown_by(self.loaded.counted))
            self.loaded.has_noted = True

    def _shown_by(self, counted: str) -> dict[str, Any]:
        arriving = msgspec.to_builtins(self.compressor.conversation.arriving)
        return {"arrival": arriving, "counted": counted, "settings": self.settings.kept}

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
        if figures and not any("token" in str(name).lower() for name in figures):
            wanted = "what a provider reported, such as {'prompt_tokens': 900}, or a number"
            raise InvalidSetting("usage", dict(figures), wanted)
        engine.report_usage(figures, corrects=corrects)
        if self.place.known is None:
            return
        row = turn_usage(
            figures, position=engine.length, model=self.row.model, cost=cost, view=self.row.view
        )
        with self.passing():
            self.store.add_usage(self.row.id, row)

    def like(self) -> NewSession:
        """Return a new session of the same kind."""
        info = self.row
        return NewSession(
            dialect=info.dialect,
            model=info.model,
            source=info.source,
            cwd=info.cwd,
            mode=info.mode,
            kind=info.kind,
            goal=info.goal,
        )

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
        if self.is_stale or (now.id, now.view, now.length) != known:
            with self.unsettled():
                self.load(now)
        else:
            self.place.known = now
        self.compressor.about.goal = self.row.goal

    def load(self, found: SessionInfo | None = None) -> None:
        """Take up what the store holds, as it was just `found`."""
        store, was = self.store, self.row
        # somebody may have rotated it, or did so here and was cut off before the answer
        self.place.known = info = found or store.newest_leaf(was.id)
        rows = deque(store.read(info.id) if info.length else ())
        kept = store.view(info.id) if info.view else None
        engine = self.settings.compressor(info.model, info.dialect)
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
            start = replace(engine.conversation.arriving, start=len(rows))
            arriving = start if noted is None else msgspec.convert(noted, ResultPolicy)
            tokens = [row.tokens for row in rows] if is_known else None
            # taken out one by one: no more than one body is held beside its message
            bodies = (rows.popleft().body for _ in range(len(rows)))
            pairs = [(parse(body), sha256(body).digest()) for body in bodies]
            items, seals = [one for one, _ in pairs], [one for _, one in pairs]
            engine.resume(items, view, snapshot, arriving=arriving, tokens=tokens)
            engine.note_use(self.row.updated)
        elif noted is not None:
            engine.conversation.arriving = msgspec.convert(noted, ResultPolicy)
        engine.keep_with(lambda step: self.keep(step))
        engine.about.goal = info.goal
        names = tool_names(message for message, _ in engine.conversation.list_arrived(0))
        self.loaded = Loaded(engine, counted, names=names, saved=engine.state)
        self.loaded.has_noted = frame.items() >= self._shown_by(counted).items()
        self.tracker.load(engine.log.messages, info.dialect, engine.log.shown.given, seals)
        if info.id != was.id:
            self.announce(was.id, info.descent)
        if callable(self.settings.system) and self.system:
            self._count_system()  # the same bytes until a compaction
        else:
            self.render_system()

    @in_turn
    def note(self, **facts: Any) -> None:
        """Keep facts with the session."""
        known = frame_of(self.store.session(self.row.id))  # other handles note facts too
        self.place.known = self.store.change(self.row.id, frame=dump_bytes({**known, **facts}))

    def save(self) -> None:
        """Keep what was learnt between two compactions: pauses, calibration."""
        save_snapshot(self.store, self.row, self.compressor.snapshot())
        self.loaded.saved = self.compressor.state

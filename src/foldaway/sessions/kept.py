"""A compressor and its place in a store, kept together: what is taken is durable."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import wraps
from hashlib import sha256
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from foldaway._core import Report, log_event
from foldaway.compaction import CompactionState, Decision, ResultPolicy
from foldaway.dialects import dump_bytes, parse
from foldaway.engine import (
    STILL_BROKEN,
    Compressor,
    Step,
    figures_of,
    log_run,
    model_of,
    pack_view,
    unpack_view,
)
from foldaway.errors import Conflict, InvalidSetting, LeaseLost, StoreError
from foldaway.sessions.delegations import delegations, worth_telling
from foldaway.sessions.events import CompactionCheck, EventKind, events_of, prepared_event
from foldaway.sessions.following import shown_dialect
from foldaway.sessions.hooks import EventTeller, Switched, announce_switch, switch_to, told
from foldaway.sessions.leasing import holder_name, leased
from foldaway.sessions.options import SessionOptions
from foldaway.sessions.rows import frame_of, new_message, tool_names, turn_usage
from foldaway.sessions.showing import redactor_of
from foldaway.sessions.standing import (
    MendedView,
    find_by_key,
    is_broken,
    kept_positions,
    leaves_calls_open,
    mended,
    save_snapshot,
    snapshot_of,
    unchanged,
)
from foldaway.sessions.tracking import Tracker
from foldaway.stores import Descent, Held, Lease, NewSession, NewView, Pin, SessionInfo, Store
from foldaway.transcript import View

P = ParamSpec("P")
T = TypeVar("T")
NO_PAST = "there is nothing to fold yet"
Force: TypeAlias = bool | Callable[[Decision], bool]
"""Whether to compact also if it is not due; a function is asked, and once more when nobody else
can change the conversation."""


class KeptRun(msgspec.Struct):
    """A change of the view under way: whether to make it, and what came of it."""

    report: Report
    is_wanted: bool = True
    before: CompactionState | None = None
    """What it began from, if the view may change."""
    previous_id: str = ""
    folded: tuple[int, ...] = ()


def in_turn(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method of a conversation that one thread at a time runs."""

    @wraps(method)
    def run(self: KeptConversation, *args: P.args, **given: P.kwargs) -> T:
        with self.lock:
            return method(self, *args, **given)

    return run


class KeptConversation:
    """One conversation of a store. Threads take turns; tasks of one thread must do so themselves.

    A compaction is either there whole, in the store and here, or not at all; an interrupt at any
    point loses nothing, and the next call goes on from what the store holds.
    """

    def __init__(
        self, store: Store, key: Any, options: SessionOptions, new: NewSession | None,
        session_id: str = "",
    ) -> None:  # fmt: skip
        if not isinstance(key, str):
            raise InvalidSetting("key", key, "a text")
        self.lock = threading.RLock()
        self._store, self._key, self._new = store, key, new
        self._options, self._hooks = options, options.hooks
        self._holder = holder_name()
        self._lease: Lease | None = None
        self._teller = EventTeller(options.hooks.event)
        self._wish: str | None = None
        self._hide = redactor_of(store)
        self._tracker = Tracker(options.same)
        self._stale = True
        self._source = new.source if new else ""
        self._known_info: SessionInfo | None = (
            store.newest_leaf(session_id) if session_id else find_by_key(store, key, self._source)
        )
        if self._known_info is None:
            self._engine = options.compressor("", self._first_dialect)
            _ = self._engine.settings.budget  # refuses what cannot be, before it begins
        else:
            self._refuse_dialect(options.dialect)
            self._fresh()

    # Which session of the store it is

    @property
    def _info(self) -> SessionInfo:
        """The session as the store had it last; it is begun if it is not there yet."""
        if self._known_info is None:
            self._begin(self._first_dialect)
        assert self._known_info is not None
        return self._known_info

    @_info.setter
    def _info(self, info: SessionInfo) -> None:
        self._known_info = info

    @property
    def _id(self) -> str:
        return self._info.id

    @property
    def _first_dialect(self) -> str:
        """The wire format that a new session was opened for, "" if that is still open."""
        return self._options.dialect or (self._new.dialect if self._new else "")

    @property
    def _dialect(self) -> str:
        """The wire format of the session, "" if that is still open."""
        return self._first_dialect if self._known_info is None else self._known_info.dialect

    def _begin(self, dialect: str) -> None:
        """Make the session in the store; another process may have been faster with its key."""
        try:
            self._known_info = self._store.create(self._described(dialect))
        except Conflict:
            self._known_info = find_by_key(self._store, self._key, self._source)
            if self._known_info is None:
                raise
        self._stale = True
        self._fresh()

    def _described(self, dialect: str) -> NewSession:
        """Return what the session is made from when it begins."""
        known = self._new or NewSession(dialect="")
        return replace(
            known,
            dialect=known.dialect or dialect or "openai-chat",
            model=known.model or model_of(self._options.model).name,
            source_id=known.source_id or self._key,
        )

    def _begin_with(self, dialect: str) -> None:
        """Begin the session for messages of a wire format, or check that they are of its own."""
        if self._known_info is None:
            self._begin(dialect)
        self._take_dialect(dialect)

    def _take_dialect(self, dialect: str) -> bool:
        """Read the log in the wire format that new messages show, and return whether that is
        another one; raise `InvalidSetting` if the log shows a format of its own.
        """
        if not dialect or dialect == self._info.dialect:
            return False
        self._fresh()
        if self._options.dialect or shown_dialect([one.wire for one in self._engine.log.messages]):
            self._refuse_dialect(dialect)
        self._info, self._stale = self._store.change(self._id, dialect=dialect), True
        self._fresh()
        return True

    def _refuse_dialect(self, dialect: str) -> None:
        """Raise `InvalidSetting` for messages of another wire format than the session has."""
        info, name = self._info, self._key or self._info.id
        if dialect and dialect != info.dialect and info.length:
            why = f"{name!r} is a conversation in {info.dialect}, not {dialect}; use another key"
            raise InvalidSetting("key", name, "another one", message=why)

    # What it is

    @property
    def id(self) -> str:
        """The id; another one after a rotation, and "" as long as the session is not begun."""
        return self._known_info.id if self._is_there() and self._known_info else ""

    @in_turn
    def begin(self) -> str:
        """Make the session in the store if it is not there yet, and return its id; the first
        message does that too.
        """
        return self._id

    @property
    def key(self) -> str:
        """The key that was given; it opens the session again, and without one its id does."""
        return self._key

    @property
    @in_turn
    def info(self) -> SessionInfo:
        """The session as the store has it now. One that is not begun has no id and no messages."""
        self._look()
        return self._standing

    @property
    def _standing(self) -> SessionInfo:
        """The session as it was known last; as it would begin, if it is not begun."""
        if self._known_info is not None:
            return self._known_info
        new: dict[str, Any] = msgspec.structs.asdict(self._described(self._first_dialect))
        new |= {"id": "", "root_id": "", "started": 0.0, "updated": 0.0}
        return SessionInfo(**new, profile=self._store.profile)

    def _is_there(self) -> bool:
        """Return whether the store has the session; another handle may have begun it."""
        if self._known_info is None and self._key:
            with self._passing():
                self._known_info = find_by_key(self._store, self._key, self._source)
        return self._known_info is not None

    def _look(self) -> bool:
        """Take up what the store has by now; return whether it has the session."""
        if not self._is_there():
            return False
        with self._passing():
            self._fresh()
            self._catch_up()
        return True

    @property
    @in_turn
    def engine(self) -> Compressor:
        """The compressor that holds the conversation; an empty one before the first message."""
        if self._known_info is not None:
            with self._passing():
                self._fresh()
        return self._engine

    @contextmanager
    def _passing(self) -> Generator[None]:
        """Let a failure of the store go if the host said so; what it holds is read again later."""
        try:
            yield
        except (StoreError, OSError) as error:
            self._stale = True
            if self._options.on_error == "raise":
                raise
            log_event("session.passed", error=type(error).__name__)

    @property
    def system(self) -> str:
        """The system prompt as it was rendered at the start or after the last compaction."""
        return str(self._frame().get("system", ""))

    @property
    @in_turn
    def messages(self) -> list[Any]:
        """What the model should see now; the same bytes until something is appended, here, through
        another handle or by another process.

        What another agent left in a form that its provider refuses is repaired here, and a call
        that never got its result, as after a crash, gets one that says so when the user goes on.
        The store stays as it was; the report of a compaction names the rules.
        """
        if not self._look():
            return []
        shown, system = self._seen().messages, self.system
        if not system or not shown or self._hooks.system is None:
            return shown
        first = cast("dict[str, Any]", shown[0]) if isinstance(shown[0], dict) else {}
        if first.get("role") in ("system", "developer"):
            return [{**first, "content": system}, *shown[1:]]
        # elsewhere the host puts it into its field of the request
        return [{"role": "system", "content": system}, *shown] if self._is_chat else shown

    @property
    def _is_chat(self) -> bool:
        return self._info.dialect == "openai-chat"

    @in_turn
    def render_system(self) -> None:
        """Ask the hook for the system prompt and keep what it says, until a compaction asks again.

        Done at the start and after every compaction; a host does it when it takes up a session.
        """
        text = told(self._hooks.system, self._info)
        if isinstance(text, str) and text != self.system:
            self._note(system=text)

    def _seen(self) -> MendedView:
        shown = self._engine.messages
        if self._is_broken is None:
            self._is_broken = is_broken(self._store, self._info, shown)
        if not self._is_broken:
            return MendedView(shown)
        standing = (self._id, self._info.view, self._engine.length)
        if self._mended is None or self._mended[0] != standing:
            self._mended = (standing, mended(shown, self._engine.dialect))
        return self._mended[1]

    # What arrives

    def _append(
        self, messages: Sequence[Any], raws: Sequence[bytes | Raw] = (), *, arrives: bool = True
    ) -> None:
        """Take new messages; `raws` are their bodies, if they are not to be written anew. What
        does not arrive now was sent before, and is shown as it is.
        """
        engine, start = self._engine, self._engine.length
        was_open = len(messages) > 1 or leaves_calls_open(engine.log.messages)
        self._keep_arriving()
        with self._unsettled():
            engine.append(*messages, arrives=arrives)
            arrived = engine.arrived(start)
            self._names.update(tool_names(message for message, _ in arrived))
            bodies = raws or [dump_bytes(given) for given in messages]
            rows = [
                new_message(message, tokens, body=body, names=self._names)
                for body, (message, tokens) in zip(bodies, arrived, strict=True)
            ]
            new = engine.given_out(self._given_out)
            self._store.append(self._id, rows, expect=start, references=new)
            self._given_out += len(new)
        if was_open and any(row.role == "user" for row in rows):
            self._is_broken = self._is_broken or None  # the user may go on from an open call
        self._info = replace(self._info, length=engine.length)
        self._tell_prepared()

    def _keep_arriving(self) -> None:
        """Note with the session how its results are shown on arrival, before the first one comes,
        and by what its messages are counted; nothing if not all of them are counted alike.

        What was there before, from another agent or an older version, was sent as it is.
        """
        if not self._has_noted:
            noted = msgspec.to_builtins(self._engine.arriving)
            self._note(arrival=noted, counted=self._counted)
            self._has_noted = True

    @in_turn
    def used(self, usage: object, *, cost: float | None = None, corrects: bool = True) -> None:
        """Take what the provider reported for the last request, a mapping or the object of its
        client; it `corrects` the estimates, unless it is about messages that are not known yet. A
        number is its count of what would be sent now. Before the first message nothing of it is
        kept.
        """
        engine = self.engine
        if isinstance(usage, (float, Sequence)):
            raise InvalidSetting("usage", cast("object", usage), "a number, or a report of usage")
        if isinstance(usage, int):
            engine.report_usage(usage, corrects=False)
            return
        figures = figures_of(usage)
        engine.report_usage(figures, corrects=corrects)
        if self._known_info is None:
            return
        row = turn_usage(
            figures, position=engine.length, model=self._info.model, cost=cost,
            view=self._info.view,
        )  # fmt: skip
        with self._passing():
            self._store.add_usage(self._id, row)

    # Compaction

    @in_turn
    def compact(
        self, *, force: Force = False, focus: str = "", keep_last: int | None = None,
        target_tokens: int | None = None,
    ) -> Report:  # fmt: skip
        """Compact if it is due, or by hand with `force`, and return what was done.

        With a function for `force` it is compacted only if that says so.
        """
        force, focus = self._wished(force, focus)
        with self._compacting(force) as run:
            if run.is_wanted:
                run.report = self._engine.compact(
                    force=bool(force), focus=focus, keep_last=keep_last,
                    target_tokens=target_tokens, pinned=self._pinned(),
                )  # fmt: skip
        return run.report

    async def acompact(
        self, *, force: Force = False, focus: str = "", keep_last: int | None = None,
        target_tokens: int | None = None,
    ) -> Report:  # fmt: skip
        """Do what `compact` does, for hosts that await a summarizer."""
        force, focus = self._wished(force, focus)
        with self._compacting(force) as run:
            if run.is_wanted:
                run.report = await self._engine.acompact(
                    force=bool(force), focus=focus, keep_last=keep_last,
                    target_tokens=target_tokens, pinned=self._pinned(),
                )  # fmt: skip
        return run.report

    @in_turn
    def lighten(self) -> Report:
        """Show older media as placeholders, under their references."""
        with self._compacting(True) as run:
            if run.is_wanted:
                run.report = self._engine.lighten(self._options.media)
        return run.report

    def _wished(self, force: Force, focus: str) -> tuple[Force, str]:
        """Return how to compact: the agent may have asked for it with its tool."""
        wish, self._wish = self._wish, None
        return (force, focus) if wish is None else (True, focus or wish)

    @contextmanager
    def _compacting(self, force: Force) -> Generator[KeptRun]:
        """Give the body a change of the view to make if it is wanted, and tell the host of it."""
        self._fresh()
        self._tell_prepared()
        decision, state = self._engine.decide(), self._engine.state
        with self._changing(force, decision) as run:
            yield run
        was_asked = callable(force) and run.before is None  # only whether to, and the answer was no
        if self._hooks.event is None or was_asked:
            return
        arrived = self._engine.arrived(0) if run.folded else ()
        check = CompactionCheck(
            session=self._standing, decision=decision, before=run.before or state,
            after=self._engine.state,
            report=run.report, now=self._options.clock(), previous_id=run.previous_id,
            folded=run.folded, folded_ids=tuple(arrived[at][0].label for at in run.folded),
        )  # fmt: skip
        self._teller.tell_all(events_of(check))
        if self._known_info is not None and self._teller.told != self._told():
            with self._passing():  # a host opens a handle for each turn: the next one goes on
                self._note(told=sorted(self._teller.told))

    def _told(self) -> frozenset[EventKind]:
        """Return what a host has heard of how things are, through any handle."""
        return frozenset(self._frame().get("told", ()))

    def _tell_prepared(self) -> None:
        if self._engine.is_prepared:
            self._teller.tell(prepared_event(self._info))

    @contextmanager
    def _changing(self, force: Force, decision: Decision) -> Generator[KeptRun]:
        """Hold the lease for the body, which changes the view if it is wanted; it is not if there
        is nothing to do, or somebody else is at it.
        """
        if self._known_info is None:
            yield KeptRun(unchanged(self._engine, NO_PAST), is_wanted=False)
            return
        if callable(force) and not force(decision):
            yield KeptRun(unchanged(self._engine, "there is room"), is_wanted=False)
            return
        if not force and not decision.acts:
            yield KeptRun(self._engine.compact(), is_wanted=False)
            return
        with leased(self._store, self._id, self._holder, ttl=self._options.lease_seconds) as lease:
            run = KeptRun(unchanged(self._engine, ""))
            if isinstance(lease, Held):
                detail = (
                    f"{lease.holder} is compacting it, for at most {lease.expires_in:.0f} s more"
                )
                busy = replace(run.report, detail=detail, reason="already running")
                yield KeptRun(log_run(busy), is_wanted=False)
                return
            self._lease = lease
            self._catch_up()
            if callable(force) and not force(self._engine.decide()):
                yield KeptRun(unchanged(self._engine, "somebody else made room"), is_wanted=False)
                self._lease = None
                return
            run.before = self._engine.state
            said = told(self._hooks.before_compaction, self._info)
            self._engine.remembered = said if isinstance(said, str) else ""
            self._note_delegated()
            was, view = self._info, self._engine.view
            try:
                with self._unsettled():
                    yield run
            except (Conflict, LeaseLost) as error:
                self._fresh()
                run.report = log_run(replace(unchanged(self._engine, str(error)), reason="aborted"))
            else:
                self._after(was, view, run)
            finally:
                self._lease = None

    def _kept(self, step: Step) -> None:
        """Make a compaction durable; the engine takes it in only if this returns."""
        info, dialect = self._info, self._engine.dialect
        known = set(self._engine.state.references)
        new = NewView(
            items=pack_view(step.view, dialect), length=step.view.length, state=step.snapshot,
            report=msgspec.json.encode(replace(step.report, persistence=self._persistence)),
            references=tuple(row for row in step.state.references if row not in known),
        )  # fmt: skip
        fence = None if self._lease is None else self._lease.fence
        if info.mode == "rotate":
            child = NewSession(dialect=info.dialect, mode="rotate")
            self._info = self._store.rotate(info.id, child, new, expect=info.view, fence=fence)
        else:
            self._info = self._store.commit(info.id, new, expect=info.view, fence=fence)

    @property
    def _persistence(self) -> Any:
        return "child" if self._info.mode == "rotate" else "in place"

    def _after(self, was: SessionInfo, view: View, run: KeptRun) -> None:
        """Note what came of a change of the view, and follow it."""
        rules, notes = self._seen().rules, run.report.notes
        if rules:  # it is repaired on its way
            notes = tuple(note for note in notes if not note.endswith(STILL_BROKEN))
        run.report = replace(run.report, repaired=(*run.report.repaired, *rules), notes=notes)
        if run.report.status == "unchanged":
            if self._engine.state is not self._known_state:
                self._save()
            return
        run.report = replace(run.report, persistence=self._persistence)
        self.render_system()
        if self._id != was.id:
            self._switched(was.id, "compression")
        shown = kept_positions(self._engine.view)
        run.previous_id, run.folded = was.id, tuple(sorted(kept_positions(view) - shown))

    def _like(self) -> NewSession:
        info = self._info
        return NewSession(
            dialect=info.dialect, model=info.model, source=info.source, cwd=info.cwd,
            mode=info.mode, kind=info.kind, goal=info.goal,
        )  # fmt: skip

    def _switched(self, previous_id: str, descent: Descent) -> None:
        if self._info.kind != "tool":
            announce_switch(self._hooks, Switched(previous_id, self._id, descent))

    def _note_delegated(self) -> None:
        """Let summaries and records say what subagents have."""
        self._engine.delegated = worth_telling(delegations(self._store, self._info))

    def _become_current(self) -> None:
        """Make the session the current one; work in the background never is."""
        if self._info.kind != "tool":
            switch_to(self._id)

    @in_turn
    def undo(self) -> bool:
        """Take back the last compaction and keep what came since; False if there is none."""
        if not self._look() or not self._info.view:
            return False
        with self._unsettled():
            self._info = self._store.undo(self._id, expect=self._info.view)
            self._load()
        log_event("compaction.undone", tokens=self._engine.estimate())
        self.render_system()
        return True

    # What stays

    def pin(self, position: int, note: str = "") -> None:
        """Keep a message as it is through every compaction."""
        self._store.pin(self.id, position, note)

    def unpin(self, position: int) -> None:
        """Let a message go with the others again."""
        self._store.unpin(self.id, position)

    def pins(self) -> tuple[Pin, ...]:
        """Return the messages that no compaction folds."""
        return self._store.pins(self.id) if self._is_there() else ()

    def _pinned(self) -> list[int]:
        return [pin.position for pin in self.pins()]

    # Store and engine together

    @contextmanager
    def _unsettled(self) -> Generator[None]:
        """Until the body is through, what is here and what is in the store may differ."""
        self._stale = True
        yield
        self._stale = False

    def _fresh(self) -> None:
        """Take up what the store holds if that may differ from what is here."""
        if self._stale and self._known_info is not None:
            self._load()
            self._stale = False

    def _catch_up(self) -> None:
        """Take up what another handle or process did since."""
        now = self._store.newest_leaf(self._id)
        known = (self._id, self._info.view, self._engine.length)
        if (now.id, now.view, now.length) != known:
            self._load()
        else:
            self._info = now
        self._engine.goal = self._info.goal

    def _load(self) -> None:
        store, was = self._store, self._info
        # somebody may have rotated it, or did so here and was cut off before the answer
        self._info = info = store.newest_leaf(was.id)
        rows, kept = deque(store.read(info.id)), store.view(info.id)
        engine = self._options.compressor(info.model, info.dialect)
        engine.hide_with(self._hide)
        snapshot = snapshot_of(store, info, kept)
        view = None if kept is None else unpack_view(kept.items, info.dialect)
        frame = self._frame()
        self._teller.told = self._told()
        noted = frame.get("arrival")
        lists = ("off", engine.settings.policy.follow_arrival)
        if not rows and noted is not None and noted["level"] not in lists:
            noted = None  # nothing came yet: by the policy of now; a host that is followed stays so
        counted: str = frame.get("counted", "")
        is_known = counted == engine.counted_by
        self._counted: str = engine.counted_by if is_known or not rows else ""
        self._has_noted = noted is not None and counted == self._counted
        self._given_out, seals = 0, list[bytes]()
        if rows:
            start = replace(engine.arriving, start=len(rows))
            arriving = start if noted is None else msgspec.convert(noted, ResultPolicy)
            tokens = [row.tokens for row in rows] if is_known else None
            # taken out one by one: no more than one body is held beside its message
            bodies = (rows.popleft().body for _ in range(len(rows)))
            pairs = [(parse(body), sha256(body).digest()) for body in bodies]
            items, seals = [one for one, _ in pairs], [one for _, one in pairs]
            engine.resume(items, view, snapshot, arriving=arriving, tokens=tokens)
            engine.note_use(self._info.updated)
        elif noted is not None:
            engine.arriving = msgspec.convert(noted, ResultPolicy)
        engine.keep_with(self._kept)
        self._engine, self._known_state = engine, engine.state
        self._names = tool_names(message for message, _ in engine.arrived(0))
        self._tracker.load(engine.log.messages, info.dialect, engine.log.given, seals)
        engine.goal = info.goal
        self._mended: tuple[tuple[str, int, int], MendedView] | None = None
        self._is_broken: bool | None = None
        if info.id != was.id:
            self._switched(was.id, info.descent)
        if self._hooks.system is not None and not self.system:
            self.render_system()

    def _frame(self) -> dict[str, Any]:
        return {} if self._known_info is None else frame_of(self._known_info)

    @in_turn
    def _note(self, **facts: Any) -> None:
        """Keep facts with the session."""
        known = frame_of(self._store.session(self._id))  # other handles note facts too
        self._info = self._store.change(self._id, frame=dump_bytes({**known, **facts}))

    def _save(self) -> None:
        """Keep what was learnt between two compactions: pauses, calibration."""
        save_snapshot(self._store, self._info, self._engine.snapshot())
        self._known_state = self._engine.state

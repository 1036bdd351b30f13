"""Changes of what the model sees: compactions, with their lease, and the way back."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, TypeAlias, Unpack, cast

import msgspec
from msgspec.structs import replace

from foldaway._core import MediaReducer, Reference, Report, log_event
from foldaway.compaction import CompactionState, Wishes, is_on_arrival, message_tokens
from foldaway.dialects import dialect_named, parse
from foldaway.engine import COMPACT, STILL_BROKEN, Decision, Step, log_run, model_of, pack_view
from foldaway.errors import Conflict, InvalidSetting, LeaseLost, NotReadable
from foldaway.sessions.conversation import StoredConversation, in_turn
from foldaway.sessions.following import messages_of
from foldaway.sessions.hooks import CompactionCheck, call_hook, events_of, read_heard
from foldaway.sessions.leasing import holder_name, leased
from foldaway.sessions.rows import payloads
from foldaway.sessions.too_long import Refusal
from foldaway.stores import Held, Lease, NewSession, NewView, SessionInfo
from foldaway.transcript import Kept, Message, Rewritten, Text, View

NO_PAST = "there is nothing to fold yet"
_PLACE = re.compile(r"m(\d{1,9})(?:@(\w{8}))?")
"""A message of the conversation, or of another one of its lineage by the end of that one's id."""
Force: TypeAlias = bool | Callable[[Decision], bool]
"""Whether to compact also if it is not due; a function is asked, and once more when nobody else
can change the conversation."""


class ViewChange(msgspec.Struct):
    """A change of the view under way: whether to make it, and what came of it."""

    report: Report
    is_wanted: bool = True
    before: CompactionState | None = None
    """What it began from, if the view may change."""
    previous_id: str = ""
    folded: tuple[int, ...] = ()


class Changes:
    """Changes the view of one conversation. A compaction is either there whole, in the store and
    here, or not at all.
    """

    def __init__(self, conversation: StoredConversation) -> None:
        self._of, self._holder = conversation, holder_name()
        self._lease: Lease | None = None
        self._wish: str | None = None
        """The focus with which the agent asked for a compaction, if it did."""
        conversation.keep = self._keep

    @property
    def lock(self) -> threading.RLock:
        """The lock of the conversation."""
        return self._of.lock

    @in_turn
    def compact(self, *, force: Force = False, **wishes: Unpack[Wishes]) -> Report:
        """Compact if it is due, or by hand with `force`, and return what was done."""
        force, wishes = self._take_wish(force, wishes)
        with self._compacting(force) as run:
            if run.is_wanted:
                run.report = self._of.compressor.compact(
                    force=bool(force), by_hand=force is True, pinned=self._find_pins(), **wishes
                )
        return run.report

    async def acompact(self, *, force: Force = False, **wishes: Unpack[Wishes]) -> Report:
        """Do what `compact` does, for hosts that await a summarizer."""
        force, wishes = self._take_wish(force, wishes)
        with self._compacting(force) as run:
            if run.is_wanted:
                run.report = await self._of.compressor.acompact(
                    force=bool(force), by_hand=force is True, pinned=self._find_pins(), **wishes
                )
        return run.report

    @in_turn
    def lighten(self, reducer: MediaReducer | None = None) -> Report:
        """Show less of some messages, under their references: of older media if nothing else is
        given.
        """
        with self._compacting(True) as run:
            if run.is_wanted:
                run.report = self._of.compressor.lighten(reducer or self._of.options.media)
        return run.report

    @in_turn
    def shrink(self, refusal: Refusal) -> bool:
        """Make a request smaller that was refused as too big; return whether it is."""
        engine, before, lighter = self._of.engine, self._of.engine.estimate(), False
        if refusal.means == "payload":
            lighter = self.lighten().status == "compacted"
        else:
            window = engine.settings.context_length
            limit = refusal.limit if refusal.limit and refusal.limit < window else before // 2
            used = self._of.store.usage(self._of.row.id) if self._of.is_there() else ()
            read = max((one.input_tokens for one in used), default=0)
            # unless it refused less than that: then it takes less than it did
            if not refusal.is_met_by(engine.decide().prompt_tokens, read):
                limit = max(limit, read)
            if 0 < limit < window:
                try:
                    engine.use_model(engine.settings.model, limit)
                except InvalidSetting:
                    return False
                # without a model of its own, requests may name another one
                if model_of(self._of.settings.model).name:
                    self._of.place.settings = replace(self._of.settings, context_length=limit)
        is_smaller = self.compact(force=True).status == "compacted"
        return lighter or (is_smaller and refusal.is_met_by(self._of.engine.estimate(), before))

    @in_turn
    def lacks_room(self, before: object) -> Callable[[Decision], bool]:
        """Return whether there is hardly room for messages that are about to come: a message, a
        text, or a list of them. A conversation of only its newest messages has room.
        """
        engine, is_there = self._of.compressor, self._of.look()
        if not is_there or engine.length <= engine.settings.policy.min_tail:
            return lambda _: False
        incoming = cast("Sequence[Any]", before if isinstance(before, (list, tuple)) else (before,))
        dialect = dialect_named(self._of.place.dialect or "openai-chat")
        given: list[Any] = [
            dialect.encode(Message("user", (Text(one),))) if isinstance(one, str) else message
            for one in incoming
            for message in ([one] if isinstance(one, str) else messages_of(one))
        ]
        counter = self._of.compressor.settings.counter
        more = sum(message_tokens(one, counter) for one in dialect.decode(given, 0))

        def lacks_room(decision: Decision) -> bool:
            return self._of.compressor.decide(decision.prompt_tokens + more).lacks_room

        return lacks_room

    def answer_call(self, name: str, arguments: Mapping[str, Any] | str | None) -> str:
        """Answer a call of one of the model's own tools."""
        given = _arguments(arguments)
        self._of.fresh()
        if name == COMPACT["name"]:
            self._wish = str(given.get("focus") or "")
            return "older messages are folded before the next turn"
        return self._of.compressor.conversation.answer_tool(
            name, given, partial(recall, self._of), partial(_search_others, self._of)
        )

    def _take_wish(self, force: Force, wishes: Wishes) -> tuple[Force, Wishes]:
        """Return how to compact: the agent may have asked for it with its tool."""
        wish, self._wish = self._wish, None
        if wish is None:
            return force, wishes
        return True, {**wishes, "focus": wishes.get("focus") or wish}

    @contextmanager
    def _compacting(self, force: Force) -> Generator[ViewChange]:
        """Give the body a change of the view to make if it is wanted, and tell the host of it."""
        self._of.fresh()
        self._of.tell_prepared()
        decision, state = self._of.compressor.decide(), self._of.compressor.state
        with self._changing(force, decision) as run:
            yield run
        was_asked = callable(force) and run.before is None  # only whether to, and the answer was no
        if self._of.hooks.event is None or was_asked:
            return
        arrived = self._of.compressor.conversation.list_arrived(0) if run.folded else ()
        check = CompactionCheck(
            session=self._of.place.last_known,
            decision=decision,
            before=run.before or state,
            after=self._of.compressor.state,
            report=run.report,
            now=self._of.options.clock(),
            previous_id=run.previous_id,
            folded=run.folded,
            folded_ids=tuple(arrived[at][0].label for at in run.folded),
        )
        self._of.teller.tell_all(events_of(check))
        if self._of.place.known is not None and self._of.teller.told != read_heard(
            self._of.place.frame
        ):
            with self._of.passing():  # a host opens a handle for each turn: the next one goes on
                self._of.note(told=sorted(self._of.teller.told))

    @contextmanager
    def _changing(self, force: Force, decision: Decision) -> Generator[ViewChange]:
        """Hold the lease for the body, which changes the view if it is wanted; it is not if there
        is nothing to do, or somebody else is at it.
        """
        if self._of.place.known is None:
            yield ViewChange(self._of.report_no_run(NO_PAST), is_wanted=False)
            return
        if callable(force) and not force(decision):
            yield ViewChange(self._of.report_no_run("there is room"), is_wanted=False)
            return
        if not force and not decision.acts:
            yield ViewChange(self._of.compressor.compact(), is_wanted=False)
            return
        with leased(
            self._of.store, self._of.row.id, self._holder, ttl=self._of.options.lease_seconds
        ) as lease:
            run = ViewChange(self._of.report_no_run(""))
            if isinstance(lease, Held):
                detail = (
                    f"{lease.holder} is compacting it, for at most {lease.expires_in:.0f} s more"
                )
                busy = replace(run.report, detail=detail, reason="already running")
                yield ViewChange(log_run(busy), is_wanted=False)
                return
            self._lease = lease
            self._of.catch_up()
            if callable(force) and not force(self._of.compressor.decide()):
                yield ViewChange(self._of.report_no_run("somebody else made room"), is_wanted=False)
                self._lease = None
                return
            run.before = self._of.compressor.state
            said = call_hook(self._of.hooks.before_compaction, self._of.row)
            self._of.compressor.about.remembered = said if isinstance(said, str) else ""
            self._of.note_delegated()
            was, view = self._of.row, self._of.compressor.view
            try:
                with self._of.unsettled():
                    yield run
            except (Conflict, LeaseLost) as error:
                self._of.fresh()
                run.report = log_run(replace(self._of.report_no_run(str(error)), reason="aborted"))
            else:
                self._follow_change(was, view, run)
            finally:
                self._lease = None

    def _keep(self, step: Step) -> None:
        """Make a compaction durable; the engine takes it in only if this returns."""
        info, dialect = self._of.row, self._of.compressor.dialect
        known = set(self._of.compressor.state.references)
        new = NewView(
            items=pack_view(step.view, dialect),
            length=step.view.length,
            state=step.snapshot,
            report=msgspec.json.encode(replace(step.report, persistence=self._persistence)),
            references=tuple(row for row in step.state.references if row not in known),
        )
        fence = None if self._lease is None else self._lease.fence
        store = self._of.store
        if info.mode == "rotate":
            child = NewSession(dialect=info.dialect, mode="rotate")
            made = store.rotate(info.id, child, new, expect=info.view, fence=fence)
        else:
            made = store.commit(info.id, new, expect=info.view, fence=fence)
        self._of.place.known = made

    @property
    def _persistence(self) -> Literal["child", "in place"]:
        return "child" if self._of.row.mode == "rotate" else "in place"

    def _follow_change(self, was: SessionInfo, view: View, run: ViewChange) -> None:
        """Note what came of a change of the view, and follow it."""
        rules, notes = self._of.render_view().rules, run.report.notes
        if rules:  # it is repaired on its way
            notes = tuple(note for note in notes if not note.endswith(STILL_BROKEN))
        run.report = replace(run.report, repaired=(*run.report.repaired, *rules), notes=notes)
        if run.report.status == "unchanged":
            if self._of.compressor.state is not self._of.loaded.saved:
                self._of.save()
            return
        run.report = replace(run.report, persistence=self._persistence)
        self._of.render_system()
        if self._of.row.id != was.id:
            self._of.announce(was.id, "compression")
        shown = _kept_positions(self._of.compressor.view)
        run.previous_id, run.folded = was.id, tuple(sorted(_kept_positions(view) - shown))

    @in_turn
    def undo(self) -> bool:
        """Take back the last compaction and keep what came since; False if there is none."""
        if not self._of.look() or not self._of.row.view:
            return False
        with self._of.unsettled():
            self._of.place.known = self._of.store.undo(self._of.row.id, expect=self._of.row.view)
            self._of.load()
        log_event("compaction.undone", tokens=self._of.compressor.estimate())
        self._of.render_system()
        return True

    def _find_pins(self) -> list[int]:
        return [pin.position for pin in self._of.store.pins(self._of.row.id)]


def _kept_positions(view: View) -> set[int]:
    """Return the places of the log that a view shows as they are, or as they were on arrival."""
    return {
        at
        for item in view.items
        if isinstance(item, Kept) or (isinstance(item, Rewritten) and is_on_arrival(item))
        for at in range(item.start, item.stop)
    }


def recall(conversation: StoredConversation, reference: str) -> list[Any]:
    """Return the originals behind a reference or a place; raises `UnknownReference`."""
    if not conversation.look():
        return conversation.compressor.conversation.recall(reference)
    info, store = conversation.row, conversation.store
    others = [one for one in store.lineage(info.id) if one.id != info.id]
    if place := _PLACE.fullmatch(reference):
        at, end = int(place[1]), place[2]
        meant = next((one for one in (info, *others) if one.id.endswith(end or "")), None)
        if meant is not None and at < meant.length:
            return payloads(store.read(meant.id, at, at + 1))
    for name in (info.id, *(one.id for one in others)):
        for found in store.places(reference, session_id=name):
            row: Reference = found.reference
            return payloads(store.read(name, row.start, row.stop))
    return conversation.compressor.conversation.recall(reference)


def _search_others(conversation: StoredConversation, text: str) -> list[str]:
    """Return lines for what the other sessions of a lineage have, each with a place to recall."""
    from foldaway.search import Filters  # needed only when the model searches
    from foldaway.sessions.finding import discover

    if not conversation.look():
        return []
    info, store = conversation.row, conversation.store
    others = tuple(one.id for one in store.lineage(info.id) if one.id != info.id)
    if not others:
        return []
    hits = discover(
        store, text, filters=Filters(sessions=others), kinds=(), current=info.id, around=0
    )
    return [f"recall m{one.position}@{one.session[-8:]}: {one.snippet}" for one in hits]


def _arguments(given: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    """Return the arguments of a call, none if what a model wrote is no object."""
    if isinstance(given, str):
        try:
            given = parse(given.encode())
        except NotReadable:
            return {}
    return given if isinstance(given, Mapping) else {}

"""Changes of what the model sees: compactions, with their lease, and the way back."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from foldaway._core import Reference, Report, log_event
from foldaway.compaction import CompactionState, Decision, is_on_arrival, message_tokens
from foldaway.dialects import dialect_named, parse
from foldaway.engine import COMPACT, STILL_BROKEN, Step, log_run, model_of, pack_view
from foldaway.errors import Conflict, InvalidSetting, LeaseLost, NotReadable
from foldaway.sessions.conversation import StoredConversation, in_turn
from foldaway.sessions.events import CompactionCheck, events_of
from foldaway.sessions.following import messages_of
from foldaway.sessions.hooks import call_hook, read_heard
from foldaway.sessions.leasing import holder_name, leased
from foldaway.sessions.rows import payloads
from foldaway.sessions.snapshots import report_no_run
from foldaway.sessions.too_long import Refusal
from foldaway.stores import Held, Lease, NewSession, NewView, SessionInfo
from foldaway.transcript import Kept, Message, Rewritten, Text, View

SMALLER = 0.98
"""What a request must come to beside the one that was refused, to be worth another try."""
NO_PAST = "there is nothing to fold yet"
_PLACE = re.compile(r"m(\d{1,9})")
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
    def compact(
        self, *, force: Force = False, focus: str = "", keep_last: int | None = None,
        target_tokens: int | None = None,
    ) -> Report:  # fmt: skip
        """Compact if it is due, or by hand with `force`, and return what was done."""
        force, focus = self._take_wish(force, focus)
        with self._compacting(force) as run:
            if run.is_wanted:
                run.report = self._of.compressor.compact(
                    force=bool(force), focus=focus, keep_last=keep_last,
                    target_tokens=target_tokens, pinned=self._find_pins(),
                )  # fmt: skip
        return run.report

    async def acompact(
        self, *, force: Force = False, focus: str = "", keep_last: int | None = None,
        target_tokens: int | None = None,
    ) -> Report:  # fmt: skip
        """Do what `compact` does, for hosts that await a summarizer."""
        force, focus = self._take_wish(force, focus)
        with self._compacting(force) as run:
            if run.is_wanted:
                run.report = await self._of.compressor.acompact(
                    force=bool(force), focus=focus, keep_last=keep_last,
                    target_tokens=target_tokens, pinned=self._find_pins(),
                )  # fmt: skip
        return run.report

    @in_turn
    def lighten(self) -> Report:
        """Show older media as placeholders, under their references."""
        with self._compacting(True) as run:
            if run.is_wanted:
                run.report = self._of.compressor.lighten(self._of.options.media)
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
            limit = max(limit, *(one.input_tokens for one in used), 1)
            if limit < window:
                try:
                    engine.use_model(engine.settings.model, limit)
                except InvalidSetting:
                    return False
                # without a model of its own, requests may name another one
                if model_of(self._of.options.model).name:
                    self._of.place.options = replace(self._of.options, context_length=limit)
        is_smaller = self.compact(force=True).status == "compacted"
        return lighter or (is_smaller and self._of.engine.estimate() < SMALLER * before)

    @in_turn
    def make_room(self, incoming: Sequence[Any]) -> Report:
        """Compact before messages are handed to the agent, if there is hardly room for them."""
        if not self._has_past():
            return report_no_run(self._of.compressor, NO_PAST)
        return self.compact(force=self._lacks_room(incoming))

    async def amake_room(self, incoming: Sequence[Any]) -> Report:
        """Do what `make_room` does, for hosts that await a summarizer."""
        if not self._has_past():
            return report_no_run(self._of.compressor, NO_PAST)
        return await self.acompact(force=self._lacks_room(incoming))

    def _has_past(self) -> bool:
        if not self._of.look():
            return False
        engine = self._of.compressor
        return engine.length > engine.settings.policy.min_tail

    def _lacks_room(self, incoming: Sequence[Any]) -> Callable[[Decision], bool]:
        dialect = dialect_named(self._of.place.dialect or "openai-chat")
        given = [
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
        return self._of.compressor.answer_tool(name, given, partial(recall, self._of))

    def _take_wish(self, force: Force, focus: str) -> tuple[Force, str]:
        """Return how to compact: the agent may have asked for it with its tool."""
        wish, self._wish = self._wish, None
        return (force, focus) if wish is None else (True, focus or wish)

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
        arrived = self._of.compressor.list_arrived(0) if run.folded else ()
        check = CompactionCheck(
            session=self._of.place.last_known, decision=decision, before=run.before or state,
            after=self._of.compressor.state,
            report=run.report, now=self._of.options.clock(), previous_id=run.previous_id,
            folded=run.folded, folded_ids=tuple(arrived[at][0].label for at in run.folded),
        )  # fmt: skip
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
            yield ViewChange(report_no_run(self._of.compressor, NO_PAST), is_wanted=False)
            return
        if callable(force) and not force(decision):
            yield ViewChange(report_no_run(self._of.compressor, "there is room"), is_wanted=False)
            return
        if not force and not decision.acts:
            yield ViewChange(self._of.compressor.compact(), is_wanted=False)
            return
        with leased(
            self._of.store,
            self._of.row.id,
            self._holder,
            ttl=self._of.options.lease_seconds,
        ) as lease:
            run = ViewChange(report_no_run(self._of.compressor, ""))
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
                yield ViewChange(
                    report_no_run(self._of.compressor, "somebody else made room"), is_wanted=False
                )
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
                run.report = log_run(
                    replace(report_no_run(self._of.compressor, str(error)), reason="aborted")
                )
            else:
                self._follow_change(was, view, run)
            finally:
                self._lease = None

    def _keep(self, step: Step) -> None:
        """Make a compaction durable; the engine takes it in only if this returns."""
        info, dialect = self._of.row, self._of.compressor.dialect
        known = set(self._of.compressor.state.references)
        new = NewView(
            items=pack_view(step.view, dialect), length=step.view.length, state=step.snapshot,
            report=msgspec.json.encode(replace(step.report, persistence=self._persistence)),
            references=tuple(row for row in step.state.references if row not in known),
        )  # fmt: skip
        fence = None if self._lease is None else self._lease.fence
        if info.mode == "rotate":
            child = NewSession(dialect=info.dialect, mode="rotate")
            self._of.row = self._of.store.rotate(info.id, child, new, expect=info.view, fence=fence)
        else:
            self._of.row = self._of.store.commit(info.id, new, expect=info.view, fence=fence)

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
            self._of.row = self._of.store.undo(self._of.row.id, expect=self._of.row.view)
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
        return conversation.compressor.recall(reference)
    info, store = conversation.row, conversation.store
    if (place := _PLACE.fullmatch(reference)) and int(place[1]) < info.length:
        at = int(place[1])
        return payloads(store.read(info.id, at, at + 1))
    others = (one.id for one in store.lineage(info.id) if one.id != info.id)
    for name in (info.id, *others):
        for found in store.places(reference, session_id=name):
            row: Reference = found.reference
            return payloads(store.read(name, row.start, row.stop))
    return conversation.compressor.recall(reference)


def _arguments(given: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    """Return the arguments of a call, none if what a model wrote is no object."""
    if isinstance(given, str):
        try:
            given = parse(given.encode())
        except NotReadable:
            return {}
    return given if isinstance(given, Mapping) else {}

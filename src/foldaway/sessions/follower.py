"""A host's own list: what is new in it is kept, and what is sent in its place."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args

import msgspec
from msgspec.structs import replace

from foldaway._core import Report, __version__, log_event
from foldaway.dialects import dialect_named, drop_settings, dump_bytes, load, parse
from foldaway.engine import unpack_view
from foldaway.errors import FoldawayError, InvalidSetting
from foldaway.sessions.conversation import StoredConversation, in_turn
from foldaway.sessions.following import (
    Course,
    Edit,
    Followed,
    HostList,
    Keep,
    add_marks,
    body_with,
    find_dialect,
    keep_all,
    read_given,
)
from foldaway.sessions.last_view import LastView, last_view_of
from foldaway.sessions.matching import find_told
from foldaway.sessions.rows import decode_rows, save_snapshot
from foldaway.sessions.tracking import ListPlace, Tracker, cut_view, edits_to
from foldaway.stores import Descent
from foldaway.transcript import Payload, View, grow

T = TypeVar("T")
When: TypeAlias = Literal["new", "due", "never"]
"""Which lists are compacted if that is due: those with something new, so that a retry changes
nothing; every one, for hosts that ask for it when they need it; or none."""
_VIEWS_BACK = 5
"""With how many views a list is compared: the one of now, and those of before that a request was
made from which is sent again. It may be behind by the compaction that it caused, and by those
after a provider refused it; chosen."""
_OWN_SYSTEM = (
    "this session was opened with system=, and a list that is followed has its own system prompt: "
    "put it into the list or the request, and open the session without system="
)
_DESCENTS: Mapping[Course, Descent] = {"branch": "branch", "delegation": "delegation"}
"""What a list that goes another way descends by; every other one goes on after a compaction."""


class _Following(msgspec.Struct):
    """A list that was taken, on its way to what is sent."""

    given: HostList
    place: ListPlace
    course: Course
    appended: dict[int, int] = {}
    """Positions of the log that new messages have, with their places in the list."""
    stop: int = 0
    """Where the messages begin that the host may still rewrite."""
    held: list[Any] = []
    """These messages: they are sent as they are, and kept when they stay."""
    is_new: bool = True
    report: Report | None = None

    def is_for(self, when: When) -> bool:
        """Return whether to compact if it is due."""
        if when not in get_args(When):
            raise InvalidSetting("when", when, f"one of {', '.join(get_args(When))}")
        return when == "due" or (when == "new" and self.is_new)


class Follower:
    """A conversation that is handed over as a whole, again and again."""

    def __init__(self, conversation: StoredConversation, compact: Callable[..., Report]) -> None:
        """Take a conversation, and what compacts it."""
        self._of, self._compact = conversation, compact
        self._relatives: dict[str, tuple[int, Tracker]] = {}
        self._last_view: LastView | None = None
        self._unsaved_view = False

    @property
    def lock(self) -> threading.RLock:
        """The lock of the conversation."""
        return self._of.lock

    @in_turn
    def follow(
        self,
        messages: Sequence[Any] | None = None,
        *,
        request: Mapping[str, Any] | bytes | None = None,
        usage: object = None,
        force: bool = False,
        focus: str = "",
        when: When = "new",
    ) -> Followed:
        """Take a host's whole list and return what to send in its place."""
        if self._of.settings.system:
            raise InvalidSetting("system", "", "", message=_OWN_SYSTEM)
        try:
            begun = self._begin_follow(messages, request, usage, is_sent=when == "never")
            if force or begun.is_for(when):
                begun.report = self._compact(force=force, focus=focus)
            return self._end_follow(begun)
        except Exception as error:  # noqa: BLE001 raised again unless the host said to pass
            return self._pass_on(messages, request, error)

    @in_turn
    def preview(self, *, request: Mapping[str, Any] | bytes) -> Followed:
        """Return what would be sent for a request by what was compacted so far."""
        is_known = self._of.look()
        given = read_given(None, request, self._of.place.dialect)
        engine, items, edits = self._of.compressor, given.items, keep_all(given.items)
        place = self._place(given, self._of.tracker.digests(given)) if is_known else None
        if place is not None and place.is_whole and place.alignment.rest is None:
            edits = edits_to(
                engine.view, engine.log.messages, place, {}, engine.conversation.encode
            )
            if place.alignment.given < len(items):
                edits = _add_tail(edits, place.alignment.given, len(items))
            edits = add_marks(edits, given)
        return Followed(
            given=given.own,
            edits=edits,
            body=body_with(given, edits, {}),
            report=self._of.report_no_run("only a preview"),
            course="same",
            session_id=self._of.place.last_known.id,
            is_changed=edits != keep_all(given.items),
        )

    @in_turn
    def record(
        self,
        *,
        request: bytes | None = None,
        text: str = "",
        is_named: bool = False,
        focus: str = "",
    ) -> str:
        """Return all that is known of a host's list in one text."""
        if self._of.place.known is None or not self._of.place.known.length:
            return ""
        if request is None:
            self._of.fresh()
            stop = find_told(text, self._of.compressor.log.messages, is_named=is_named)
        else:
            begun = self._begin_follow(None, request, None, is_sent=True)
            if begun.course not in ("same", "continues", "rewind", "volatile"):
                return ""
            is_start = begun.course == "rewind"
            stop = begun.place.reach if is_start else self._of.compressor.length
        self._of.note_delegated()
        return self._of.compressor.record(stop, focus) if stop else ""

    @in_turn
    def _begin_follow(
        self, messages: Any, request: Any, usage: object, *, is_sent: bool
    ) -> _Following:
        """Take what is new in a list; it may have been sent already, as it is."""
        given = read_given(messages, request, self._of.place.dialect)
        dialect = given.dialect or self._of.place.dialect or load(list(given.items)).dialect
        if self._of.place.known is None:
            self._settle_results()
        else:
            self._of.catch_up()
        self._of.begin_with(dialect)
        if usage is not None and not isinstance(usage, int):
            self._of.used(usage)
        begun = self._of.retry(lambda: self._take_list(given, is_sent=is_sent))
        own, known = begun.place.heads
        self._of.compressor.take_request(given.frame, held=[*given.items[known:own], *begun.held])
        if isinstance(usage, int):
            self._of.used(usage)
        self._of.become_current()
        return begun

    def _take_list(self, given: HostList, *, is_sent: bool) -> _Following:
        self._settle_results()
        digests = self._of.tracker.digests(given)
        place = self._place(given, digests)
        if self._of.take_dialect(find_dialect(given.items[place.alignment.given :], given.frame)):
            return self._take_list(given, is_sent=is_sent)
        course, place = self._find_course(given, digests, place)
        self._note_head(given, place)
        if self._volatile and self._of.tracker.is_continued_by(digests):
            self._of.note(volatile=0)
        is_last = self._of.tracker.is_last(digests)
        if course in ("rewind", "same"):
            return _Following(given, place, course, is_new=False)
        found = place.alignment
        rest = (
            [] if found.rest is None else [dialect_named(self._of.row.dialect).encode(found.rest)]
        )
        stop = max(len(given.items) - self._volatile, found.given)
        new = [*rest, *given.items[found.given : stop]]
        start = self._of.compressor.length
        indexes = [*([found.given - 1] if rest else []), *range(found.given, stop)]
        if new:
            raws = [*map(dump_bytes, rest), *given.raws[found.given : stop]]
            seen = len(new) if is_sent else self._seen_of(new)
            self._of.take(new[:seen], raws[:seen], arrives=False)
            if seen < len(new):
                self._of.take(new[seen:], raws[seen:], arrives=True)
        appended = {start + at: index for at, index in enumerate(indexes)}
        held = [given.items[at] for at in range(stop, len(given.items))]
        course = "same" if is_last else course
        return _Following(
            given, place, course, appended=appended, stop=stop, held=held, is_new=not is_last
        )

    def _seen_of(self, new: list[Any]) -> int:
        """Return how many of a list's new messages a model has seen: all up to its last answer, and
        the others too if results are shown as they came.
        """
        if self._of.compressor.conversation.arriving.level == "off":
            return len(new)
        roles = [one.role for one in dialect_named(self._of.row.dialect).decode(new, 0)]
        return max((at + 1 for at, role in enumerate(roles) if role == "assistant"), default=0)

    def _find_course(
        self, given: HostList, digests: Sequence[bytes], place: ListPlace
    ) -> tuple[Course, ListPlace]:
        """Return what a list is and where it belongs, in the session that it belongs to."""
        if not place.length:
            return "new", place
        if place.is_whole:
            is_more = len(digests) > place.alignment.given or place.alignment.rest is not None
            return ("continues" if is_more else "same"), place
        relative = self._find_relative(digests, place)
        if relative:
            self._of.place.known, self._of.is_stale = self._of.store.session(relative), True
            self._of.fresh()
            self._settle_results()
            place = self._place(given, digests)
            if place.is_whole:
                return "continues", place
        course = self._of.tracker.course(place, given, digests)
        if course == "rewind":
            return course, place
        if course == "volatile":
            self._of.note(volatile=place.length - place.reach + self._volatile)
        self._go_another_way(course, self._count_shared(place))
        return course, self._place(given, digests)

    def _count_shared(self, place: ListPlace) -> int:
        """Return how much of the log a child shares: as much as the host's list covers. A list that
        covers it by a summary shares nothing if the view with that summary reaches further.
        """
        if place.shown is None:
            return place.reach
        view = self._of.store.view(self._of.row.id)
        return place.reach if view is not None and view.length <= place.reach else 0

    def _place(self, given: HostList, digests: Sequence[bytes]) -> ListPlace:
        return self._of.tracker.place(given, digests, self._views())

    def _views(self) -> Iterator[View]:
        """Yield what the model sees and saw, the newest first: a host that goes on with it sends
        a request again that was compacted since.
        """
        yield self._of.compressor.view
        family = {info.id: info for info in self._of.store.lineage(self._of.row.id)}
        info, shared = family.get(self._of.row.id), self._of.compressor.length
        known: dict[bytes, None] = {}
        while info is not None and len(known) < _VIEWS_BACK:
            views = reversed(self._of.store.views(info.id))
            known |= {view.items: None for view in views if view.length <= shared}
            shared = min(shared, info.forked_at)
            info = family.get(info.parent_id) if shared else None
        for items in list(known)[:_VIEWS_BACK]:
            yield grow(unpack_view(items, self._of.row.dialect), self._of.compressor.length, ())

    def _find_relative(self, digests: Sequence[bytes], place: ListPlace) -> str:
        """Return the session of the same lineage that knows more of a list, "" if none does."""
        best, reach, own = "", place.alignment.given, place.heads[0]
        for info in self._of.store.lineage(self._of.row.root_id):
            is_over = info.end_reason == "compression" or info.kind == "tool"
            if info.id == self._of.row.id or info.length + own <= reach or is_over:
                continue
            known = self._relatives.get(info.id)
            if known is None or known[0] != info.length:
                tracker = Tracker(self._of.options.same)
                tracker.load(decode_rows(self._of.store.read(info.id), info.dialect), info.dialect)
                known = self._relatives[info.id] = (info.length, tracker)
            found = known[1].reach(digests, own)
            if found > reach:
                best, reach = info.id, found
        return best

    def _go_another_way(self, course: Course, at: int) -> None:
        """Go on in a child that shares the log up to a position; what comes after it stays with
        this one, and so do all references.
        """
        descent = _DESCENTS.get(course, "compression")
        was, state, calibration = (
            self._of.row.id,
            self._of.compressor.state,
            self._of.compressor.snapshot(),
        )
        made = self._of.store.create(self._of.like(), parent_id=was, descent=descent, at=at)
        if descent == "compression":
            self._of.store.end(was, "compression")
        self._of.place.known, self._of.is_stale = made, True
        self._of.fresh()
        self._settle_results()
        if not self._of.compressor.state.count and state.count:
            self._of.compressor.take_count(state.count, calibration)
            save_snapshot(self._of.store, self._of.row, self._of.compressor.snapshot())
        self._of.announce(was, descent)

    @property
    def _volatile(self) -> int:
        """How many of its newest messages the host rewrites from request to request; none any
        more when a request has those of the one before as they were.
        """
        return int(self._of.place.frame.get("volatile", 0))

    def _note_head(self, given: HostList, place: ListPlace) -> None:
        """Keep the system messages that a list begins with, if they are no longer those of the
        log: the newest, in the place of the ones before.
        """
        own, known = place.heads
        said = [parse(raw) for raw in given.raws[:own]]
        first = [one.wire for one in self._of.compressor.log.messages[:known]]
        if place.length and said != self._of.place.frame.get("head", first):
            self._of.note(head=said)

    def _settle_results(self) -> None:
        """See that results are shown as the host has them, from now on and after a restart; or as
        the policy has it for lists, in a conversation that begins now.
        """
        arriving, wanted = (
            self._of.compressor.conversation.arriving,
            self._of.compressor.settings.policy.follow_arrival,
        )
        level = wanted if not self._of.compressor.length or arriving.level == wanted else "off"
        if self._of.place.known is None:  # then it is kept when the session begins
            self._of.compressor.conversation.arriving = replace(arriving, level=level)
        elif arriving.level != level:
            noted = msgspec.to_builtins(replace(arriving, level=level))
            self._of.note(arrival=noted, counted=self._of.loaded.counted)
            self._of.is_stale = True
            self._of.fresh()

    @in_turn
    def _end_follow(self, begun: _Following) -> Followed:
        """Return what to send."""
        given, engine = begun.given, self._of.compressor
        if begun.course == "rewind":
            edits = self._edits_before(begun)
        else:
            edits = edits_to(
                engine.view,
                engine.log.messages,
                begun.place,
                begun.appended,
                engine.conversation.encode,
            )
            if begun.held:
                edits = _add_tail(edits, begun.stop, len(given.items))
        steps, edits = edits, add_marks(edits, given)
        is_same = edits == keep_all(given.items)
        settings: Payload = {}
        headers: Mapping[str, str] = {}
        if engine.state.stale_thinking and not (is_same and begun.course == "rewind"):
            settings, headers = drop_settings(given.frame or {})
        if begun.course != "rewind":
            self._note_view(given, steps, settings, headers)
        report = begun.report or self._of.report_no_run("nothing is new in this list")
        engine.note_use()
        return Followed(
            given=given.own,
            edits=edits,
            body=body_with(given, edits, settings),
            report=report,
            course=begun.course,
            session_id=self._of.row.id,
            settings=settings,
            headers=headers,
            is_changed=bool(settings) or not is_same,
        )

    @property
    def last_view(self) -> LastView | None:
        """How the last list became what was sent; None if that went as it came."""
        return self._last_view

    def save_last_view(self) -> None:
        """Keep it with the view, so that the next list can be sent without this object."""
        if self._unsaved_view and self._last_view is not None and self._of.row.view:
            self._of.store.save_sent(
                self._of.row.id, self._last_view.pack(), view=self._of.row.view
            )
            self._unsaved_view = False

    def _note_view(
        self,
        given: HostList,
        edits: tuple[Edit, ...],
        settings: Payload,
        headers: Mapping[str, str],
    ) -> None:
        """Note how a request became what is sent; worked out only after a change."""
        if given.source is None or (edits == keep_all(given.items) and not settings):
            self._last_view = None
        elif self._last_view is None or not self._last_view.is_by(edits, len(given.raws), settings):
            digests = self._of.tracker.digests(given)
            self._last_view = last_view_of(given, digests, edits, settings, headers)
            self._unsaved_view = True

    def _edits_before(self, begun: _Following) -> tuple[Edit, ...]:
        """Return what a list becomes that is the beginning of what is known: what the model saw
        of it, if no summary reaches beyond its end.
        """
        engine, reach = self._of.compressor, begun.place.reach
        view = cut_view(engine.view, reach)
        if view is None:
            return keep_all(begun.given.items)
        return edits_to(view, engine.log.messages, begun.place, {}, engine.conversation.encode)

    def _pass_on(self, messages: Any, request: Any, error: Exception) -> Followed:
        """Return the host's own list, if it asked for that."""
        self._of.is_stale = True
        if self._of.options.on_error == "raise":
            raise error
        log_event("session.passed", error=type(error).__name__)
        try:
            given = read_given(messages, request, "")
            items, body = list(given.own), given.source
        except FoldawayError:
            is_list = isinstance(messages, Sequence) and not isinstance(messages, (str, bytes))
            if request is None and not is_list:
                raise error from None  # no list that could be given back
            items = list(cast("Sequence[Any]", messages)) if is_list else []
            body = request
        report = Report(
            status="unchanged",
            reason="aborted",
            detail=str(error),
            tokens_before=0,
            tokens_after=0,
            prompt_tokens=0,
            context_length=0,
            effective_window=0,
            threshold_tokens=0,
            messages_before=len(items),
            messages_after=len(items),
            kept=len(items),
            rewritten=0,
            folded=0,
            compaction_count=0,
            version=__version__,
        )
        return Followed(
            given=items,
            edits=keep_all(items),
            body=body,
            report=report,
            course="same",
            session_id="",
            error=f"{type(error).__name__}: {error}",
        )


def _add_tail(edits: tuple[Edit, ...], start: int, stop: int) -> tuple[Edit, ...]:
    last = edits[-1] if edits else None
    if isinstance(last, Keep) and last.stop == start:
        return (*edits[:-1], Keep(last.start, stop))
    return (*edits, Keep(start, stop))

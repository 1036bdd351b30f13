"""A conversation that takes what arrives: message by message, or a host's whole list each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args

import msgspec
from msgspec.structs import replace

from foldaway._core import Report, __version__, log_event
from foldaway.dialects import (
    DROP_BLOCK_HEADERS,
    dialect_named,
    drop_settings,
    dump_bytes,
    load,
    parse,
)
from foldaway.engine import unpack_view
from foldaway.errors import Conflict, FoldawayError, InvalidSetting
from foldaway.sessions.following import (
    Course,
    Edit,
    Followed,
    HostList,
    Keep,
    body_with,
    given_by,
    keep_all,
    messages_of,
    refuse_others,
    shown_dialect,
    with_marks,
)
from foldaway.sessions.kept import KeptConversation, in_turn
from foldaway.sessions.last_view import LastView, last_view_of
from foldaway.sessions.matching import told_in
from foldaway.sessions.options import SessionOptions
from foldaway.sessions.rows import decoded
from foldaway.sessions.standing import save_snapshot, unchanged
from foldaway.sessions.tracking import ListPlace, Tracker, edits_to, ending_at
from foldaway.stores import Descent, NewSession, Store
from foldaway.transcript import Payload, View, grow

T = TypeVar("T")
When: TypeAlias = Literal["new", "due", "never"]
"""Which lists are compacted if that is due: those with something new, so that a retry changes
nothing; every one, for hosts that ask for it when they need it; or none."""
_TRIES = 20
"""How often an append or a list is tried again after another process was faster."""
_VIEWS_BACK = 5
"""With how many views a list is compared: the one of now, and those of before that a request was
made from which is sent again. It may be behind by the compaction that it caused, and by those
after a provider refused it; chosen."""
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


class FollowingConversation(KeptConversation):
    """A conversation that may also be handed over as a whole, again and again."""

    def __init__(
        self, store: Store, key: str, options: SessionOptions, new: NewSession | None,
        session_id: str = "",
    ) -> None:  # fmt: skip
        self._relatives: dict[str, tuple[int, Tracker]] = {}
        self._last_view: LastView | None = None
        self._unsaved_view = False
        super().__init__(store, key, options, new, session_id)

    # What arrives

    @in_turn
    def append(self, *messages: Any) -> None:
        """Take new messages; they are durable when this returns, all of them or none.

        Mappings, JSON as bytes, or what the openai and anthropic clients return: messages, whole
        responses and the results of streams. What is no message is refused before anything is
        written. What another process appended meanwhile is taken up first; `Conflict` if that
        goes on.
        """
        given = [one for message in messages for one in messages_of(message)]
        if not given:
            return
        dialect = self._dialect or load(given).dialect
        refuse_others(given, dialect)
        self._begin_with(shown_dialect(given) or dialect)
        self._tried(lambda: self._append(given))
        self._become_current()

    def _tried(self, attempt: Callable[[], T]) -> T:
        """Return what an attempt does on what the store holds; another one if somebody was
        faster.
        """
        tries = _TRIES
        while True:
            self._fresh()
            try:
                return attempt()
            except Conflict:
                tries -= 1
                if not tries:
                    raise

    # A host's own list

    @in_turn
    def follow(
        self, messages: Sequence[Any] | None = None, *,
        request: Mapping[str, Any] | bytes | None = None, usage: object = None, force: bool = False,
        focus: str = "", when: When = "new",
    ) -> Followed:  # fmt: skip
        """Take the host's whole list and return what to send in its place.

        The list may be inside `request`, the body of a provider's API as a mapping or as bytes;
        its tools, system prompt and settings are taken into account. `usage` is what the provider
        reported for the last request, or a number: its count of this list. The same list gives
        the same result, on a retry, after a restart and in another process. What is new is kept,
        and compacted if that is due, or with `force`; `when` says for which lists.
        """
        try:
            begun = self._begin_follow(messages, request, usage, is_sent=when == "never")
            if force or begun.is_for(when):
                begun.report = self.compact(force=force, focus=focus)
            return self._end_follow(begun)
        except Exception as error:  # noqa: BLE001 raised again unless the host said to pass
            return self._passed(messages, request, error)

    @in_turn
    def preview(self, *, request: Mapping[str, Any] | bytes) -> Followed:
        """Return what would be sent for a request by what was compacted so far; nothing is kept.

        A list that does not hold all that is known comes back as it is.
        """
        is_known = self._look()
        given = given_by(None, request, self._dialect)
        engine, items, edits = self._engine, given.items, keep_all(given.items)
        place = self._place(given, self._tracker.digests(given)) if is_known else None
        if place is not None and place.is_whole and place.alignment.rest is None:
            edits = edits_to(engine.view, engine.log.messages, place, {}, engine.encoded)
            if place.alignment.given < len(items):
                edits = _with_tail(edits, place.alignment.given, len(items))
            edits = with_marks(edits, given)
        return Followed(
            given=given.own, edits=edits, body=body_with(given, edits, {}),
            report=unchanged(self._engine, "only a preview"), course="same",
            session_id=self.id, is_changed=edits != keep_all(given.items),
        )  # fmt: skip

    @in_turn
    def record(
        self, *, request: bytes | None = None, text: str = "", is_named: bool = False,
        focus: str = "",
    ) -> str:  # fmt: skip
        """Return all that is known of a host's list in one text, for a host that asks for a summary
        of it; "" if the conversation is not known. No model is asked, and nothing is compacted.

        The list is in a `request`, from which its own question was taken out: what is new in it is
        kept. Or it is told in a `text`, in the words of the host; `is_named` says that the host
        named this conversation. What is about the `focus` comes first.
        """
        if self._known_info is None or not self._known_info.length:
            return ""
        if request is None:
            self._fresh()
            stop = told_in(text, self._engine.log.messages, is_named=is_named)
        else:
            begun = self._begin_follow(None, request, None, is_sent=True)
            if begun.course not in ("same", "continues", "rewind", "volatile"):
                return ""
            is_start = begun.course == "rewind"
            stop = begun.place.reach if is_start else self._engine.length
        self._note_delegated()
        return self._engine.record(stop, focus) if stop else ""

    @in_turn
    def _begin_follow(
        self, messages: Any, request: Any, usage: object, *, is_sent: bool
    ) -> _Following:
        """Take what is new in a list; it may have been sent already, as it is."""
        given = given_by(messages, request, self._dialect)
        dialect = given.dialect or self._dialect or load(list(given.items)).dialect
        self._begin_with(dialect)
        self._fresh()
        self._catch_up()
        if usage is not None and not isinstance(usage, int):
            self.used(usage)
        begun = self._tried(lambda: self._take_list(given, is_sent=is_sent))
        own, known = begun.place.heads
        self._engine.take_request(given.frame, held=[*given.items[known:own], *begun.held])
        if isinstance(usage, int):
            self.used(usage)
        self._become_current()
        return begun

    def _take_list(self, given: HostList, *, is_sent: bool) -> _Following:
        self._settle_results()
        digests = self._tracker.digests(given)
        place = self._place(given, digests)
        if self._take_dialect(shown_dialect(given.items[place.alignment.given :], given.frame)):
            return self._take_list(given, is_sent=is_sent)
        course, place = self._placed(given, digests, place)
        self._note_head(given, place)
        if self._volatile and self._tracker.goes_on(digests):
            self._note(volatile=0)
        is_last = self._tracker.is_last(digests)
        if course in ("rewind", "same"):
            return _Following(given, place, course, is_new=False)
        found = place.alignment
        rest = [] if found.rest is None else [dialect_named(self._info.dialect).encode(found.rest)]
        stop = max(len(given.items) - self._volatile, found.given)
        new = [*rest, *given.items[found.given : stop]]
        start = self._engine.length
        indexes = [*([found.given - 1] if rest else []), *range(found.given, stop)]
        if new:
            raws = [*map(dump_bytes, rest), *given.raws[found.given : stop]]
            seen = len(new) if is_sent else self._seen_of(new)
            self._append(new[:seen], raws[:seen], arrives=False)
            if seen < len(new):
                self._append(new[seen:], raws[seen:], arrives=True)
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
        if self._engine.arriving.level == "off":
            return len(new)
        roles = [one.role for one in dialect_named(self._info.dialect).decode(new, 0)]
        return max((at + 1 for at, role in enumerate(roles) if role == "assistant"), default=0)

    def _placed(
        self, given: HostList, digests: Sequence[bytes], place: ListPlace
    ) -> tuple[Course, ListPlace]:
        """Return what a list is and where it belongs, in the session that it belongs to."""
        if not place.length:
            return "new", place
        if place.is_whole:
            is_more = len(digests) > place.alignment.given or place.alignment.rest is not None
            return ("continues" if is_more else "same"), place
        relative = self._relative(digests, place)
        if relative:
            self._known_info, self._stale = self._store.session(relative), True
            self._fresh()
            self._settle_results()
            place = self._place(given, digests)
            if place.is_whole:
                return "continues", place
        course = self._tracker.course(place, given, digests)
        if course == "rewind":
            return course, place
        if course == "volatile":
            self._note(volatile=place.length - place.reach + self._volatile)
        self._go_another_way(course, self._shared(place))
        return course, self._place(given, digests)

    def _shared(self, place: ListPlace) -> int:
        """Return how much of the log a child shares: as much as the host's list covers. A list that
        covers it by a summary shares nothing if the view with that summary reaches further.
        """
        if place.shown is None:
            return place.reach
        view = self._store.view(self._id)
        return place.reach if view is not None and view.length <= place.reach else 0

    def _place(self, given: HostList, digests: Sequence[bytes]) -> ListPlace:
        return self._tracker.place(given, digests, self._views())

    def _views(self) -> Iterator[View]:
        """Yield what the model sees and saw, the newest first: a host that goes on with it sends
        a request again that was compacted since.
        """
        yield self._engine.view
        family = {info.id: info for info in self._store.lineage(self._id)}
        info, shared = family.get(self._id), self._engine.length
        known: dict[bytes, None] = {}
        while info is not None and len(known) < _VIEWS_BACK:
            views = reversed(self._store.views(info.id))
            known |= {view.items: None for view in views if view.length <= shared}
            shared = min(shared, info.forked_at)
            info = family.get(info.parent_id) if shared else None
        for items in list(known)[:_VIEWS_BACK]:
            yield grow(unpack_view(items, self._info.dialect), self._engine.length, ())

    def _relative(self, digests: Sequence[bytes], place: ListPlace) -> str:
        """Return the session of the same lineage that knows more of a list, "" if none does."""
        best, reach, own = "", place.alignment.given, place.heads[0]
        for info in self._store.lineage(self._info.root_id):
            is_over = info.end_reason == "compression" or info.kind == "tool"
            if info.id == self._id or info.length + own <= reach or is_over:
                continue
            known = self._relatives.get(info.id)
            if known is None or known[0] != info.length:
                tracker = Tracker(self._options.same)
                tracker.load(decoded(self._store.read(info.id), info.dialect), info.dialect)
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
        was, state, calibration = self._id, self._engine.state, self._engine.snapshot()
        made = self._store.create(self._like(), parent_id=was, descent=descent, at=at)
        if descent == "compression":
            self._store.end(was, "compression")
        self._known_info, self._stale = made, True
        self._fresh()
        self._settle_results()
        if not self._engine.state.count and state.count:
            self._engine.take_count(state.count, calibration)
            save_snapshot(self._store, self._info, self._engine.snapshot())
        self._switched(was, descent)

    @property
    def _volatile(self) -> int:
        """How many of its newest messages the host rewrites from request to request; none any
        more when a request has those of the one before as they were.
        """
        return int(self._frame().get("volatile", 0))

    def _note_head(self, given: HostList, place: ListPlace) -> None:
        """Keep the system messages that a list begins with, if they are no longer those of the
        log: the newest, in the place of the ones before.
        """
        own, known = place.heads
        said = [parse(raw) for raw in given.raws[:own]]
        first = [one.wire for one in self._engine.log.messages[:known]]
        if place.length and said != self._frame().get("head", first):
            self._note(head=said)

    def _settle_results(self) -> None:
        """See that results are shown as the host has them, from now on and after a restart; or as
        the policy has it for lists, in a conversation that begins now.
        """
        arriving, wanted = self._engine.arriving, self._engine.settings.policy.follow_arrival
        level = wanted if not self._engine.length or arriving.level == wanted else "off"
        if arriving.level != level:
            noted = msgspec.to_builtins(replace(arriving, level=level))
            self._note(arrival=noted, counted=self._counted)
            self._stale = True
            self._fresh()

    @in_turn
    def _end_follow(self, begun: _Following) -> Followed:
        """Return what to send."""
        given, engine = begun.given, self._engine
        if begun.course == "rewind":
            edits = self._edits_before(begun)
        else:
            edits = edits_to(
                engine.view, engine.log.messages, begun.place, begun.appended, engine.encoded
            )
            if begun.held:
                edits = _with_tail(edits, begun.stop, len(given.items))
        steps, edits = edits, with_marks(edits, given)
        is_same = edits == keep_all(given.items)
        settings: Payload = {}
        if engine.state.stale_thinking and not (is_same and begun.course == "rewind"):
            settings = drop_settings(given.frame or {})
        headers: Mapping[str, str] = DROP_BLOCK_HEADERS if settings else {}
        if begun.course != "rewind":
            self._note_view(given, steps, settings, headers)
        report = begun.report or unchanged(engine, "nothing is new in this list")
        engine.note_use()
        return Followed(
            given=given.own, edits=edits, body=body_with(given, edits, settings),
            report=report, course=begun.course, session_id=self._id, settings=settings,
            headers=headers, is_changed=bool(settings) or not is_same,
        )  # fmt: skip

    @property
    def last_view(self) -> LastView | None:
        """How the last list became what was sent; None if that went as it came."""
        return self._last_view

    def save_last_view(self) -> None:
        """Keep it with the view, for whoever has to send the next list without this object."""
        if self._unsaved_view and self._last_view is not None and self._info.view:
            self._store.save_sent(self._id, self._last_view.pack(), view=self._info.view)
            self._unsaved_view = False

    def _note_view(
        self, given: HostList, edits: tuple[Edit, ...], settings: Payload,
        headers: Mapping[str, str],
    ) -> None:  # fmt: skip
        """Note how a request became what is sent; worked out only after a change."""
        if given.source is None or (edits == keep_all(given.items) and not settings):
            self._last_view = None
        elif self._last_view is None or not self._last_view.is_by(edits, len(given.raws), settings):
            digests = self._tracker.digests(given)
            self._last_view = last_view_of(given, digests, edits, settings, headers)
            self._unsaved_view = True

    def _edits_before(self, begun: _Following) -> tuple[Edit, ...]:
        """Return what a list becomes that is the beginning of what is known: what the model saw
        of it, if no summary reaches beyond its end.
        """
        engine, reach = self._engine, begun.place.reach
        view = ending_at(engine.view, reach)
        if view is None:
            return keep_all(begun.given.items)
        return edits_to(view, engine.log.messages, begun.place, {}, engine.encoded)

    def _passed(self, messages: Any, request: Any, error: Exception) -> Followed:
        """Return the host's own list, if it asked for that."""
        self._stale = True
        if self._options.on_error == "raise":
            raise error
        log_event("session.passed", error=type(error).__name__)
        try:
            given = given_by(messages, request, "")
            items, body = list(given.own), given.source
        except FoldawayError:
            is_list = isinstance(messages, Sequence) and not isinstance(messages, (str, bytes))
            if request is None and not is_list:
                raise error from None  # no list that could be given back
            items = list(cast("Sequence[Any]", messages)) if is_list else []
            body = request
        report = Report(
            status="unchanged", reason="aborted", detail=str(error), tokens_before=0,
            tokens_after=0, prompt_tokens=0, context_length=0, effective_window=0,
            threshold_tokens=0, messages_before=len(items), messages_after=len(items),
            kept=len(items), rewritten=0, folded=0, compaction_count=0, version=__version__,
        )  # fmt: skip
        return Followed(
            given=items, edits=keep_all(items), body=body, report=report, course="same",
            session_id="", error=f"{type(error).__name__}: {error}",
        )  # fmt: skip


def _with_tail(edits: tuple[Edit, ...], start: int, stop: int) -> tuple[Edit, ...]:
    last = edits[-1] if edits else None
    if isinstance(last, Keep) and last.stop == start:
        return (*edits[:-1], Keep(last.start, stop))
    return (*edits, Keep(start, stop))

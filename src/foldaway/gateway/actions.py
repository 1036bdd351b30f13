"""What the REST API does, one function each: a request as a value in, an answer as a value out.

They block; the API calls them in threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from msgspec import Raw, Struct
from msgspec.structs import replace

from foldaway.compaction import without_results
from foldaway.dialects import dialect_named, dump_bytes
from foldaway.engine import Comparison, compare, compress, difference
from foldaway.errors import UnknownReference
from foldaway.gateway.api_values import (
    CompactAnswer,
    CompactAsked,
    DeleteAnswer,
    DeleteAsked,
    FoldAsked,
    ForkAsked,
    ListAnswer,
    ListAsked,
    LoggedMessage,
    MessagesAsked,
    MessagesPage,
    PinAsked,
    PinsAnswer,
    RecallAsked,
    RecallPage,
    RetentionAsked,
    SearchAnswer,
    SearchAsked,
    SessionAnswer,
    SessionAsked,
    SessionsAsked,
    SessionsPage,
    StepAnswer,
    StepAsked,
    UnpinAsked,
    ViewAsked,
    ViewPage,
    ViewsAnswer,
    WrittenMessage,
)
from foldaway.gateway.events import Events
from foldaway.gateway.options import GatewayOptions
from foldaway.search import Filters
from foldaway.sessions import (
    Library,
    Retention,
    Session,
    SessionOptions,
    SessionRow,
    Show,
    ViewRow,
    discover,
    find_expired,
    internals,
    redactor_of,
    transcript_of,
)
from foldaway.stores import NewSession, SessionFilter, SessionInfo, Store, StoredMessage
from foldaway.summarizers import Writers
from foldaway.transcript import Message, Transcript
from foldaway.usage import session_details

KEEPS_ALL = Retention()
SOURCE = "api"
"""The source of sessions that `POST /foldaway/compact` begins: its keys are not those of agents."""


class ApiContext(Struct, frozen=True):
    """What the actions work on."""

    store: Store
    options: GatewayOptions
    retention: Retention
    show: Show
    """What a text becomes before it leaves."""
    events: Events
    look_again: Callable[[str], None]
    """Tells anyone who holds a session open that it was changed."""

    @classmethod
    def of(
        cls,
        store: Store,
        options: GatewayOptions,
        events: Events,
        retention: Retention = KEEPS_ALL,
        look_again: Callable[[str], None] = lambda session: None,
    ) -> ApiContext:
        """Return what the API of a store works on; the redactor is made when it is first used."""

        @cache
        def redactor() -> Show:
            return redactor_of(store)

        return cls(store, options, retention, lambda text: redactor()(text), events, look_again)

    def find(self, name: str) -> SessionInfo:
        """Return a session by its id, the beginning of it, or the id of its source."""
        return Library(self.store, show=self.show).find(name)

    def open(self, session_id: str, summarizer: Writers | None) -> Session:
        """Return a handle on a session."""
        options = self.options
        return Session.open(
            self.store,
            session_id,
            context_length=options.context_length,
            policy=options.policy,
            summarizer=summarizer,
        )


class NotThere(Exception):
    """Something that a request names and a session does not have; its text says what there is."""


# What is read


def list_sessions(api: ApiContext, asked: SessionsAsked) -> SessionsPage:
    """List sessions, the last used first."""
    wanted = SessionFilter(
        source=asked.source,
        kind=asked.kind,
        since=asked.since,
        until=asked.until,
        text=asked.text,
        only_leaves=asked.newest,
    )
    page = api.store.sessions(wanted, most=asked.most, after=asked.after)
    return SessionsPage([SessionRow.of(info) for info in page.sessions], page.next)


def get_session(api: ApiContext, asked: SessionAsked) -> SessionAnswer:
    """Return one session: facts, compactions, usage, pins, lineage."""
    info = api.find(asked.id)
    return SessionAnswer(
        session=SessionRow.of(info),
        details=session_details(api.store, info),
        lineage=[SessionRow.of(one) for one in api.store.lineage(info.id)],
    )


def get_messages(api: ApiContext, asked: MessagesAsked) -> MessagesPage:
    """Return messages of a log: all that was said, whatever a compaction folded."""
    info = api.find(asked.id)
    stop = min(asked.start + asked.most, info.length)
    rows = api.store.read(info.id, asked.start, stop)
    return MessagesPage(
        session=info.id,
        dialect=info.dialect,
        total=info.length,
        messages=_rows(rows),
        next=stop if stop < info.length else None,
    )


def list_views(api: ApiContext, asked: SessionAsked) -> ViewsAnswer:
    """List the views of a session: one for each compaction."""
    info = api.find(asked.id)
    rows = ViewRow.list_of(api.store.views(info.id, lean=True), info.view)
    return ViewsAnswer(session=info.id, current=info.view, views=rows)


def get_step(api: ApiContext, asked: StepAsked) -> StepAnswer:
    """Return what one compaction did: its report, and what became of every message."""
    info = api.find(asked.id)
    views = api.store.views(info.id)
    _refuse_unknown(info, asked.number, (view.number for view in views))
    (row,) = (one for one in ViewRow.list_of(views, info.view) if one.number == asked.number)
    (kept,) = (view for view in views if view.number == asked.number)
    old, new = (
        transcript_of(api.store, info, what="view", number=number)
        for number in (row.previous, row.number)
    )
    comparison, written = compare_views((f"view {row.previous}", f"view {row.number}"), old, new)
    return StepAnswer(
        session=info.id, view=row, report=kept.told, comparison=comparison, written=written
    )


def get_view(api: ApiContext, asked: ViewAsked) -> ViewPage:
    """Return what the model sees now, or what it saw with another view."""
    info = api.find(asked.id)
    if asked.number is not None:
        known = (0, *(view.number for view in api.store.views(info.id, lean=True)))
        _refuse_unknown(info, asked.number, known)
    seen = transcript_of(api.store, info, what="view", number=asked.number)
    total, stop = len(seen.messages), asked.start + asked.most
    return ViewPage(
        session=info.id,
        dialect=info.dialect,
        total=total,
        view=info.view if asked.number is None else asked.number,
        messages=_payloads(seen.messages[asked.start : stop], info.dialect),
        next=stop if stop < total else None,
    )


def search(api: ApiContext, asked: SearchAsked) -> SearchAnswer:
    """Find a text in all sessions, also in what compactions folded."""
    filters = Filters(
        roles=asked.role,
        sources=asked.source,
        tools=asked.tool,
        since=asked.since,
        until=asked.until,
        sessions=tuple(api.find(name).id for name in asked.session),
    )
    hits = discover(
        api.store,
        asked.q,
        filters=filters,
        kinds=() if asked.subagents else ("main",),
        sort=asked.sort,
        most=asked.most,
        skip=asked.skip,
        around=asked.around,
        show=api.show,
    )
    return SearchAnswer(hits)


def recall(api: ApiContext, asked: RecallAsked) -> RecallPage:
    """Return the originals behind a reference."""
    session_id = api.find(asked.session).id if asked.session else ""
    place = next(iter(api.store.places(asked.ref, session_id=session_id)), None)
    if place is None:
        raise UnknownReference(asked.ref)
    first, end = place.reference.positions
    start = min(first + asked.start, end)
    stop = min(start + asked.most, end)
    return RecallPage(
        ref=asked.ref,
        session=place.session_id,
        positions=(first, end),
        messages=_rows(api.store.read(place.session_id, start, stop)),
        next=stop - first if stop < end else None,
    )


# What is changed


def compact_session(api: ApiContext, asked: CompactAsked) -> CompactAnswer:
    """Compact a session now; the log stays as it is."""
    was = api.store.newest_leaf(api.find(asked.id).id)
    kept = api.open(was.id, api.options.summarizer)
    report = kept.compact(
        force=asked.force,
        focus=asked.focus,
        keep_last=asked.keep_last,
        target_tokens=asked.target_tokens,
    )
    info = kept.info
    return CompactAnswer(session=info.id, previous=was.id, view=info.view, report=report)


def fold_messages(api: ApiContext, asked: FoldAsked) -> CompactAnswer:
    """Leave out the results in some messages from now on; they can be recalled, and undone."""
    was = api.store.newest_leaf(api.find(asked.id).id)
    kept = api.open(was.id, None)
    going = {*asked.positions} - {pin.position for pin in api.store.pins(was.id)}
    report = internals(kept).changes.lighten(without_results(going))
    info = kept.info
    return CompactAnswer(session=info.id, previous=was.id, view=info.view, report=report)


def undo_compaction(api: ApiContext, asked: SessionAsked) -> SessionRow:
    """Undo the last compaction of a session; what came since stays."""
    was = api.find(asked.id)
    return SessionRow.of(api.store.undo(was.id, expect=was.view))


def pin_message(api: ApiContext, asked: PinAsked) -> PinsAnswer:
    """Keep a message as it is through every compaction."""
    info = api.find(asked.id)
    api.store.pin(info.id, asked.position, asked.note)
    return PinsAnswer(info.id, api.store.pins(info.id))


def unpin_message(api: ApiContext, asked: UnpinAsked) -> PinsAnswer:
    """Let compactions fold a message again."""
    info = api.find(asked.id)
    api.store.unpin(info.id, asked.position)
    return PinsAnswer(info.id, api.store.pins(info.id))


def fork_session(api: ApiContext, asked: ForkAsked) -> SessionRow:
    """Begin a session that shares the first messages of another and goes its own way."""
    parent = api.find(asked.id)
    made = api.store.create(
        parent.branch(asked.title), parent_id=parent.id, descent="branch", at=asked.at
    )
    return SessionRow.of(made)


def delete_session(api: ApiContext, asked: DeleteAsked) -> DeleteAnswer:
    """Delete a session for good; what a branch shares with it stays with the branch."""
    return _delete(api.store, [api.store.session(asked.id)], dry_run=False)


def apply_retention(api: ApiContext, asked: RetentionAsked) -> DeleteAnswer:
    """Delete the lineages that are kept too long, or take too much room."""
    limits = api.retention
    policy = replace(
        limits,
        days=limits.days if asked.days is None else asked.days or None,
        megabytes=limits.megabytes if asked.megabytes is None else asked.megabytes or None,
        projects=limits.projects if asked.days is None else {},
    )
    going = find_expired(api.store, policy)
    infos = [api.store.session(name) for one in going for name in one.sessions]
    return _delete(api.store, infos, dry_run=asked.dry_run)


def compact_list(api: ApiContext, asked: ListAsked) -> ListAnswer:
    """Make a list of messages smaller; with a key as part of a conversation that is kept."""
    options, given = api.options, asked.messages
    model: dict[str, Any] = {
        "model": asked.model,
        "context_length": asked.context_length or options.context_length,
        "policy": options.policy,
        "summarizer": options.summarizer,
    }
    if not asked.key:
        done = compress(given, **model)
        return ListAnswer(
            messages=Raw(dump_bytes(done.messages)),
            is_changed=done.messages is not given,
            session="",
            report=done.report,
        )
    new = NewSession(source=SOURCE, model=asked.model)
    session = Session(api.store, asked.key, **model, options=SessionOptions(new=new))
    wanted: dict[str, Any] = {"force": asked.force, "focus": asked.focus}
    followed = (
        session.follow(request=given, **wanted)
        if isinstance(given, dict)
        else session.follow(given, **wanted)
    )
    value = followed.body if isinstance(given, dict) else followed.messages
    return ListAnswer(
        messages=Raw(dump_bytes(value)),
        is_changed=followed.is_changed,
        session=followed.session_id,
        report=followed.report,
    )


def _rows(rows: Sequence[StoredMessage]) -> list[LoggedMessage]:
    return [
        LoggedMessage(
            position=row.position,
            role=row.role,
            time=row.time,
            tokens=row.tokens,
            tools=row.tools,
            generated=row.generated,
            owner=row.owner_id,
            message=Raw(row.body),
        )
        for row in rows
    ]


def _payloads(messages: Iterable[Message], dialect: str) -> list[Raw]:
    encode = dialect_named(dialect).encode
    return [Raw(dump_bytes(encode(message))) for message in messages]


def compare_views(
    names: tuple[str, str], old: Transcript, new: Transcript
) -> tuple[Comparison, list[WrittenMessage]]:
    """Return what became of every message, and what was written."""
    made = difference(old.messages, new.messages)
    pairs = zip(made.after, _payloads(new.messages, new.dialect), strict=True)
    written = [WrittenMessage(fate, message) for fate, message in pairs if fate != "kept"]
    return compare(names, (old, new), made), written


def _refuse_unknown(info: SessionInfo, number: int, known: Iterable[int]) -> None:
    numbers = sorted(known)
    if number not in numbers:
        there = f"there are {', '.join(map(str, numbers))}" if numbers else "there is none"
        raise NotThere(f"session {info.id} has no view {number}; {there}")


def _delete(store: Store, infos: Sequence[SessionInfo], *, dry_run: bool) -> DeleteAnswer:
    ids = [info.id for info in infos]
    messages = store.owned_alone(ids) if ids else 0
    erased = store.erase(ids) if ids and not dry_run else None
    return DeleteAnswer(
        sessions=[SessionRow.of(info) for info in infos], messages=messages, erased=erased
    )

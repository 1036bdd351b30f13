"""What runs now: the conversations of a gateway by its events, or those in files of agents."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import PRESSURE
from foldaway.caching import PriceList
from foldaway.errors import FoldawayError
from foldaway.gateway import (
    CompactionTold,
    ConversationState,
    GatewayFault,
    Outcome,
    SessionChanged,
)
from foldaway.sessions import Show
from foldaway.usage import LiveState, SessionFile, SpentSession, live_state, money, short

MOST_CONVERSATIONS = 50
"""That are remembered; those that were quiet for longest go first. Chosen: a page of them."""
MOST_ENTRIES = 200
"""Of what happened that are remembered; an agent makes about as many requests in an hour."""
_MOST_NOTICES = 20
"""That are remembered: a page that looks asks every few seconds."""
_RUNNING_SECONDS = 600.0
"""A file that was written to so lately is of a session that runs: tests and builds take minutes."""
_LOOK_SECONDS = 2.0
"""How often files are looked at, while somebody looks at the page."""
_MOST_STEPS = 40
"""Of one file in the list of what happened."""
_MOST_FILES = 5
"""Sessions of files that are followed: each is read again when it changes."""

Tone: TypeAlias = Literal["", "good", "warn", "bad"]
StepKind: TypeAlias = Literal["request", "tool", "compaction", "fault", "note"]
ToolCalls: TypeAlias = Sequence[tuple[float, str]]
"""When tools were called, and which."""
ReadTools: TypeAlias = Callable[[str, int], tuple[int, ToolCalls]]
"""Returns the length of the log of a session, and what was called from a position on."""


class LiveConversation(Struct, frozen=True, kw_only=True):
    """The state of one conversation, for a page."""

    key: str
    session: str = ""
    """Its name in addresses of pages; "" if it is in no store yet."""
    title: str = ""
    agent: str = ""
    model: str = ""
    prompt_tokens: int = 0
    window_tokens: int = 0
    threshold_tokens: int = 0
    """From how many tokens on it is compacted in any case; 0 if nobody is known to do it."""
    early_tokens: int = 0
    """From here on it is compacted if that pays; 0 if nobody asks."""
    is_measured: bool = True
    is_near: bool = False
    is_early: bool = False
    """Whether it is compacted now as soon as that pays."""
    answers_left: int | None = None
    requests: int = 0
    last: str = ""
    """The last request, in words."""
    cost: float = 0.0
    saved: float = 0.0
    compactions: int = 0
    decision: str = ""
    """What was decided last, and why."""
    tone: Tone = ""
    summary: str = ""
    """What is prepared for the next compaction."""
    time: float = 0.0
    steps: Sequence[LiveEntry] = ()
    """What happened, as far as a file says it."""

    @property
    def fill(self) -> float:
        """The share of the window that is taken."""
        return self.prompt_tokens / self.window_tokens if self.window_tokens else 0.0


class LiveEntry(Struct, frozen=True):
    """One thing that happened."""

    time: float
    who: str
    text: str
    tone: Tone = ""
    kind: StepKind = "note"
    cost: float = 0.0


class LiveNotice(Struct, frozen=True):
    """What a person may want to be told before and after a compaction."""

    number: int
    title: str
    text: str


class LiveView(Struct, frozen=True, kw_only=True):
    """All that the page shows."""

    conversations: Sequence[LiveConversation] = ()
    entries: Sequence[LiveEntry] = ()
    """The newest first."""
    notices: Sequence[LiveNotice] = ()
    requests: int = 0
    cost: float = 0.0
    saved: float = 0.0
    compactions: int = 0
    faults: int = 0


class Notices:
    """What a person may want to be told, the newest last; older ones are forgotten."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._kept: deque[LiveNotice] = deque(maxlen=_MOST_NOTICES)
        self._count = 0

    def add(self, title: str, text: str) -> None:
        """Tell something."""
        self._count += 1
        self._kept.append(LiveNotice(self._count, title, text))

    def list(self) -> tuple[LiveNotice, ...]:
        """Return what was told lately."""
        return tuple(self._kept)


class ToolSteps:
    """The tools that were called in sessions of a store, each told once."""

    def __init__(self, read: ReadTools) -> None:
        """Begin with the sessions that change from now on."""
        self._read, self._known = read, dict[str, int]()
        self._changed: dict[str, str] = {}

    def mark(self, session: str, who: str) -> None:
        """Look at a session when steps are asked for."""
        self._changed[session] = who

    def take(self) -> list[LiveEntry]:
        """Return what was called since this was asked last."""
        found: list[LiveEntry] = []
        while self._changed:
            session, who = self._changed.popitem()
            self._known[session], calls = self._read(session, self._known.get(session, 0))
            found += [LiveEntry(time, who, names, kind="tool") for time, names in calls]
        return found


class LiveBoard:
    """What a gateway did since it was started, as far as it is remembered; events come from any
    thread.
    """

    def __init__(
        self,
        title_of: Callable[[str], str],
        clock: Callable[[], float] = time.time,
        read_tools: ReadTools = lambda session, start: (start, ()),
    ) -> None:
        """Take what returns the title of a session, ready to be shown, and the tools it called."""
        self._title_of, self._clock, self._lock = title_of, clock, threading.Lock()
        self._rows: OrderedDict[str, LiveConversation] = OrderedDict()
        self._entries: deque[LiveEntry] = deque(maxlen=MOST_ENTRIES)
        self._notices, self._totals = Notices(), LiveView()
        self._tools = ToolSteps(read_tools)

    def hear(self, event: Any) -> None:
        """Take an event of the gateway."""
        with self._lock:
            match event:
                case ConversationState():
                    self._take_state(event)
                case CompactionTold():
                    self._take_compaction(event)
                case Outcome():
                    self._take_request(event)
                case SessionChanged():
                    self._note("", f"a session was changed by a request: {event.what}")
                case GatewayFault():
                    self._add(faults=1)
                    text = f"an error of the gateway ({event.fault}); the request went as it came"
                    self._note("", text, "bad", "fault")
                case _:
                    pass

    def look(self) -> LiveView:
        """Return all that is remembered."""
        calls = self._tools.take()
        with self._lock:
            self._entries.extend(calls)
            rows = [*reversed(self._rows.values())]
            found = replace(
                self._totals, entries=_newest(self._entries), notices=self._notices.list()
            )
        titled = [replace(one, title=self._title_of(one.session)) for one in rows]
        return replace(found, conversations=titled)

    def _take_state(self, event: ConversationState) -> None:
        was, who = self._row(event), event.agent or event.model
        if event.session:
            self._tools.mark(event.session, who)
        self._keep(
            replace(
                was,
                session=event.session,
                prompt_tokens=event.prompt_tokens,
                window_tokens=event.window_tokens,
                threshold_tokens=event.threshold_tokens,
                early_tokens=event.early_tokens,
                is_measured=event.is_measured,
                is_near=event.is_near,
                is_early=event.urgency == "early",
                answers_left=event.answers_left,
                summary=event.summary,
                compactions=event.compactions,
            )
        )
        if event.is_near and not was.is_near:
            said = near_words(event.prompt_tokens, event.threshold_tokens, event.answers_left)
            self._note(who, said, "warn")
            self._notices.add("A compaction is near", f"{who}: {said}")
        elif event.urgency == "early" and not was.is_early and not was.is_near:
            said = f"{short(event.prompt_tokens)} tokens: compacted from now on as soon as it pays"
            self._note(who, said)
            self._notices.add("A compaction may come", f"{who}: {said}")
        if event.summary and event.summary != was.summary:
            self._note(who, f"a summary for the next compaction is {event.summary}")

    def _take_compaction(self, event: CompactionTold) -> None:
        who, (said, tone) = event.agent or event.model, compaction_words(event)
        self._keep(replace(self._row(event), session=event.session, decision=said, tone=tone))
        kinds: dict[str, StepKind] = {"failed": "fault", "deferred": "note"}
        self._note(who, said, tone, kinds.get(event.result, "compaction"))
        if event.result == "done":
            self._add(compactions=1)
            self._notices.add("Compacted", f"{who}: {said}")
        elif event.result == "failed":
            self._notices.add("A compaction was not made", f"{who}: {said}")

    def _take_request(self, event: Outcome) -> None:
        if event.operation != "turn":
            return
        self._add(requests=1, cost=event.cost, saved=event.saved)
        said, is_bad = request_words(event), is_fault(event)
        tone, kind = ("bad", "fault") if is_bad else ("", "request")
        told = request_words(replace(event, cost=0.0))  # which has a column of its own
        self._note(event.agent or event.model, told, tone, kind, event.cost)
        if not event.conversation:
            return
        was = self._row(event)
        changes: dict[str, Any] = {"decision": said, "tone": "bad"} if is_bad else {}
        if was.tone == "bad" and not is_bad:
            changes = {"decision": "", "tone": ""}
        self._keep(
            replace(
                was,
                requests=was.requests + 1,
                cost=was.cost + event.cost,
                last=said,
                saved=was.saved + event.saved,
                **changes,
            )
        )

    def _row(self, event: ConversationState | CompactionTold | Outcome) -> LiveConversation:
        key = f"{event.conversation} {event.model}"
        return self._rows.get(key) or LiveConversation(
            key=key, agent=event.agent, model=event.model
        )

    def _keep(self, row: LiveConversation) -> None:
        self._rows[row.key] = replace(row, time=self._clock())
        self._rows.move_to_end(row.key)
        if len(self._rows) > MOST_CONVERSATIONS:
            self._rows.popitem(last=False)

    def _note(
        self, who: str, text: str, tone: Tone = "", kind: StepKind = "note", cost: float = 0.0
    ) -> None:
        self._entries.append(LiveEntry(self._clock(), who, text, tone, kind, cost))

    def _add(self, **more: float) -> None:
        was = {name: getattr(self._totals, name) + value for name, value in more.items()}
        self._totals = replace(self._totals, **was)


class LiveFiles:
    """The sessions that agents write to their files right now, as `foldaway watch` reads them."""

    def __init__(
        self,
        places: Sequence[Path],
        show: Show,
        name_of: Callable[[SpentSession], str],
        every_seconds: float = _LOOK_SECONDS,
    ) -> None:
        """Take the files and folders, what a title becomes before it is shown, and what names a
        session in addresses.
        """
        self._places, self._every = tuple(places), every_seconds
        self._lock, self._looked, self._view = threading.Lock(), 0.0, LiveView()
        self._rows = FileRows(show, name_of)

    def look(self) -> LiveView:
        """Return what runs; files are looked at again if the last look is some seconds ago."""
        with self._lock:
            if time.monotonic() - self._looked >= self._every:
                self._view = self._look_at_files(time.time())
                self._looked = time.monotonic()
            return self._view

    def _look_at_files(self, now: float) -> LiveView:
        rows = self._rows.read(
            file
            for file in SessionFile.newest(self._places)[:_MOST_FILES]
            if now - file.written_at() < _RUNNING_SECONDS
        )
        return LiveView(
            conversations=rows,
            entries=_newest([step for row in rows for step in row.steps]),
            notices=self._rows.notices.list(),
            requests=sum(row.requests for row in rows),
            cost=sum(row.cost for row in rows),
            compactions=sum(row.compactions for row in rows),
        )


class FileRows:
    """The rows of files; a file is read again when it was changed."""

    def __init__(self, show: Show, name_of: Callable[[SpentSession], str]) -> None:
        """Begin with no file read."""
        self._show, self._name_of, self._prices = show, name_of, PriceList()
        self._read: dict[SessionFile, tuple[float, LiveConversation | None]] = {}
        self.notices = Notices()

    def read(self, files: Iterable[SessionFile]) -> list[LiveConversation]:
        """Return the rows of these files, and forget those of others."""
        found = {file: self._row(file) for file in files}
        self._read = {file: self._read[file] for file in found if file in self._read}
        return [row for row in found.values() if row is not None]

    def _row(self, file: SessionFile) -> LiveConversation | None:
        changed = file.written_at()
        known = self._read.get(file)
        if known is not None and known[0] == changed:
            return known[1]
        was = known[1] if known else None
        try:
            found = file.read()
        except FoldawayError:  # half written; the next look finds it whole
            return was
        row = None if found is None else self._standing(found, changed)
        if row is not None and was is not None:
            self._compare(was, row)
        self._read[file] = (changed, row)
        return row

    def _standing(self, found: SpentSession, changed: float) -> LiveConversation:
        state = live_state(found, self._prices)
        due = state.compacts_at_tokens if found.compacts_itself else 0
        return LiveConversation(
            key=state.session,
            session=self._name_of(found),
            title=self._show(state.title),
            agent=state.agent,
            model=state.model,
            prompt_tokens=state.prompt_tokens,
            window_tokens=state.window_tokens,
            threshold_tokens=due,
            is_near=0 < PRESSURE * due < state.prompt_tokens,
            answers_left=state.answers_left if due else None,
            requests=state.requests,
            cost=state.cost or 0.0,
            compactions=state.compactions,
            last=_last_words(found, state),
            time=changed,
            steps=[*_steps(found, self._prices)],
        )

    def _compare(self, was: LiveConversation, now: LiveConversation) -> None:
        if now.is_near and not was.is_near:
            said = near_words(now.prompt_tokens, now.threshold_tokens, now.answers_left)
            self.notices.add("A compaction is near", f"{now.agent}: {said}")
        if now.compactions > was.compactions:
            said = f"{short(was.prompt_tokens)} → {short(now.prompt_tokens)} tokens"
            self.notices.add("Compacted", f"{now.agent} compacted by itself: {said}")


def _newest(entries: Iterable[LiveEntry]) -> tuple[LiveEntry, ...]:
    return tuple(sorted(entries, key=lambda one: one.time)[::-1][:MOST_ENTRIES])


def _steps(found: SpentSession, prices: PriceList) -> Iterator[LiveEntry]:
    """Yield the last requests of a file, and where its agent compacted by itself."""
    for one in found.answers[-_MOST_STEPS:]:
        when = one.time or found.started or 0.0
        if one.follows_compaction:
            yield LiveEntry(when, found.agent, "compacted by itself", "good", "compaction")
        said = _usage_words(one.input_tokens, one.cache_read_tokens, one.output_tokens)
        cost = prices.cost(one, is_total=one.is_total) or 0.0
        yield LiveEntry(when, found.agent, said, kind="request", cost=cost)


def _last_words(found: SpentSession, state: LiveState) -> str:
    if not state.prompt_tokens:
        return ""
    last = next(one for one in reversed(found.answers) if not one.is_total)
    return _usage_words(last.input_tokens, last.cache_read_tokens, last.output_tokens)


def near_words(tokens: int, threshold: int, answers: int | None) -> str:
    """Return how near a compaction is."""
    left = f", about {answers:,} more answer{'s' * (answers != 1)}" if answers else ""
    return f"{short(tokens)} of {short(threshold)} tokens{left} until a compaction is due"


def compaction_words(event: CompactionTold) -> tuple[str, Tone]:
    """Return what became of a compaction, and in which tone it is said."""
    match event.result:
        case "done":
            by = f", summary by {event.writer}" if event.writer not in ("", "none") else ""
            failed = f"; a summarizer failed: {event.failure}" if event.failure else ""
            size = f"{short(event.tokens_before)} → {short(event.tokens_after)} tokens"
            return f"compaction {event.number}: {size}{by}{failed}", "warn" if failed else "good"
        case "undone":
            return "a compaction came too late for its request and was taken back", "warn"
        case "deferred":
            return f"compaction put off: {event.detail.removeprefix('wait: ')}", ""
        case "failed":
            return f"no compaction ({event.reason}): {event.detail or event.failure}", "bad"


_NOTES = {
    "pass; nothing is due": "forwarded unchanged, nothing was due",
    "pass; deadline": "forwarded unchanged: deciding took too long",
    "pass; left alone after faults": "forwarded unchanged: left alone after errors",
    "answered; client compaction": "the agent's own compaction, answered by Foldaway",
}
_USUAL = ("pass; nothing is due", "pass; other request")


def is_fault(event: Outcome) -> bool:
    """Return whether a request was refused, or went out as it came because something failed."""
    return event.status >= 400 or (event.note.startswith("pass; ") and event.note not in _USUAL)


def request_words(event: Outcome) -> str:
    """Return what became of a request."""
    note = _NOTES.get(event.note) or event.note.replace("pass; ", "forwarded unchanged: ")
    if note.startswith("compacted "):
        note = "sent with its past compacted"
    if event.status >= 400:
        return f"the provider answered {event.status}; {note}"
    used = _usage_words(event.input_tokens, event.cache_read_tokens, event.output_tokens)
    paid = f", {money(event.cost)}" if event.cost else ""
    saved = f", {money(event.saved)} saved" if event.saved >= 0.005 else ""
    return f"{used}{paid}{saved}; {note}" if used else note


def _usage_words(prompt: int, read: int, output: int) -> str:
    if not prompt:
        return ""
    return f"{short(prompt)} tokens in, {read / prompt:.0%} cached, {short(output)} out"

"""One conversation that goes through a gateway: what to send for each request of it.

A request that nothing can change is not held up: it is sent as it came, and taken down after its
answer. As soon as something was compacted, or is about to be, the list is followed first. If that
takes too long or fails, the last view that was sent goes out again with what is new behind it.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar
from weakref import ref

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Policy, budget_for
from foldaway.caching import TTL_SECONDS, Ttl, known_prices, window_of
from foldaway.engine import Model
from foldaway.errors import FoldawayError
from foldaway.gateway.options import GatewayOptions
from foldaway.gateway.owners import find_stored
from foldaway.gateway.requests import Turn
from foldaway.gateway.states import Standings
from foldaway.gateway.windows import learn_windows, told_window, windows_in
from foldaway.sessions import Followed, LastView, Refusal, Session, SessionOptions, internals
from foldaway.stores import NewSession, SessionInfo, Store
from foldaway.transcript import Kept

T = TypeVar("T")

_BYTES_PER_TOKEN = 2
"""The fewest that a token of JSON text takes: so growth in bytes never hides growth in tokens."""
_FAULTS = 3
"""Faults in a row after which a conversation is left alone for a while."""
_PAUSE_SECONDS = 60.0
"""How long it is left alone; as long as a summarizer that failed."""
PATIENCE_SECONDS = 20.0
"""How long a request waits that cannot be sent as it came: it is too long for its provider, or its
thinking is bound to a view. Claude Code warns after that much silence."""
_LEASE_SECONDS = 0.05
"""How often it is looked whether somebody else's compaction has ended; chosen, a tenth of what one
takes."""
_IN_LINE = 8
"""How many of its deadlines a request waits at most, with the others that came before it: two
seconds for a small one, as long as models take to begin an answer."""
_RESERVED_SHARE = 4
"""Of a window, what is reserved for an answer at most (`engine/requests.py`)."""
_STORE_SECONDS = 2.0
"""How long the last view is looked for in the store; it takes milliseconds, unless a disk hangs."""
_SAFE = 0.85
"""The share of a window up to which a request is taken to fit, if the budget is not known yet."""
_HELD_BYTES, HELD_TIMES = 800_000, 4
"""What a conversation takes in memory: this much, and its request this many times. 256 of 4 MB took
3.6 GB, and 256 tiny ones 200 MB."""
_VIEWS = 4
"""Branches of a conversation whose last views are looked for, and kept in memory."""
_HOUR = b'"ttl":"1h"'
"""How clients ask for the longer of Anthropic's two caches, in JSON without spaces."""


class Outgoing(Struct, frozen=True):
    """What to send for a request."""

    note: str
    """What is said of it in the header `x-foldaway`."""
    body: bytes | None = None
    """None sends it as it came."""
    headers: Mapping[str, str] = {}
    """Headers that the provider needs for it, beside those of the client."""
    is_known: bool = True
    """Whether the conversation holds just what is sent; not if it was late."""
    fault: Exception | None = None
    """What went wrong with us, if that is why."""

    @classmethod
    def of(cls, followed: Followed) -> Outgoing:
        """Return the list that a session made of a request."""
        if not followed.is_changed:
            return cls("pass; nothing is due")
        note = f"compacted {followed.report.compaction_count}"
        return cls(note, followed.body, followed.headers)


class StoredConversations:
    """Opens conversations, and remembers what was sent for them. All of it is for threads."""

    def __init__(self, store: Store, options: GatewayOptions) -> None:
        """Take a store, which other gateways may share."""
        self._store, self.options = store, options

    def open(self, turn: Turn, window: int | None) -> tuple[Session, bool]:
        """Return the session of a request in a window, and whether any of its lineage may have been
        compacted.
        """
        options = self.options
        key, family = self._find(turn)
        session = Session(
            self._store,
            key,
            model=Model(
                turn.model,
                drops_stale_thinking=options.drops_stale_thinking,
                cache_ttl=_cache_ttl(turn),
                prices=known_prices(turn.model) or options.prices,
            ),
            policy=options.policy,
            context_length=window or options.context_length or told_window(self._store, turn.model),
            summarizer=options.summarizer,
            options=SessionOptions(
                background=options.summarizer is not None,
                clock=options.clock,
                new=NewSession(source=turn.agent, model=turn.model, cwd=options.folder),
            ),
        )
        # on a server another gateway may compact it at any time
        return session, options.is_shared or any(one.compactions for one in family)

    def free_bytes(self, turn: Turn, window: int | None) -> int:
        """Return below how many bytes nothing is due for a request: the model sees all of it as it
        came so far, and would not reach the least size at which anything is compacted.
        """
        policy, (_, family) = self.options.policy or Policy(), self._find(turn)
        if policy.follow_arrival != "off" or any(one.compactions for one in family):
            return 0
        length = window or self.window(turn.model)
        least = budget_for(policy, length, output_tokens=length // _RESERVED_SHARE)
        return least.early_tokens * _BYTES_PER_TOKEN

    def last_views(self, turn: Turn) -> Sequence[LastView]:
        """Return how the lists of a conversation were sent, the newest first."""
        _, family = self._find(turn)
        newest = sorted((one for one in family if one.view), key=lambda one: -one.updated)
        kept = (self._store.sent(one.id) for one in newest[:_VIEWS])
        return [found for data in kept if data and (found := LastView.unpack(data)) is not None]

    def _find(self, turn: Turn) -> tuple[str, Sequence[SessionInfo]]:
        """Return the key under which the conversation of a request is, and its lineage."""
        key, known = find_stored(self._store, turn.key, turn.owner, turn.agent, turn.body)
        return key, self._store.lineage(known.root_id) if known else ()

    def window(self, model: str) -> int:
        """Return the window of a model, as far as it is known."""
        return window_of(model, self.options.context_length or told_window(self._store, model))[0]

    def learn_window(self, model: str, tokens: int) -> None:
        """Keep a window that its provider named when it refused a request."""
        learn_windows(self._store, {model: tokens}, "refused")

    def learn_list(self, models: bytes) -> None:
        """Keep what a provider's list of models says of their windows."""
        learn_windows(self._store, windows_in(models), "listed")


class Threads:
    """The threads of all conversations: those for work that a client waits for, and half as many
    for the rest, which therefore holds up nobody.
    """

    def __init__(self, most: int) -> None:
        """Take how many pieces of work for clients are done at a time."""
        self.awaited = ThreadPoolExecutor(most, thread_name_prefix="foldaway")
        self.behind = ThreadPoolExecutor(max(most // 2, 1), thread_name_prefix="foldaway-behind")
        self._most, self.pieces = most, 0

    @property
    def share(self) -> int:
        """Among how many pieces of work one has to share its interpreter."""
        return min(max(self.pieces, 1), self._most)

    def close(self) -> None:
        """Wait for what is being done."""
        self.awaited.shutdown(wait=True)
        self.behind.shutdown(wait=True)


class Worker:
    """Does the work of one conversation in threads, one piece after the other. After some faults in
    a row it is left alone for a while.
    """

    def __init__(self, threads: Threads, forget: Callable[[], None]) -> None:
        """Take the threads of all conversations, and what is called after a fault."""
        self._threads, self._forget, self._lock = threads, forget, asyncio.Lock()
        self._faults, self._left_alone = 0, 0.0

    @property
    def is_left_alone(self) -> bool:
        """Whether it failed too often lately."""
        return time.monotonic() < self._left_alone

    @property
    def share(self) -> int:
        """Among how many pieces of work one has to share its interpreter."""
        return self._threads.share

    async def run(self, work: Callable[[], T], *, is_awaited: bool = True) -> T:
        """Return what work in a thread returns. If the caller is cancelled, the lock is released
        only when the thread is done.
        """
        pool = self._threads.awaited if is_awaited else self._threads.behind
        running = asyncio.ensure_future(self._run_alone(work, pool))
        running.add_done_callback(_take_error)
        return await asyncio.shield(running)

    async def _run_alone(self, work: Callable[[], T], pool: ThreadPoolExecutor) -> T:
        async with self._lock:
            self._threads.pieces += 1
            try:
                done = await asyncio.get_running_loop().run_in_executor(pool, work)
            except Exception:
                self._faults += 1
                self._forget()
                if self._faults >= _FAULTS:
                    self._left_alone, self._faults = time.monotonic() + _PAUSE_SECONDS, 0
                raise
            finally:
                self._threads.pieces -= 1
            self._faults = 0
            return done


class Room:
    """What may come before anything can change a request: while that is so, requests pass."""

    def __init__(self) -> None:
        """Begin with a conversation of which nothing is known."""
        self.request_bytes, self._free_bytes = 0, 0
        self._warm_until = 0.0
        self.is_compacted = False
        """Whether anything was compacted, also in another branch: a branch that was not compacted
        says nothing about the next request, so nothing ever passes again."""

    def allows(self, turn: Turn, now: Callable[[], float]) -> bool:
        """Return whether a request is so little longer than the last one that nothing is due."""
        is_small = len(turn.body) - self.request_bytes < self._free_bytes
        return is_small and not self.is_compacted and now() < self._warm_until

    def begin(self, free_bytes: int) -> None:
        """Begin with a conversation that is not open, in which a request may have that many."""
        self.request_bytes, self._free_bytes, self._warm_until = 0, free_bytes, math.inf

    def note(self, session: Session, turn: Turn, now: Callable[[], float]) -> None:
        """Note where a conversation is after a request."""
        engine, self.request_bytes = internals(session).engine, len(turn.body)
        self.is_compacted |= any(not isinstance(item, Kept) for item in engine.view.items)
        self.is_compacted |= (
            engine.conversation.arriving.level != "off"
        )  # results are shown otherwise at once
        tokens = engine.decide().room_tokens
        self._free_bytes = tokens * _BYTES_PER_TOKEN
        # without room a cold cache is a time to compact
        self._warm_until = math.inf if tokens else now() + TTL_SECONDS[_cache_ttl(turn)]

    def forget(self) -> None:
        """Let nothing pass until more is known, not even what is shorter than the last request."""
        self.request_bytes = self._free_bytes = 0


class Fit:
    """What is known of the sizes that the provider of a conversation takes."""

    def __init__(self) -> None:
        """Begin with a provider that answered nothing yet."""
        self.named_window: int | None = None
        """The window that a refusal named, or that was found by refusals."""
        self.effective_window = 0
        self._accepted_bytes, self._tokens_per_byte = 0, 1 / _BYTES_PER_TOKEN

    def note_answer(self, sent_bytes: int) -> None:
        """Note that a request of that many bytes was answered."""
        self._accepted_bytes = max(self._accepted_bytes, sent_bytes)

    def note_count(self, session: Session, sent_bytes: int) -> None:
        """Note how many tokens the provider counted for that many bytes."""
        counted = session.store.usage(session.id, last=1)
        if sent_bytes and counted and counted[-1].input_tokens:
            self._tokens_per_byte = counted[-1].input_tokens / sent_bytes

    def has_accepted(self, size: int) -> bool:
        """Return whether a request of that many bytes was answered before."""
        return size <= self._accepted_bytes

    def takes(self, size: int, room_tokens: float) -> bool:
        """Return whether a request is known to fit; without a budget, in a room of that many
        tokens.
        """
        room = self.effective_window or room_tokens
        return self.has_accepted(size) or size * self._tokens_per_byte < room


class SentViews:
    """How the lists of a conversation were sent last, by branch."""

    def __init__(self) -> None:
        """Begin with nothing sent."""
        self._views: OrderedDict[str, LastView | None] = OrderedDict()

    def keep(self, session: Session) -> None:
        """Keep how the list of a branch was sent."""
        follower = internals(session).follower
        self._views[session.id] = follower.last_view or self._views.get(session.id)
        self._views.move_to_end(session.id)
        if len(self._views) > _VIEWS:
            self._views.popitem(last=False)
        follower.save_last_view()

    def drop(self, session_id: str) -> bool:
        """Forget what was sent for a branch; return whether it is one of this conversation."""
        return self._views.pop(session_id, self) is not self

    def newest_first(self) -> list[LastView]:
        """Return what was sent."""
        return [one for one in reversed(self._views.values()) if one is not None]


class Conversation:
    """One conversation of one model, followed one request at a time."""

    def __init__(self, stored: StoredConversations, threads: Threads, standings: Standings) -> None:
        """Take what opens it, and what is told how it goes on."""
        self._stored, self._standings = stored, standings
        self._worker = Worker(threads, self._forget)
        self._room, self.fit, self._views = Room(), Fit(), SentViews()
        self._session: Session | None = None
        self._last: Callable[[], Turn | None] = _nobody

    @property
    def held_bytes(self) -> int:
        """About how much memory it takes."""
        return _HELD_BYTES + HELD_TIMES * (
            self._room.request_bytes if self._session is not None else 0
        )

    def is_passing(self, turn: Turn) -> bool:
        """Return whether nothing can change a request: nothing was compacted, nothing is due."""
        is_begin = self._session is None and turn.is_first
        return is_begin or self._room.allows(turn, self._stored.options.clock)

    def look_again(self, session_id: str) -> None:
        """Let nothing pass any more if it is this session that was changed by somebody else, and
        forget what was sent for it: words may have been erased.
        """
        self._room.is_compacted |= self._views.drop(session_id)
        if self._session is None:  # a small request passed before it was known whose it is
            self._room.forget()

    async def prepare(self, turn: Turn, seconds: float) -> Outgoing:
        """Return what to send for a request; without the engine if that takes longer, or fails.

        Only what is not known to fit waits for the engine up to its patience.
        """
        if self.is_passing(turn):
            return Outgoing("pass; nothing is due")
        if self._worker.is_left_alone:
            return (await self._without_engine(turn, "left alone after faults"))[0]
        claim, begun, loop = threading.Lock(), asyncio.Event(), asyncio.get_running_loop()

        def follow() -> Followed | None:
            loop.call_soon_threadsafe(begun.set)
            return self._follow(turn, claim)

        following = asyncio.ensure_future(self._worker.run(follow))
        following.add_done_callback(lambda _: begun.set())
        # what an answer is bound to cannot be changed behind it
        seconds = PATIENCE_SECONDS if turn.binds else seconds
        with suppress(TimeoutError):
            async with asyncio.timeout(min(_IN_LINE * seconds, PATIENCE_SECONDS)):
                await begun.wait()
                await asyncio.wait((following,), timeout=seconds * self._worker.share)
        if not following.done():
            late, fits = await self._without_engine(turn, "deadline")
            if not fits:
                await asyncio.wait((following,), timeout=PATIENCE_SECONDS)
            if not following.done() and claim.acquire(blocking=False):
                following.add_done_callback(_take_error)
                return late
        try:
            followed = await following
        except Exception as error:  # noqa: BLE001 a fault of ours; the relay notes it
            late, _ = await self._without_engine(turn, type(error).__name__)
            return replace(late, fault=error)
        return Outgoing.of(followed) if followed else Outgoing("pass; nothing is due")

    async def _without_engine(self, turn: Turn, why: str) -> tuple[Outgoing, bool]:
        """Return the last view with what is new behind it, or what came if there is no such view,
        and whether that is known to fit. No lock is waited for.
        """
        held = self._views.newest_first()
        made = None if self._stored.options.is_shared else _splice(held, turn, why)
        room = 0.0
        if made is None:
            looking = asyncio.to_thread(self._look_up, turn)
            with suppress(TimeoutError, FoldawayError, OSError):
                held, room = await asyncio.wait_for(looking, _STORE_SECONDS)
            made = _splice(held, turn, why)
        made = made or Outgoing(f"pass; {why}", is_known=False)
        size = len(turn.body if made.body is None else made.body)
        return made, self.fit.takes(size, room)

    async def prepare_count(self, turn: Turn, seconds: float) -> Outgoing | None:
        """Return what would be sent for a request that is only to be counted; nothing is kept.

        None if it would be sent as it is.
        """
        if self._session is None or self.is_passing(turn):
            return None
        try:
            looking = self._worker.run(
                lambda: internals(self._open_session(turn)).follower.preview(request=turn.body)
            )
            followed = await asyncio.wait_for(looking, seconds)
        except TimeoutError:
            return (await self._without_engine(turn, "deadline"))[0]
        return Outgoing.of(followed) if followed.is_changed else None

    async def take_down(self, turn: Turn, usage: Mapping[str, object], sent_bytes: int) -> None:
        """Keep what a request held and what its answer cost; compact now if that is due, so that
        the next request need not wait for it, unless the answer is bound to what was sent.
        `sent_bytes` were sent for it, if the answer says what they cost.
        """
        self.fit.note_answer(sent_bytes)
        await self._worker.run(lambda: self._take_down(turn, usage, sent_bytes), is_awaited=False)

    async def shrink(self, turn: Turn, refusal: Refusal, refused_bytes: int) -> Outgoing | None:
        """Return less to send for a request that was refused as too big, None if there is no less.

        If something longer than the view was refused, that is the view, and nothing is learned.
        Otherwise the window that the refusal names holds from now on, or half of what was sent,
        but never less than what the provider accepted before.
        """
        followed = await self._worker.run(lambda: self._shrink(turn, refusal, refused_bytes))
        return None if followed is None or not followed.is_changed else Outgoing.of(followed)

    async def record(
        self, turn: Turn, *, request: bytes | None = None, text: str = "", is_named: bool = False
    ) -> str:
        """Return all that is known of a client's list in one text, "" if it is not of this one."""
        if self._worker.is_left_alone:
            return ""

        def find() -> str:
            if request is None and self._session is None and not is_named:
                return ""  # looked at here: the request before may still be being taken down
            follower = internals(self._open_session(turn)).follower
            return follower.record(request=request, text=text, is_named=is_named)

        return await self._worker.run(find)

    async def let_go(self) -> None:
        """Give its memory back; it is taken up from the store when it goes on."""
        await self._worker.run(self._forget, is_awaited=False)

    def _forget(self) -> None:
        self._session, self._last = None, _nobody
        self._room.forget()

    # In a thread

    def _is_small(self, turn: Turn) -> bool:
        """Return whether nothing can be due for a request, before its conversation is opened."""
        self._room.begin(self._stored.free_bytes(turn, self.fit.named_window))
        is_small = self._room.allows(turn, self._stored.options.clock)
        if self._stored.options.is_shared:
            self._room.forget()  # another gateway may compact it until the next one
        return is_small

    def _open_session(self, turn: Turn) -> Session:
        if self._session is None:
            self._session, was_compacted = self._stored.open(turn, self.fit.named_window)
            self._room.is_compacted |= was_compacted
        return self._session

    def _follow(self, turn: Turn, claim: threading.Lock) -> Followed | None:
        if self._session is None and self._is_small(turn):
            return None
        session = self._open_session(turn)
        followed = session.follow(request=turn.body)
        ends = time.monotonic() + PATIENCE_SECONDS
        while self._waits_for_others(followed) and time.monotonic() < ends:
            time.sleep(_LEASE_SECONDS)  # another process compacts it: nothing here can be awaited
            followed = session.follow(request=turn.body, when="due")
        is_late = not claim.acquire(blocking=False)
        if is_late and turn.binds and followed.report.status == "compacted":
            session.undo()
            session.follow(request=turn.body, when="never")
        self._note(session, turn)
        return followed

    def _waits_for_others(self, followed: Followed) -> bool:
        """Return whether somebody else is compacting what is not known to fit without it."""
        is_running = followed.report.reason == "already running"
        return is_running and not self.fit.takes(len(followed.body), 0)

    def _catch_up(self, turn: Turn) -> Session:
        """Return the session with the list of a request."""
        session = self._open_session(turn)
        if self._last() is not turn:  # it passed, or another branch asked after it
            session.follow(request=turn.body, when="never")
        return session

    def _take_down(self, turn: Turn, usage: Mapping[str, object], sent_bytes: int) -> None:
        session = self._catch_up(turn)
        if usage:
            session.used(usage)
            self.fit.note_count(session, sent_bytes)
        if not turn.binds and session.compact().status == "compacted":
            session.follow(request=turn.body, when="never")  # else the next one would wait for it
        self._note(session, turn)

    def _shrink(self, turn: Turn, refusal: Refusal, refused_bytes: int) -> Followed | None:
        session = self._open_session(turn)
        followed = session.follow(request=turn.body, when="never")
        if refusal.is_met_by(len(followed.body), refused_bytes):
            return followed
        try:
            is_smaller = session.recover(refusal)
            followed = session.follow(request=turn.body, when="never")
        except FoldawayError:
            return None
        self.fit.named_window = window = internals(session).engine.settings.context_length
        if window == refusal.limit:
            self._stored.learn_window(turn.model, window)
        self._note(session, turn)
        return followed if is_smaller else None

    def _note(self, session: Session, turn: Turn) -> None:
        """Note where the conversation is after a request, and tell it."""
        self._last = ref(turn)
        self._views.keep(session)
        self._room.note(session, turn, self._stored.options.clock)
        self.fit.effective_window = internals(session).engine.settings.budget.effective_window
        self._standings.tell(session, turn)

    def _look_up(self, turn: Turn) -> tuple[Sequence[LastView], float]:
        """Return what the store has of a conversation that is not open."""
        return self._stored.last_views(turn), self._stored.window(turn.model) * _SAFE


def _nobody() -> None:
    return None


def _splice(views: Sequence[LastView], turn: Turn, why: str) -> Outgoing | None:
    for view in views:
        if (made := view.splice(turn.body)) is not None:
            return Outgoing(f"last view; {why}", made, view.headers, is_known=False)
    return None


def _take_error(task: asyncio.Future[T]) -> None:
    """Look at what a task raised: nobody waits for it any more."""
    if not task.cancelled():
        task.exception()


def _cache_ttl(turn: Turn) -> Ttl:
    """Return how long the provider keeps what a request marks, as the client asks for it."""
    return "1h" if _HOUR in turn.body else "5m"

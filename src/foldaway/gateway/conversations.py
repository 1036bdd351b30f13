"""The conversations that go through a gateway: what to send for each request of theirs.

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
from functools import partial
from typing import Any, TypeAlias, TypeVar
from weakref import ref

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Policy
from foldaway.caching import TTL_SECONDS, Prices, Ttl, known_prices, window_of
from foldaway.engine import Clock, Model
from foldaway.errors import FoldawayError
from foldaway.gateway.identity import find_owner
from foldaway.gateway.owners import Owners, derive_stored_key
from foldaway.gateway.requests import Turn
from foldaway.gateway.states import Publish, Standings
from foldaway.gateway.windows import Windows, windows_in
from foldaway.sessions import (
    SMALLER,
    Followed,
    LastView,
    Pool,
    Refusal,
    Session,
    find_by_key,
    unpack_last_view,
)
from foldaway.stores import NewSession, Store
from foldaway.summarizers import Writers
from foldaway.transcript import Kept

T = TypeVar("T")
Opened: TypeAlias = Callable[[Turn, int | None], tuple[Session, bool]]
"""Opens the conversation of a request in a window; also returns whether any of it was compacted."""

_BYTES_PER_TOKEN = 2
"""The fewest that a token of JSON text takes: so growth in bytes never hides growth in tokens."""
_FAULTS = 3
"""Faults in a row after which a conversation is left alone for a while."""
_PAUSE_SECONDS = 60.0
"""How long it is left alone; as long as a summarizer that failed."""
_HOUR = b'"ttl":"1h"'
"""How clients ask for the longer of Anthropic's two caches, in JSON without spaces."""
PATIENCE_SECONDS = 20.0
"""How long a request waits that cannot be sent as it came: it is too long for its provider, or its
thinking is bound to a view. Claude Code warns after that much silence."""
_STORE_SECONDS = 2.0
"""How long the last view is looked for in the store; it takes milliseconds, unless a disk hangs."""
_VIEWS = 4
"""Branches of a conversation whose last views are kept in memory."""
_SAFE = 0.85
"""The share of a window up to which a request is taken to fit, if the budget is not known yet."""
_HELD_BYTES, _HELD_TIMES = 800_000, 4
"""What a conversation takes in memory: this much, and its request this many times. 256 of 4 MB took
3.6 GB, and 256 tiny ones 200 MB."""
_MOST_HELD = 0.25
"""The share of all memory for conversations that one of them may keep: about 16 MB of requests."""
_SMALL, _LARGE = 200_000, 4_000_000
"""Bytes of the requests that the two deadlines are for; those between have one between."""


class GatewayOptions(Struct, frozen=True, kw_only=True):
    """How a gateway treats the conversations that pass."""

    context_length: int | None = None
    """The window of every model, if the settings give one; by default that of its name."""
    policy: Policy | None = None
    prices: Prices | None = None
    """What models cost whose list prices are not known."""
    summarizer: Writers | None = None
    drops_stale_thinking: bool = False
    """Whether the account has the provider drop thinking that is bound to what was folded."""
    answers_compactions: bool = False
    """Whether a client that compacts by itself gets its summary from here."""
    folder: str = ""
    """Where the agent works, if that is known: its sessions belong to that project."""
    refuses_websockets: bool = False
    """Whether clients that ask for a WebSocket are told to use HTTP: only that can be compacted."""
    upstreams: Mapping[str, str] = {}
    """Addresses of providers: by the name of a wire, by the beginning of a path, or "" for all."""
    is_shared: bool = False
    """Whether other gateways work on the same store."""
    token: str = ""
    """What clients must send in `x-foldaway-token`; "" asks for none."""
    hosts: tuple[str, ...] = ()
    """Names under which other machines may call."""
    most_bytes: int = 64 << 20
    """Of one request; the providers take 32 MB."""
    held_bytes: int = 256 << 20
    """Of memory for the conversations that are held open; those that were quiet for longest are
    taken up from the store when they go on."""
    deadlines: tuple[float, float] = (0.25, 2.0)
    """Seconds that a request of 200 KB, and one of 4 MB, may be held up: what an agent does not
    notice beside the model's own time."""
    head_seconds: float = 30.0
    """For the head of a request: agents send it at once. nginx gives it 60, Apache 20 to 40."""
    body_seconds: float = 60.0
    """In which a body must go on by 4 KB: it may come through a phone's network."""
    clock: Clock = time.time
    ping_seconds: float = 10.0
    """Of silence in a stream, after which it is kept open; Claude Code warns after 20."""
    workers: int = 4
    """Threads that follow and compact; the event loop only passes bytes on."""


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


class Remembered(Struct, frozen=True):
    """What a conversation asks that is not open. In a thread."""

    last_views: Callable[[Turn], Sequence[LastView]]
    """How the store says that its lists were sent, the newest first."""
    window: Callable[[], int]
    learn: Callable[[int], None]
    """Keeps a window that its provider named."""


class Conversation:
    """One conversation of one model, followed one request at a time."""

    def __init__(
        self,
        open_session: Opened,
        pool: ThreadPoolExecutor,
        clock: Clock = time.time,
        remembered: Remembered | None = None,
        standings: Standings | None = None,
        is_shared: bool = False,
    ):
        self._open, self._pool, self._clock = open_session, pool, clock
        self._remembered, self._standings, self._is_shared = remembered, standings, is_shared
        self._views: OrderedDict[str, LastView] = OrderedDict()
        self._accepted_bytes, self._tokens_per_byte = 0, 1 / _BYTES_PER_TOKEN
        self._session: Session | None = None
        self._session_id = ""
        self._window: int | None = None
        self._lock = asyncio.Lock()
        self._last: Callable[[], Turn | None] = _nobody
        self._size, self._room, self._effective_window = 0, 0, 0
        self._warm_until = 0.0
        self._is_compacted = False
        self._faults, self._left_alone = 0, 0.0

    @property
    def held_bytes(self) -> int:
        """About how much memory it takes."""
        return _HELD_BYTES + _HELD_TIMES * (self._size if self._session is not None else 0)

    @property
    def is_left_alone(self) -> bool:
        """Whether it failed too often lately."""
        return time.monotonic() < self._left_alone

    def is_passing(self, turn: Turn) -> bool:
        """Return whether nothing can change a request: nothing was compacted, nothing is due."""
        if self._session is None:
            return turn.is_first
        is_small = len(turn.body) - self._size < self._room
        return is_small and not self._is_compacted and self._clock() < self._warm_until

    def look_again(self, session_id: str) -> None:
        """Let nothing pass any more if it is this session that was changed by somebody else, and
        forget what was sent for it: words may have been erased.
        """
        if self._views.pop(session_id, None) or session_id == self._session_id:
            self._is_compacted = True

    async def prepare(self, turn: Turn, seconds: float) -> Outgoing:
        """Return what to send for a request; without the engine if that takes longer, or fails.

        Only what is not known to fit waits for the engine up to its patience.
        """
        if self.is_passing(turn):
            return Outgoing("pass; nothing is due")
        if self.is_left_alone:
            return (await self._without_engine(turn, "left alone after faults"))[0]
        claim = threading.Lock()
        following = asyncio.ensure_future(self._run(lambda: self._follow(turn, claim)))
        # what an answer is bound to cannot be changed behind it
        await asyncio.wait((following,), timeout=PATIENCE_SECONDS if turn.binds else seconds)
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
        return _make_outgoing(followed) if followed.is_changed else Outgoing("pass; nothing is due")

    async def _without_engine(self, turn: Turn, why: str) -> tuple[Outgoing, bool]:
        """Return the last view with what is new behind it, or what came if there is no such view,
        and whether that is known to fit. No lock is waited for.
        """
        held = list(reversed(self._views.values()))
        made = None if self._is_shared else _splice(held, turn, why)
        room = 0.0
        if made is None and self._remembered is not None:
            looking = asyncio.to_thread(_look_up, self._remembered, turn)
            try:
                stored, room = await asyncio.wait_for(looking, _STORE_SECONDS)
            except (TimeoutError, FoldawayError, OSError):
                stored = held
            made = _splice(stored, turn, why)
        made = made or Outgoing(f"pass; {why}", is_known=False)
        size = len(turn.body if made.body is None else made.body)
        room = self._effective_window or room
        return made, self.has_accepted(size) or size * self._tokens_per_byte < room

    def has_accepted(self, size: int) -> bool:
        """Return whether its provider answered a request of that many bytes before."""
        return size <= self._accepted_bytes

    async def prepare_count(self, turn: Turn, seconds: float) -> Outgoing | None:
        """Return what would be sent for a request that is only to be counted; nothing is kept.

        None if it would be sent as it is.
        """
        if self._session is None or self.is_passing(turn):
            return None
        try:
            looking = self._run(lambda: self._open_session(turn).preview(request=turn.body))
            followed = await asyncio.wait_for(looking, seconds)
        except TimeoutError:
            return (await self._without_engine(turn, "deadline"))[0]
        return _make_outgoing(followed) if followed.is_changed else None

    async def take_down(self, turn: Turn, usage: Mapping[str, Any], *, sent_bytes: int = 0) -> None:
        """Keep what a request held and what its answer cost; compact now if that is due, so that
        the next request need not wait for it, unless the answer is bound to what was sent.
        `sent_bytes` were sent for it, if the answer says what they cost.
        """
        self._accepted_bytes = max(self._accepted_bytes, sent_bytes)
        await self._run(lambda: self._take_down(turn, usage, sent_bytes))

    async def shrink(self, turn: Turn, refusal: Refusal, refused_bytes: int) -> Outgoing | None:
        """Return less to send for a request that was refused as too big, None if there is no less.

        If something longer than the view was refused, that is the view, and nothing is learned.
        Otherwise the window that the refusal names holds from now on, or half of what was sent,
        but never less than what the provider accepted before.
        """
        followed = await self._run(lambda: self._shrink(turn, refusal, refused_bytes))
        return None if followed is None or not followed.is_changed else _make_outgoing(followed)

    async def record(
        self, turn: Turn, *, request: bytes | None = None, text: str = "", is_named: bool = False
    ) -> str:
        """Return all that is known of a client's list in one text, "" if it is not of this one."""
        if self.is_left_alone or (request is None and self._session is None and not is_named):
            return ""
        return await self._run(
            lambda: self._open_session(turn).record(request=request, text=text, is_named=is_named)
        )

    async def _run(self, work: Callable[[], T]) -> T:
        """Return what work in a thread returns. If the caller is cancelled, the lock is released
        only when the thread is done.
        """
        running = asyncio.ensure_future(self._run_alone(work))
        running.add_done_callback(_take_error)
        return await asyncio.shield(running)

    async def _run_alone(self, work: Callable[[], T]) -> T:
        async with self._lock:
            try:
                done = await asyncio.get_running_loop().run_in_executor(self._pool, work)
            except Exception:
                self._faults += 1
                self._forget()
                if self._faults >= _FAULTS:
                    self._left_alone, self._faults = time.monotonic() + _PAUSE_SECONDS, 0
                raise
            self._faults = 0
            return done

    async def let_go(self) -> None:
        """Give its memory back; it is taken up from the store when it goes on."""
        await self._run(self._forget)

    def _forget(self) -> None:
        self._session, self._last, self._room = None, _nobody, 0

    # In a thread

    def _open_session(self, turn: Turn) -> Session:
        if self._session is None:
            self._session, was_compacted = self._open(turn, self._window)
            self._is_compacted |= was_compacted
        return self._session

    def _follow(self, turn: Turn, claim: threading.Lock) -> Followed:
        session = self._open_session(turn)
        followed = session.follow(request=turn.body)
        is_late = not claim.acquire(blocking=False)
        if is_late and turn.binds and followed.report.status == "compacted":
            session.undo()
            session.follow(request=turn.body, when="never")
        self._note_room(session, turn)
        return followed

    def _catch_up(self, turn: Turn) -> Session:
        """Return the session with the list of a request."""
        session = self._open_session(turn)
        if self._last() is not turn:  # it passed, or another branch asked after it
            session.follow(request=turn.body, when="never")
        return session

    def _take_down(self, turn: Turn, usage: Mapping[str, Any], sent_bytes: int) -> None:
        session = self._catch_up(turn)
        if usage:
            session.used(usage)
            counted = session.store.usage(session.id, last=1)
            if sent_bytes and counted and counted[-1].input_tokens:
                self._tokens_per_byte = counted[-1].input_tokens / sent_bytes
        if not turn.binds and session.compact().status == "compacted":
            session.follow(request=turn.body, when="never")  # else the next one would wait for it
        self._note_room(session, turn)

    def _note_room(self, session: Session, turn: Turn) -> None:
        """Note how much may come before anything can be due.

        Nothing ever passes again if something was compacted, also in another branch: a branch that
        was not compacted says nothing about the next request.
        """
        self._last, self._size, engine = ref(turn), len(turn.body), session.engine
        self._session_id = session.id
        if session.last_view is not None:
            self._views[session.id] = session.last_view
            self._views.move_to_end(session.id)
            if len(self._views) > _VIEWS:
                self._views.popitem(last=False)
        session.save_last_view()
        self._is_compacted |= any(not isinstance(item, Kept) for item in engine.view.items)
        self._is_compacted |= engine.arriving.level != "off"  # results are shown otherwise at once
        room = engine.decide().room_tokens
        self._room = room * _BYTES_PER_TOKEN
        self._effective_window = engine.settings.budget.effective_window
        # without room a cold cache is a time to compact
        self._warm_until = math.inf if room else self._clock() + TTL_SECONDS[_ttl(turn)]
        if self._standings is not None:
            self._standings.tell(session, turn)

    def _shrink(self, turn: Turn, refusal: Refusal, refused_bytes: int) -> Followed | None:
        session = self._open_session(turn)
        followed = session.follow(request=turn.body, when="never")
        if len(followed.body) < SMALLER * refused_bytes:
            return followed
        try:
            is_smaller = session.recover(refusal)
            followed = session.follow(request=turn.body, when="never")
        except FoldawayError:
            return None
        self._window = session.engine.settings.context_length
        if self._window == refusal.limit and self._remembered is not None:
            self._remembered.learn(self._window)
        self._note_room(session, turn)
        return followed if is_smaller else None


class Conversations:
    """All conversations of a gateway; those that were quiet for longest are let go of."""

    def __init__(
        self, store: Store, options: GatewayOptions, publish: Publish = lambda event: None
    ) -> None:
        """Take a store, which other gateways may share; `publish` hears what is decided."""
        self._store, self._options, self._windows = store, options, Windows(store)
        self._publish = publish
        self.owners = Owners(store, is_shared=bool(options.token or options.hosts))
        self._pool = ThreadPoolExecutor(options.workers, thread_name_prefix="foldaway")
        self._held = Pool[tuple[str, str], Conversation](
            options.held_bytes, lambda one: one.held_bytes
        )

    def of(self, turn: Turn) -> Conversation:
        """Return the conversation of a request; those that were quiet for longest are let go of
        until the others have room beside it.
        """
        make = partial(self._begin, turn)
        return self._held.take((turn.key, turn.model), make, beside=len(turn.body) * _HELD_TIMES)

    def _begin(self, turn: Turn) -> Conversation:
        model = turn.model
        remembered = Remembered(
            self._last_views, partial(self._window, model), partial(self._learn, model)
        )
        return Conversation(
            self._open, self._pool, self._options.clock, remembered,
            Standings(self._publish, turn.key, turn.agent, model), self._options.is_shared,
        )  # fmt: skip

    async def take_down(self, turn: Turn, usage: Mapping[str, Any], sent_bytes: int) -> None:
        """Keep what a request held and what its answer cost. A conversation that takes much of the
        memory alone, which only images do, does not stay open between its requests.
        """
        one = self.of(turn)
        await one.take_down(turn, usage, sent_bytes=sent_bytes)
        if one.held_bytes > _MOST_HELD * self._options.held_bytes:
            await one.let_go()

    def list_recent(self, wire: str, owner: str) -> list[Conversation]:
        """Return the conversations of a wire that an owner has here, the one that went on last
        first.
        """
        return [one for (key, _), one in self._held.newest_first()
                if key.startswith(f"{wire}:") and find_owner(key) == owner]  # fmt: skip

    def key_of(self, turn: Turn) -> str:
        """Return the key under which the conversation of a request is stored. In a thread."""
        return derive_stored_key(self._store, turn.key, turn.owner, turn.agent, turn.body)

    def _last_views(self, turn: Turn) -> Sequence[LastView]:
        known = find_by_key(self._store, self.key_of(turn), turn.agent)
        family = self._store.lineage(known.root_id) if known else ()
        newest = sorted((one for one in family if one.view), key=lambda one: -one.updated)
        held = (self._store.sent(one.id) for one in newest[:_VIEWS])
        return [found for data in held if data and (found := unpack_last_view(data)) is not None]

    def _window(self, model: str) -> int:
        return window_of(model, self._options.context_length or self._windows.of(model))[0]

    def _learn(self, model: str, tokens: int) -> None:
        self._windows.learn({model: tokens}, "refused")

    def _open(self, turn: Turn, window: int | None) -> tuple[Session, bool]:
        options = self._options
        key = self.key_of(turn)
        known = find_by_key(self._store, key, turn.agent)
        family = self._store.lineage(known.root_id) if known else ()
        model = Model(
            turn.model, drops_stale_thinking=options.drops_stale_thinking, cache_ttl=_ttl(turn),
            prices=known_prices(turn.model) or options.prices,
        )  # fmt: skip
        session = Session(
            self._store, key,
            model=model, policy=options.policy,
            context_length=window or options.context_length or self._windows.of(turn.model),
            summarizer=options.summarizer, background=options.summarizer is not None,
            clock=options.clock,
            new=NewSession(
                dialect="", source=turn.agent, model=turn.model, cwd=options.folder
            ),
        )  # fmt: skip
        # on a server another gateway may compact it at any time
        return session, options.is_shared or any(one.compactions for one in family)

    async def learn_windows(self, models: bytes) -> None:
        """Keep what a provider's list of models says of their windows."""
        if found := windows_in(models):
            keep = partial(self._windows.learn, found, "listed")
            await asyncio.get_running_loop().run_in_executor(self._pool, keep)

    def look_again(self, session_id: str) -> None:
        """Have a conversation follow its list first from now on: somebody changed its session."""
        for _, one in self._held.newest_first():
            one.look_again(session_id)

    def close(self) -> None:
        """Wait for what is being written."""
        self._pool.shutdown(wait=True)


def _look_up(remembered: Remembered, turn: Turn) -> tuple[Sequence[LastView], float]:
    return remembered.last_views(turn), remembered.window() * _SAFE


def _nobody() -> None:
    return None


def _splice(views: Sequence[LastView], turn: Turn, why: str) -> Outgoing | None:
    for view in views:
        if (made := view.splice(turn.body)) is not None:
            return Outgoing(f"last view; {why}", made, view.headers, is_known=False)
    return None


def _make_outgoing(followed: Followed) -> Outgoing:
    note = f"compacted {followed.report.compaction_count}"
    return Outgoing(note, followed.body, followed.headers)


def _ttl(turn: Turn) -> Ttl:
    """Return how long the provider keeps what a request marks, as the client asks for it."""
    return "1h" if _HOUR in turn.body else "5m"


def deadline(size: int, options: GatewayOptions) -> float:
    """Return how many seconds a request of this size may be held up."""
    least, most = options.deadlines
    share = (size - _SMALL) / (_LARGE - _SMALL)
    return least + min(max(share, 0.0), 1.0) * (most - least)


def _take_error(task: asyncio.Future[Any]) -> None:
    """Look at what a task raised: nobody waits for it any more."""
    if not task.cancelled():
        task.exception()

"""The conversations of a framework, by its own ids: what to send for each request of theirs.

Nothing here raises into the host: if a session fails, the host's own list is sent.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from inspect import Parameter, Signature
from typing import Any, Literal, TypeVar, Unpack

from msgspec import Raw, Struct
from msgspec.structs import replace

from foldaway._core import log_event
from foldaway.agents.plugins import ConvertedList, ListForm
from foldaway.config import open_store
from foldaway.dialects import dialect_named, dump_bytes
from foldaway.engine import TOOLS, tools_in
from foldaway.gateway import make_start_name
from foldaway.sessions import (
    Followed,
    GivenSettings,
    Pool,
    Session,
    SessionOptions,
    find_by_key,
    internals,
)
from foldaway.stores import NewSession, Store
from foldaway.transcript import Payload

__all__ = ["HOST_TOOLS", "HostRequest", "HostSessions", "HostTool", "HostTurn"]

T = TypeVar("T")
_TYPES: Mapping[str, Any] = {"string": str, "integer": int}
_MOST_HELD = 256
"""Conversations that are held open at once; others are taken up from the store. As many as a
gateway holds."""


class HostRequest(Struct, frozen=True, kw_only=True):
    """A request that a host is about to send."""

    key: str = ""
    """The host's own name of the conversation; "" if it has none."""
    dialect: str = ""
    """The wire format of the messages; "" if the request is to pass as it is."""
    own: Sequence[Any] = ()
    """The host's whole list."""
    body: bytes = b""
    """The whole request as JSON, in the place of `own` and `frame`, if the host has it."""
    model: str = ""
    """The model, if the request itself does not name it."""
    form: ListForm | None = None
    """How the host writes messages; None if they are in the wire format already."""
    frame: Payload = {}
    """The rest of the request: model, system prompt, settings; empty ones do not count."""
    tools: Sequence[Payload] = ()
    """The functions that the model may call, as `function_payload` makes them; what has no name is
    a tool of the provider's own."""
    parent: str = ""
    """The conversation that a subagent works for, by the host's own name; it gets a budget of its
    own."""


_NOTHING = HostRequest()


class HostTool(Struct, frozen=True):
    """A tool that the model of a host may call."""

    name: str
    description: str
    parameters: Payload
    """The JSON schema of its arguments."""


HOST_TOOLS = tuple(
    HostTool(one["name"], one["description"], {**one["parameters"], "additionalProperties": False})
    for one in TOOLS
)
"""Recall and search of what was folded. Some frameworks take closed schemas only."""


class HostSessions:
    """The conversations of one host in one store, for any number of threads and tasks.

    `source` is the name of the host. `store` is a `Store`, a file, a folder or the address of a
    server; by default the home of sessions that `FOLDAWAY_STORE` and `FOLDAWAY_HOME` name.
    `settings` are the keywords of a `Session`: `context_length`, `policy`, `model`, …. With
    `on_error="raise"` faults of ours are raised, for tests.
    """

    def __init__(
        self,
        source: str,
        store: Store | str | os.PathLike[str] | None = None,
        *,
        on_error: Literal["pass", "raise"] = "pass",
        **settings: Unpack[GivenSettings],
    ) -> None:
        self._source, self._given, self._settings = source, store, settings
        self._is_strict = on_error == "raise"
        self._store: Store | None = None
        self._held = Pool[tuple[str, str], HeldSession](_MOST_HELD)
        self._lock = threading.Lock()

    def request_of(self, read: Callable[[], HostRequest], own: Sequence[Any]) -> HostRequest:
        """Return what `read` makes of a host's request; its own list alone if that fails, which
        then passes as it is.
        """
        return self.guard(read, HostRequest(own=own))

    # A request that is answered in one call

    def send(
        self, asked: HostRequest, call: Callable[[list[Any]], T], usage_of: Callable[[T], object]
    ) -> T:
        """Return what `call` answers to the messages that fit in the place of the host's.

        If the provider says that they were too long, they are made smaller and sent again, until
        nothing more can be folded; every other error comes out as it is.
        """
        turn = self.turn(asked)
        while True:
            try:
                answer = call(turn.messages)
            except Exception as error:
                if not turn.recover(error):
                    raise
            else:
                turn.used(partial(usage_of, answer))
                return answer

    async def asend(
        self,
        asked: HostRequest,
        call: Callable[[list[Any]], Awaitable[T]],
        usage_of: Callable[[T], object],
    ) -> T:
        """Do what `send` does, for hosts that await; work that blocks is done in a thread."""
        turn = await asyncio.to_thread(self.turn, asked)
        while True:
            try:
                answer = await call(turn.messages)
            except Exception as error:
                if not await turn.arecover(error):
                    raise
            else:
                await turn.aused(partial(usage_of, answer))
                return answer

    # A request in steps, for hosts that have a hook for each

    def turn(self, asked: HostRequest) -> HostTurn:
        """Return a request with what to send in its place."""
        turn = HostTurn(self, asked)
        self.guard(turn.follow, None)
        return turn

    async def aturn(self, read: Callable[[], HostRequest], own: Sequence[Any]) -> HostTurn:
        """Do what `request_of` and `turn` do, for hosts that await."""
        return await asyncio.to_thread(self.turn, self.request_of(read, own))

    def last_turn(self, key: str) -> HostTurn:
        """Return the newest request of a conversation that this process saw, one that is still to
        come if there is none; for hosts that tell what became of a request when they ask for the
        next one.
        """
        held = self._newest(key)
        return HostTurn(self) if held is None or held.last is None else held.last

    def answer(self, key: str, name: str, arguments: Mapping[str, Any]) -> str:
        """Return what one of `HOST_TOOLS` says about a conversation; a sentence if it fails.

        An argument that is None was not given.
        """
        given = {at: value for at, value in arguments.items() if value is not None}

        def called() -> str:
            held = self._newest(key) or self.held(HostRequest(key=key))
            with internals(held.session).lock:
                return held.session.call(name, given)

        return self.guard(called, "nothing can be recalled at the moment")

    async def aanswer(self, key: str, name: str, arguments: Mapping[str, Any]) -> str:
        """Do what `answer` does, for hosts that await."""
        return await asyncio.to_thread(self.answer, key, name, arguments)

    def tools(self, dialect: str) -> list[dict[str, Any]]:
        """Return recall and search as requests of a wire format declare them."""
        return tools_in(dialect, TOOLS)

    def functions(self, key: str) -> list[Callable[..., str]]:
        """Return recall and search of a conversation as functions with types and docstrings, which
        most frameworks take as tools.
        """
        return [_function(one, partial(self.answer, key, one.name)) for one in HOST_TOOLS]

    @property
    def store(self) -> Store:
        """Where the conversations are, open."""
        with self._lock:
            self._store = store = self._store or _opened(self._given)
            return store

    def held(self, asked: HostRequest) -> HeldSession:
        """Return the conversation of a request, open; it is begun with its first message.

        A host whose model changes goes on in another wire format, and there in a session of its
        own.
        """
        place = (asked.key, asked.dialect)
        return self._held.take(place, lambda: HeldSession(self._open(self.store, asked)))

    def _newest(self, key: str) -> HeldSession | None:
        """Return the conversation of a key that was used last, None if it is not open."""
        held = self._held.newest_first()
        return next((one for (name, _), one in held if name == key), None)

    def _open(self, store: Store, asked: HostRequest) -> Session:
        key, dialect = asked.key, asked.dialect
        new = NewSession(dialect=dialect, source=self._source)
        known = find_by_key(store, key, self._source)
        if known is None and asked.parent:
            Session(store, asked.parent, options=SessionOptions(new=new)).delegate(key=key)
        elif known is not None and dialect not in ("", known.dialect):
            key = f"{key}@{dialect}"
        given: GivenSettings = {"model": asked.model, **self._settings}
        given["options"] = replace(given.get("options", SessionOptions()), new=new)
        return Session(store, key, **given)

    def guard(self, work: Callable[[], T], otherwise: T) -> T:
        """Return what work does; something else if it fails: a guest must not break a request."""
        _THREAD.depth += 1
        try:
            return work()
        except Exception as error:  # the boundary to the host
            if self._is_strict:
                raise
            log_event("session.passed", error=type(error).__name__)
            return otherwise
        finally:
            _THREAD.depth -= 1
            while _THREAD.later and not _THREAD.depth:
                _THREAD.later.pop(0)()


class _Thread(threading.local):
    """Whether a thread is at work here: the collector may close an older stream in the middle."""

    def __init__(self) -> None:
        self.depth, self.later = 0, list[Callable[[], None]]()


_THREAD = _Thread()


def _opened(given: Store | str | os.PathLike[str] | None) -> Store:
    if given is None or isinstance(given, (str, os.PathLike)):
        return open_store(None if given is None else os.fspath(given))
    return given


def _function(tool: HostTool, answer: Callable[[Mapping[str, Any]], str]) -> Callable[..., str]:
    """Return a function that has the name, the arguments and the description of a tool."""
    fields: Mapping[str, Any] = tool.parameters["properties"]
    signature = Signature(
        [
            Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=_TYPES[one["type"]])
            if name in tool.parameters["required"]
            else Parameter(
                name,
                Parameter.POSITIONAL_OR_KEYWORD,
                default=None,
                annotation=_TYPES[one["type"]] | None,
            )
            for name, one in fields.items()
        ],
        return_annotation=str,
    )

    def called(*args: Any, **named: Any) -> str:
        given = signature.bind(*args, **named).arguments
        return answer({name: value for name, value in given.items() if value is not None})

    told = (f"    {name}: {one['description']}" for name, one in fields.items())
    called.__name__ = called.__qualname__ = tool.name
    called.__doc__ = "\n".join([tool.description, "", "Args:", *told])
    called.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
    called.__annotations__["return"] = str
    vars(called)["__signature__"] = signature
    return called


class HeldSession(Struct):
    """A session that several requests of a host may use, one at a time."""

    session: Session
    last: HostTurn | None = None


class HostTurn:
    """One request: what to send in its place, what it used, and less to send if it was too long.

    Without `asked` it is a request that is still to come.
    """

    def __init__(self, sessions: HostSessions, asked: HostRequest = _NOTHING) -> None:
        self._sessions, self._asked = sessions, asked
        self._given = ConvertedList(asked.own)
        self._held: HeldSession | None = None
        self.followed: Followed | None = None
        """What came of the list; None if it goes on as it is."""

    @property
    def asked(self) -> HostRequest:
        """The request of the host."""
        return self._asked

    @property
    def is_changed(self) -> bool:
        """Whether anything else is to be sent than what the host has."""
        return self.followed is not None and self.followed.is_changed

    @property
    def messages(self) -> list[Any]:
        """What to send, as the host writes it; messages that stayed are the host's own objects."""
        own, followed = list(self._asked.own), self.followed
        if followed is None or not self.is_changed:
            return own
        return self._sessions.guard(partial(self._given.apply, followed.edits), own)

    @property
    def body(self) -> bytes:
        """What to send, if the host gave its whole request as JSON."""
        return self.followed.body if self.followed and self.is_changed else self._asked.body

    def follow(self) -> None:
        """Take the host's list; raises what goes wrong."""
        asked = self._asked
        if not asked.dialect:
            return
        if asked.form is not None:
            self._given = ConvertedList(asked.own, asked.form)
        if not asked.key and self._given.messages:
            asked = replace(asked, key=name_by_start(self._given.messages, asked.dialect))
        if asked.key and (self._given.messages or asked.body):
            self._held = self._sessions.held(asked)
            with internals(self._held.session).lock:
                self._take("new")

    def used(self, read: Callable[[], object]) -> None:
        """Take what the provider reported for this request; `read` returns it, or None."""

        def take() -> None:
            usage = read()
            if self._held is not None and usage:
                with internals(self._held.session).lock:
                    self._again()
                    self._held.session.used(usage)

        if _THREAD.depth:
            _THREAD.later.append(partial(self._sessions.guard, take, None))
        else:
            self._sessions.guard(take, None)

    def recover(self, error: BaseException) -> bool:
        """Return whether there is less to send, if an error says that the request was too big."""

        def shrink() -> bool:
            if self._held is None:
                return False
            with internals(self._held.session).lock:
                self._again()
                is_smaller = self._held.session.recover(error)
                self._take("never")
                return is_smaller

        return self._sessions.guard(shrink, False)

    async def aused(self, read: Callable[[], object]) -> None:
        """Do what `used` does, for hosts that await."""
        await asyncio.to_thread(self.used, read)

    async def arecover(self, error: BaseException) -> bool:
        """Do what `recover` does, for hosts that await."""
        return await asyncio.to_thread(self.recover, error)

    def compact(self) -> bool:
        """Return whether there is less to send, if somebody asked for a compaction."""

        def fold() -> bool:
            if self._held is None:
                return False
            with internals(self._held.session).lock:
                self._again()
                is_smaller = self._held.session.compact(force=True).status == "compacted"
                self._take("never")
                return is_smaller

        return self._sessions.guard(fold, False)

    def _again(self) -> None:
        """Have the session at this list: another request may have been in between."""
        assert self._held is not None
        if self._held.last is not self:
            self._take("never")

    def _take(self, when: Literal["new", "never"]) -> None:
        assert self._held is not None
        asked = self._asked
        field = dialect_named(asked.dialect).list_key
        least: Payload = {"description": "", "parameters": {}}
        named = [{**least, **one} for one in asked.tools if "name" in one]
        tools = tools_in(asked.dialect, named) if named else ()
        frame = {name: value for name, value in {"tools": tools, **asked.frame}.items() if value}
        body = asked.body or {**frame, field: list(self._given.messages)}
        self._held.last = self
        self.followed = self._held.session.follow(request=body, when=when)


def name_by_start(own: Sequence[Any], dialect: str, form: ListForm | None = None) -> str:
    """Return a name made of how a conversation began, "" as long as its model has not spoken.

    `form` is how the host writes messages; None if they are in the wire format already.
    """
    messages = ConvertedList(own, form).messages
    return make_start_name([Raw(dump_bytes(one)) for one in messages], dialect)


def owned_key(owner: str, name: str) -> str:
    """Return the key of a conversation that belongs to an API key of the host: no other one
    reaches it, and the API key cannot be read from it. A conversation without a name has none.
    """
    return f"{blake2b(owner.encode(), digest_size=16).hexdigest()}:{name}" if name else ""

"""Which session of a store a conversation is: found by its key or id, or begun when it must be."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import MediaReducer, Policy, Redact, SettingsStruct, Summarizer
from foldaway.caching import Ttl
from foldaway.compaction import without_older_media
from foldaway.dialects import dialect_for, dump_bytes, parse
from foldaway.engine import Clock, Compressor, Model, model_of
from foldaway.errors import Conflict, InvalidSetting, UnknownSession
from foldaway.sessions.hooks import Hooks
from foldaway.sessions.leasing import TTL_SECONDS
from foldaway.sessions.rows import frame_of
from foldaway.sessions.tracking import Same
from foldaway.stores import NewSession, SessionInfo, Store, open_store
from foldaway.summarizers import Writers
from foldaway.transcript import Payload


class SessionPlace(Struct):
    """Which session of a store a conversation is, and with what it was opened."""

    store: Store
    key: str
    settings: SessionSettings
    session_id: str = ""
    address: str | os.PathLike[str] | None = None
    """Where the store is, if it was opened by that."""
    source: str = ""
    known: SessionInfo | None = None
    """The session as the store had it last; None as long as it is not begun."""

    def __post_init__(self) -> None:
        """Look for the session."""
        if not isinstance(cast("object", self.key), str):
            raise InvalidSetting("key", self.key, "a text")
        self.source = self.options.new.source if self.options.new else ""
        given = self.session_id
        self.known = self.store.newest_leaf(given) if given else self.find()

    @classmethod
    def at(
        cls,
        store: Store | str | os.PathLike[str] | None,
        key: str,
        settings: SessionSettings,
        session_id: str = "",
    ) -> SessionPlace:
        """Return the place in a store, which is opened by its address; in memory without one."""
        address = store if isinstance(store, (str, os.PathLike)) else None
        is_open = store is not None and address is None
        if is_open and not hasattr(store, "by_source"):
            wanted = "a folder, a file, the address of a server, or what open_store() returns"
            raise InvalidSetting("store", store, wanted)
        opened = cast("Store", store) if is_open else open_store(address or ":memory:")
        return cls(opened, key, settings, session_id, address)

    @property
    def options(self) -> SessionOptions:
        """What few hosts set."""
        return self.settings.options

    def find(self) -> SessionInfo | None:
        """Return the session of the key, None if there is none."""
        return find_by_key(self.store, self.key, self.source)

    def begin(self, dialect: str, facts: dict[str, Any]) -> SessionInfo:
        """Make the session in the store; another process may have been faster with its key."""
        new = self._describe(dialect)
        frame = dump_bytes(parse(new.frame or b"{}") | facts) if facts else new.frame
        try:
            self.known = self.store.create(replace(new, frame=frame))
        except Conflict:
            self.known = self.find()
            if self.known is None:
                raise
        return self.known

    @property
    def first_dialect(self) -> str:
        """The wire format that a new session was opened for, "" if that is still open."""
        return self.settings.dialect or (self.options.new.dialect if self.options.new else "")

    @property
    def dialect(self) -> str:
        """The wire format of the session, "" if that is still open."""
        return self.first_dialect if self.known is None else self.known.dialect

    def _describe(self, dialect: str) -> NewSession:
        """Return what the session is made from when it begins."""
        known = self.options.new or NewSession()
        return replace(
            known,
            dialect=known.dialect or dialect or "openai-chat",
            model=known.model or model_of(self.settings.model).name,
            source_id=known.source_id or self.key,
        )

    def refuse_dialect(self, dialect: str) -> None:
        """Raise `InvalidSetting` for messages of another wire format than the session has."""
        info = self.known
        if info is not None and dialect and dialect != info.dialect and info.length:
            name = self.key or info.id
            why = f"{name!r} is a conversation in {info.dialect}, not {dialect}; use another key"
            raise InvalidSetting("key", name, "another one", message=why)

    @property
    def last_known(self) -> SessionInfo:
        """The session as it was known last; as it would begin, if it is not begun."""
        if self.known is not None:
            return self.known
        new: dict[str, Any] = msgspec.structs.asdict(self._describe(self.first_dialect))
        new |= {"id": "", "root_id": "", "started": 0.0, "updated": 0.0}
        return SessionInfo(**new, profile=self.store.profile)

    @property
    def frame(self) -> dict[str, Any]:
        """The facts that are kept with the session."""
        return {} if self.known is None else frame_of(self.known)


def find_by_key(store: Store, key: str, source: str = "") -> SessionInfo | None:
    """Return where the conversation of a host's key goes on, with what was begun in its place;
    None if there is none.
    """
    found = store.by_source(source, key) if key else None
    leaf, name = None, "" if found is None else found.id
    try:
        while name:
            leaf = store.newest_leaf(name)
            name = frame_of(leaf).get("replaced_by", "")
    except UnknownSession:
        pass  # what replaced it was deleted
    return leaf


SystemPrompt: TypeAlias = str | Callable[[SessionInfo], str]
"""A text, or a function that returns it: asked at the beginning and after every compaction, and at
no other time, so that the prompt stays the same bytes in between."""


class _KeptSettings(Struct, frozen=True):
    """What a session was opened with, as far as that is kept with it."""

    context_length: int | None = None
    cache_ttl: Ttl = "5m"
    policy: Policy | None = None


class SessionOptions(SettingsStruct, frozen=True, kw_only=True):
    """What few programs set when they open a session."""

    provider: str | None = None
    """A provider, or its wire format (`anthropic`); found from the messages if it is not given."""
    background: bool = False
    """Whether a model writes the next summary in the background, before it is due."""
    media: MediaReducer = without_older_media
    """What makes older media smaller if a provider says that a request has too many bytes."""
    same: Same | None = None
    """Tells `follow` which of the host's messages are the same."""
    on_error: Literal["raise", "pass"] = "raise"
    """With `pass`, `follow` returns the host's own list if the session fails."""
    lease_seconds: float = TTL_SECONDS
    """How long other processes wait for one that compacts and does not answer."""
    clock: Clock = time.time
    new: NewSession | None = None
    """What a new session is known by beside its key: title, goal, folder."""

    def __post_init__(self) -> None:
        """Refuse what a session cannot be opened with."""
        if self.on_error not in ("raise", "pass"):
            raise InvalidSetting("on_error", self.on_error, "'raise' or 'pass'")
        if self.new is not None:
            InvalidSetting.check_type("new", self.new, NewSession)
        for name, given in (("media", self.media), ("same", self.same), ("clock", self.clock)):
            if given is not None and not callable(given):
                raise InvalidSetting(name, given, "a function")


class GivenSettings(TypedDict, total=False):
    """The keywords of a `Session`; its docstring says what they are."""

    model: str | Model
    context_length: int | None
    policy: Policy | None
    system: SystemPrompt
    summarizer: Summarizer | Writers | str | None
    redact: Redact | None
    tools: Sequence[Payload]
    hooks: Hooks
    options: SessionOptions


class SessionSettings(SettingsStruct, frozen=True, kw_only=True):
    """With what a session was opened."""

    model: str | Model = ""
    context_length: int | None = None
    policy: Policy | None = None
    system: SystemPrompt = ""
    summarizer: Summarizer | Writers | str | None = None
    redact: Redact | None = None
    tools: Sequence[Payload] = ()
    hooks: Hooks = Hooks()
    options: SessionOptions = SessionOptions()

    def __post_init__(self) -> None:
        """Refuse what a session cannot be opened with."""
        model: Any = self.model
        tools: Any = self.tools
        InvalidSetting.check_tokens("context_length", self.context_length)
        for name, fits, wanted in (
            ("model", isinstance(model, (str, Model)), "a name, or a Model"),
            ("system", isinstance(self.system, str) or callable(self.system), "a text or function"),
            ("redact", self.redact is None or callable(self.redact), "a function, or a Redactor"),
            ("tools", isinstance(tools, (list, tuple)), "a list of mappings"),
        ):
            if not fits:
                raise InvalidSetting(name, getattr(self, name), wanted)
        for tool in tools:
            InvalidSetting.check_type("tools", tool, Mapping, "mappings, as requests declare them")
        for name, kind in (("policy", Policy), ("hooks", Hooks), ("options", SessionOptions)):
            if name != "policy" or self.policy is not None:
                InvalidSetting.check_type(name, getattr(self, name), kind)

    @property
    def dialect(self) -> str:
        """The wire format of the provider, "" if none was named."""
        return dialect_for(self.options.provider, None) or ""

    @property
    def kept(self) -> dict[str, Any]:
        """What is kept with the session, so that it can be compacted when its host is away: window,
        lifetime of the cache, and what differs from the usual policy.
        """
        model, usual = model_of(self.model), msgspec.to_builtins(Policy())
        policy: dict[str, Any] = msgspec.to_builtins(self.policy or Policy())
        found = {
            "context_length": self.context_length or model.context_length,
            "cache_ttl": "" if model.cache_ttl == Model().cache_ttl else model.cache_ttl,
            "policy": {name: value for name, value in policy.items() if value != usual[name]},
        }
        return {name: value for name, value in found.items() if value}

    def completed_by(self, info: SessionInfo, clock: Clock) -> SessionSettings:
        """Return the same with what was kept with a session in place of what is not given."""
        kept = msgspec.convert(frame_of(info).get("settings", {}), _KeptSettings)
        model = Model(info.model, cache_ttl=kept.cache_ttl)
        return replace(
            self,
            model=self.model or model,
            context_length=self.context_length
            or model_of(self.model).context_length
            or kept.context_length,
            policy=self.policy or kept.policy,
            options=replace(self.options, clock=clock),
        )

    def compressor(self, model: str, dialect: str) -> Compressor:
        """Return the compressor of a conversation; `model` is the one that it had, if none is
        named here.
        """
        made = Compressor(
            model=self.model,
            context_length=self.context_length,
            policy=self.policy,
            provider=self.options.provider or dialect or None,
            summarizer=self.summarizer,
            redact=self.redact,
            tools=self.tools,
            background=self.options.background,
            clock=self.options.clock,
        )
        made.take_model(model)
        return made

"""Foldaway inside Hermes: its context engine, and past sessions as a memory provider.

Hermes imports this module, by the entry-point group `hermes_agent.plugins` and from the file that
`foldaway install hermes` writes; it needs Hermes itself. Sessions are kept under `$HERMES_HOME`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import ValidationError, convert
from msgspec.structs import asdict, replace

from foldaway._core import Policy, log_event
from foldaway.agents.engines import ContextEngine, HermesEngine
from foldaway.agents.known import known_agents
from foldaway.config import Settings, compressor_settings, open_store, read_settings
from foldaway.engine import Model
from foldaway.errors import FoldawayError, InvalidSetting
from foldaway.sessions import (
    Library,
    Session,
    SessionOptions,
    answer,
    find_by_key,
    past_tools,
    recall_from,
    redactor_of,
)
from foldaway.stores import NewSession, SessionInfo, Store
from foldaway.summarizers import SummaryRequest, from_callable

if TYPE_CHECKING:  # Hermes' own are not typed, and need not be here

    class HostMemory:
        """What Hermes asks of a memory."""

    HostEngine = ContextEngine

    def get_hermes_home() -> Path:
        """Return the folder of Hermes' profile."""
        ...

else:
    from agent.context_engine import ContextEngine as HostEngine
    from agent.memory_provider import MemoryProvider as HostMemory
    from hermes_constants import get_hermes_home

NAME = "foldaway"
_SOURCE = "hermes"
"""Where our sessions come from, in the store."""
_OFFERED = ("foldaway_sessions_search", "foldaway_sessions_read")
"""The tools of the memory provider; the engine has one to recall by reference."""


def register(ctx: Any) -> None:
    """Give Hermes the engine; it is used if config.yaml has `context.engine: foldaway`."""
    ctx.register_context_engine(FoldawayEngine())


@cache
def _store_in(home: str) -> Store:
    """Return the store of a profile of Hermes; all agents of the process share it."""
    return open_store(environment={"FOLDAWAY_HOME": str(Path(home) / "foldaway")})


class FoldawayEngine(HermesEngine, HostEngine):
    """Hermes' sessions as ours: by their ids, with their lineage, in a store.

    Hermes copies the one that is registered for each agent. Until it names a session, and if the
    store cannot be opened, all is kept in memory.
    """

    def __init__(self) -> None:
        """Make one by Foldaway's own settings, and by Hermes' where ours say nothing."""
        new = NewSession(source=_SOURCE, cwd=os.getcwd())
        super().__init__(
            **engine_settings(read_settings(), _read_hosts_settings()),
            options=SessionOptions(provider="alternating", on_error="pass", new=new),
        )
        self._hosts_sessions: Any = None
        self._is_subagent = self._is_placed = False

    @property
    def name(self) -> str:
        """What config.yaml calls it."""
        return NAME

    @property
    def _session_id(self) -> str:
        """The session that it is bound to; Hermes reads it, and binds it to another one."""
        return self._key

    def bind_session_state(self, session_db: Any, session_id: str) -> None:
        """Open a session; `session_db` is Hermes' own table of them."""
        self._hosts_sessions = session_db
        self.on_session_start(session_id)

    def on_session_start(self, session_id: str, **details: Any) -> None:
        """Open the session of Hermes' id in the store; after a compaction it goes on."""
        self._is_subagent = details.get("platform", "") == "subagent" or self._is_subagent
        if details.get("boundary_reason") == "compression":
            super().on_session_start(session_id, **details)
        elif session_id != self._key:
            self._is_placed = False
            try:
                self._store = _store_in(str(details.get("hermes_home") or get_hermes_home()))
            except (FoldawayError, OSError) as error:
                log_event("session.passed", error=type(error).__name__)
            super().on_session_start(session_id, **details)

    def _take(self, messages: Sequence[Any]) -> bool:
        if messages:
            self._find_place()
        return super()._take(messages)

    def handle_tool_call(self, name: str, args: Mapping[str, Any], **details: Any) -> str:
        """Answer a tool, as JSON; a subagent may recall what its parent refers to."""
        self._find_place()
        return super().handle_tool_call(name, args, **details)

    def _find_place(self) -> None:
        """Make a session that begins now the child of the one that it came from."""
        if self._is_placed or not self._key:
            return
        self._is_placed = True
        try:
            self._descend()
        except Exception as error:  # noqa: BLE001 Hermes' table may raise anything; then it has no parent
            log_event("session.passed", error=type(error).__name__)

    def _descend(self) -> None:
        row = self._row(self._key)
        parent = str(row.get("parent_session_id") or "")
        if not parent or self._find_session(self._key) is not None:
            return
        new = self._options.new or NewSession()
        model: Model = self._settings["model"]
        before = Session(
            self._store,
            parent,
            model=model.name,
            options=SessionOptions(new=replace(new, source_id=parent)),
        )
        if self._is_subagent:
            before.delegate(key=self._key)
        elif self._find_session(parent) is None:
            return
        elif self._row(parent).get("end_reason") == "compression":
            before.switch(key=self._key)  # Hermes ended before it could say so
        else:
            before.branch(before.info.length, key=self._key)
        self._work_on(self._key)

    def _row(self, session_id: str) -> Mapping[str, Any]:
        table = self._hosts_sessions
        return (table.get_session(session_id) if table is not None else None) or {}

    def _find_session(self, session_id: str) -> SessionInfo | None:
        return find_by_key(self._store, session_id, _SOURCE)


_SHARED = {
    "enabled": "enabled",
    "threshold": "threshold",
    "target_ratio": "target_ratio",
    "protect_first_n": "protect_first",
    "protect_last_n": "protect_last",
}
"""What Hermes has under `compression`, and what we call it."""


def engine_settings(own: Settings, hosts: Mapping[str, object]) -> dict[str, Any]:
    """Return what the engine is made with: by our own settings, and for what those do not set by
    config.yaml of Hermes. A value there that means nothing is passed over, as if it were not set.
    """
    given = compressor_settings(own)
    for name, field in _SHARED.items():
        value = _at(hosts, "compression", name)
        if value is None or f"compression.{field}" in own.origins:
            continue
        try:
            given["policy"] = convert(
                {**asdict(given["policy"]), field: value}, Policy, strict=False
            )
        except (ValidationError, InvalidSetting) as error:
            log_event("settings.ignored", name=f"compression.{name}", error=type(error).__name__)
    model = _at(hosts, "auxiliary", "compression", "model")
    is_named = isinstance(model, str) and model not in ("", "auto")
    if is_named and "summarizer.model" not in own.origins:
        window = _at(hosts, "auxiliary", "compression", "context_length")
        size = window if isinstance(window, int) else 0
        writer = from_callable(_ask_host, name=f"hermes:{model}", context_length=size)
        given["summarizer"] = replace(given["summarizer"], main=writer)
    return given


def _at(table: object, *keys: str) -> object:
    """Return what is under keys, None if nothing is."""
    for key in keys:
        table = cast("Mapping[str, object]", table).get(key) if isinstance(table, Mapping) else None
    return table


def _ask_host(request: SummaryRequest) -> str:
    """Have the model of `auxiliary.compression` write, as Hermes asks it: its provider, address
    and keys.
    """
    said = [
        {"role": "system", "content": request.instructions},
        {"role": "user", "content": request.prompt},
    ]
    asked = import_module("agent.auxiliary_client").call_llm("compression", messages=said)
    return str(asked.choices[0].message.content or "")


def _read_hosts_settings() -> Mapping[str, object]:
    try:
        return import_module("hermes_cli.config").read_raw_config()
    except Exception as error:  # noqa: BLE001 Hermes reads it as well, and says what is wrong
        log_event("settings.ignored", name="config.yaml", error=type(error).__name__)
        return {}


class FoldawayMemory(HostMemory):
    """Past sessions of the same profile: what fits a turn, and tools to search and read them.

    The engine is what keeps them; this only reads.
    """

    name = NAME

    def is_available(self) -> bool:
        """Return that nothing has to be set up for it."""
        return True

    def initialize(self, session_id: str, **details: Any) -> None:
        """Do nothing: the store is opened when it is asked for."""

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return what past sessions say about what the user asks; "" if that is nothing."""
        own = find_by_key(self._store, session_id, _SOURCE)
        found = recall_from(self._store)(query, "" if own is None else own.id)
        return f"From past sessions:\n{found}" if found else ""

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools for past sessions; constant."""
        agents = [one.name for one in known_agents().values() if one.leaves_sessions]
        return [
            {"name": one.name, "description": one.description, "parameters": one.parameters}
            for one in past_tools(agents)
            if one.name in _OFFERED
        ]

    def handle_tool_call(self, tool_name: str, args: Mapping[str, Any], **details: Any) -> str:
        """Answer a tool, as JSON."""
        return answer(Library(self._store, show=redactor_of(self._store)), tool_name, args).text

    @property
    def _store(self) -> Store:
        return _store_in(str(get_hermes_home()))

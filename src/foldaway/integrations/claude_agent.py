"""Sessions of the Claude Agent SDK in a store of Foldaway.

    sessions = FoldawaySessionStore()
    options = ClaudeAgentOptions(session_store=sessions, hooks=sessions.hooks())

Every line of a transcript is kept, also what Claude Code compacts away, and resumed from on any
machine. The hooks tell a compaction which facts to keep, and the model after it those that its
summary left out. Each works without the other.
"""

# The SDK is not installed when this is checked.
# pyright: reportMissingImports=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from foldaway.agents.hooks import HookOptions, dropped_facts, framed_facts, session_facts
from foldaway.dialects import dialect_named, dump_bytes
from foldaway.integrations.host_items import HostItems
from foldaway.integrations.host_sessions import HostSessions
from foldaway.sessions import new_message
from foldaway.stores import NewMessage, NewSession, SessionFilter, SessionInfo
from foldaway.transcript import Estimator, Payload

__all__ = ["FoldawaySessionStore"]

_SOURCE = "claude-agent-sdk"


class FoldawaySessionStore:
    """A `SessionStore`: one session for each transcript, one for each of its subagents.

    `store` is a `Store`, a file, a folder or the address of a server; by default the home of
    sessions.
    """

    def __init__(self, store: Any = None) -> None:
        self._sessions = HostSessions(_SOURCE, store)

    def hooks(self, facts_tokens: int = HookOptions().facts_tokens) -> dict[str, list[Any]]:
        """Return the hooks of a run; `facts_tokens` is the most that each of them says."""
        from claude_agent_sdk import HookMatcher  # the store needs nothing of the SDK

        async def before(given: Any, *more: Any) -> dict[str, Any]:
            path, focus = given["transcript_path"], given.get("custom_instructions") or ""
            facts = await self._read(lambda: session_facts(path, facts_tokens, focus))
            return {"systemMessage": framed_facts(facts, is_after=False)} if facts else {}

        async def after(given: Any, *more: Any) -> dict[str, Any]:
            path, name = given["transcript_path"], given["hook_event_name"]
            facts = await self._read(lambda: dropped_facts(path, facts_tokens, is_new=True))
            said = {"hookEventName": name, "additionalContext": framed_facts(facts, is_after=True)}
            return {"hookSpecificOutput": said} if facts else {}

        return {
            "PreCompact": [HookMatcher(None, [before])],
            "SessionStart": [HookMatcher("compact", [after])],
        }

    async def _read(self, facts: Callable[[], str]) -> str:
        return await asyncio.to_thread(self._sessions.guard, facts, "")

    async def append(self, key: Any, entries: list[Any]) -> None:
        """Keep lines of a transcript; those that are known are passed over."""
        if entries:
            cwd = next((one["cwd"] for one in entries if one.get("cwd")), "")
            await asyncio.to_thread(self._items(key, cwd).append, entries)

    async def load(self, key: Any) -> list[Any] | None:
        """Return all lines of a transcript, None if there is none."""
        found = await asyncio.to_thread(self._items(key).read)
        return [_entry(one) for one in found] or None

    async def list_sessions(self, project_key: str) -> list[Any]:
        """Return the sessions of a project, and when they were last written to."""
        found = await asyncio.to_thread(self._list_under, f"{project_key}/", "main")
        return [
            {"session_id": one.source_id.partition("/")[2], "mtime": int(one.updated * 1000)}
            for one in found
        ]

    async def list_subkeys(self, key: Any) -> list[str]:
        """Return the subagents of a session."""
        start = f"{_id(key)}/"
        found = await asyncio.to_thread(self._list_under, start, "subagent")
        return [one.source_id.removeprefix(start) for one in found]

    async def delete(self, key: Any) -> None:
        """Delete a transcript for good, and those of its subagents."""
        await asyncio.to_thread(self._delete, key)

    def _items(self, key: Any, cwd: str = "") -> HostItems:
        kind = "subagent" if key.get("subpath") else "main"
        new = NewSession(
            dialect="anthropic", source=_SOURCE, source_id=_id(key), kind=kind, cwd=cwd
        )
        return HostItems(lambda: self._sessions.store, new, _row)

    def _list_under(self, start: str, kind: Any) -> list[SessionInfo]:
        found = self._sessions.store.all_sessions(SessionFilter(source=_SOURCE, kind=kind))
        return [one for one in found if one.source_id.startswith(start)]

    def _delete(self, key: Any) -> None:
        under = [] if key.get("subpath") else self._list_under(f"{_id(key)}/", "subagent")
        own = self._sessions.store.by_source(_SOURCE, _id(key))
        self._sessions.store.erase([one.id for one in (own, *under) if one is not None])


def _id(key: Any) -> str:
    return "/".join(key[name] for name in ("project_key", "session_id", "subpath") if key.get(name))


def _row(entry: dict[str, Any]) -> NewMessage:
    """Return a line as a message of Anthropic's form, with the rest of the line beside it."""
    given = entry.get("message")
    said = cast("dict[str, Any]", given if isinstance(given, dict) else {})
    payload: Payload = {"role": "system", "content": "", "line": entry}
    if said.get("role") in ("user", "assistant") and "content" in said:
        rest = {name: value for name, value in said.items() if name not in ("role", "content")}
        line = {**entry, "message": rest}
        payload = {"role": said["role"], "content": said["content"], "line": line}
    (message,) = dialect_named("anthropic").decode([payload], 0)
    tokens = Estimator().count(dump_bytes(payload["content"]).decode())
    return new_message(message, tokens, body=dump_bytes(payload), key=entry.get("uuid") or "")


def _entry(payload: Payload) -> dict[str, Any]:
    line = payload["line"]
    if payload["role"] == "system":
        return line
    said = {"role": payload["role"], "content": payload["content"]}
    return {**line, "message": {**line["message"], **said}}

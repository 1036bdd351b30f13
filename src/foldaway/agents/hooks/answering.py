"""One call of a hook: what an agent tells of an event, and what it is answered."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from foldaway.agents.known import KnownAgent

if TYPE_CHECKING:
    from foldaway.agents.hooks.results import Original

_BEFORE = (
    "Facts from the log of this session, in its own words. Keep each of them in the summary, "
    "and copy files, commands, numbers and rules of the user letter for letter:"
)
_AFTER = (
    "Facts from this session before it was compacted, in its own words. They are background, not "
    "a new request; messages after this one are newer:"
)
_KEYS = {"context": "additionalContext", "output": "updatedToolOutput"}
_TASK = "api_conversation_history.json"
_LEAST_CHARS = 2
"""A result of fewer characters a token is not worth a look (`LEAST_CHARS_PER_TOKEN`)."""
_EACH_TIME = 2
"""A message that goes with every request, and is never cached, has so much less room; chosen."""
_MORE = "The whole session can be searched with foldaway_sessions_search."


class HookOptions(Struct, frozen=True, kw_only=True):
    """What a hook was installed with."""

    facts_tokens: int = 2_000
    """Of the facts that a compaction gets, and again the agent after it."""
    result_tokens: int = 4_000
    """Of a result; a longer one is shortened. 0 leaves all as they are."""
    redact: bool = False
    """Whether secrets in results are hidden."""


class HookEvent(Struct, frozen=True, kw_only=True):
    """What an agent tells; most agents use the same keys."""

    name: str
    session: str = ""
    path: str = ""
    cwd: str = ""
    source: str = ""
    focus: str = ""
    """What the user wants a compaction to look at."""
    tool: str = ""
    call: str = ""
    response: Any = None


class HookHost(Struct, frozen=True):
    """What a hook needs from outside."""

    keep: Callable[[Sequence[Original], str, HookEvent], bool]
    """Keeps originals of an agent, and returns whether that was done in time."""
    import_later: Callable[[str, str], None]
    """Starts the import of a file, or of all of an agent, and does not wait for it."""
    is_news: Callable[[str, str], bool] = lambda path, sign: False
    """Whether the session in a file was compacted since this was asked last, by a sign in it."""
    is_new_window: Callable[[str, str], bool] = lambda path, sign: False
    """Whether nobody asked this since the session in a file was compacted, by a sign in it."""
    window: int = 0
    """The window that the user gave the agent; 0 if none."""
    message_file: str = ""
    """What the agent reads before each request, if the user named such a file."""


def event_of(given: Mapping[str, Any], name: str = "") -> HookEvent:
    """Return the event that an agent tells of; `name` is which it is, "" if the agent says it."""

    def text(*keys: str) -> str:
        found = next((given[key] for key in keys if isinstance(given.get(key), str)), "")
        return str(found)

    return HookEvent(
        name=name or text("hook_event_name", "event", "hookName"),
        session=text("session_id", "sessionId", "taskId"),
        path=text("transcript_path", "transcriptPath") or _task_file(given.get("preCompact")),
        cwd=text("cwd"),
        source=text("source"),
        focus=text("custom_instructions", "customInstructions"),
        tool=text("tool_name", "toolName"),
        call=text("tool_use_id", "timestamp"),
        response=given.get("tool_response", given.get("toolResult")),
    )


def _task_file(told: object) -> str:
    """Return the file of a task of Cline, which names a copy beside it that goes with the hook."""
    copy = cast("dict[str, object]", told).get("contextJsonPath") if isinstance(told, dict) else ""
    return os.path.join(os.path.dirname(copy), _TASK) if isinstance(copy, str) and copy else ""


def answer(client: KnownAgent, event: HookEvent, options: HookOptions, host: HookHost) -> str:
    """Return what an agent is told, "" for nothing; raises whatever goes wrong."""
    hook = client.hooks.events.get(event.name)
    if hook is None:
        return ""
    if hook.does == "shorten":
        context = _reminder(client, event, options, host) or _notice(client, event, host)
        return _shorten(client, event, options, host, context)
    if host.message_file and (hook.says == "file" or hook.does == "import"):
        _refresh(event, options, host, ends=hook.does == "import")
    if hook.says == "file":
        return ""
    said, more = "", _MORE if find_spec("mcp") else ""
    if hook.does == "facts":
        from foldaway.agents.hooks.facts import session_facts

        found = session_facts(event.path, options.facts_tokens, event.focus)
        said = _frame(_AFTER, found, more) if hook.late else _frame(_BEFORE, found)
    elif hook.does == "dropped":
        from foldaway.agents.hooks.facts import dropped_facts

        is_new = event.source == "compact"
        if client.hooks.sign:
            host.is_news(event.path, client.hooks.sign)
        found = dropped_facts(event.path, options.facts_tokens, is_new=is_new)
        said = _frame(_AFTER, found, more)
    if hook.imports:
        host.import_later(client.name, event.path)
    if hook.says == "text" or not said:
        return said
    return _format_answer(client, event.name, {"context": said})


def framed_facts(facts: str, *, is_after: bool) -> str:
    """Return facts for a compaction, or for the agent after it; "" if there are none."""
    return _frame(_AFTER if is_after else _BEFORE, facts)


def _refresh(event: HookEvent, options: HookOptions, host: HookHost, *, ends: bool) -> None:
    """Write the facts into the file of messages; one who `ends` leaves none there."""
    from foldaway.agents.hooks.compactions import refresh_message_file
    from foldaway.agents.hooks.facts import dropped_facts
    from foldaway.agents.importers import find_last_compaction

    def facts() -> str:
        tokens = options.facts_tokens // _EACH_TIME
        found = dropped_facts(event.path, tokens, is_new=False, session=event.session)
        return _frame(_AFTER, found)

    compacted = 0.0 if ends else find_last_compaction(event.path, event.session)
    refresh_message_file(host.message_file, _AFTER, compacted, facts)


def _frame(before: str, facts: str, after: str = "") -> str:
    return "\n\n".join(one for one in (before, facts, after) if one) if facts else ""


def _reminder(client: KnownAgent, event: HookEvent, options: HookOptions, host: HookHost) -> str:
    """Return the facts that the newest compaction dropped, if the agent was not told them yet.

    For agents that have no event after a compaction: they are told with the next result.
    """
    sign = client.hooks.sign
    if not sign or not event.path or not host.is_news(event.path, sign):
        return ""
    from foldaway.agents.hooks.facts import dropped_facts

    found = dropped_facts(event.path, options.facts_tokens, is_new=False)
    return _frame(_AFTER, found, _MORE if find_spec("mcp") else "")


def _notice(client: KnownAgent, event: HookEvent, host: HookHost) -> str:
    sign = client.hooks.boundary
    if not sign or not event.path:
        return ""
    from foldaway.agents.hooks.notice import notice

    return notice(client, event.path, host.window, lambda: host.is_new_window(event.path, sign))


def _format_answer(client: KnownAgent, event: str, parts: Mapping[str, Any]) -> str:
    """Return an answer that has a context, an output or both."""
    if client.hooks.keys:
        return json.dumps({client.hooks.keys[what]: value for what, value in parts.items()})
    named = {_KEYS[what]: value for what, value in parts.items()}
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **named}})


def _shorten(
    client: KnownAgent, event: HookEvent, options: HookOptions, host: HookHost, context: str
) -> str:
    """Return a result as the model will see it, and a context; "" if it stays and there is none.

    It is not shortened if its original is not kept.
    """
    parts = {"context": context} if context else {}
    chars = len(json.dumps(event.response, ensure_ascii=False))
    if options.redact or chars >= _LEAST_CHARS * options.result_tokens > 0:
        parts |= _show_result(client, event, options, host)
    return _format_answer(client, event.name, parts) if parts else ""


def _show_result(
    client: KnownAgent, event: HookEvent, options: HookOptions, host: HookHost
) -> dict[str, Any]:
    from foldaway.agents.hooks.results import show_result

    redact = None
    if options.redact:
        from foldaway.redaction import RedactionPolicy, Redactor

        redact = Redactor(RedactionPolicy(personal=False))
    mark = f"{event.session} {event.call}"
    shown = show_result(event.tool, event.response, options.result_tokens, mark, redact)
    if shown and shown.originals and not host.keep(shown.originals, client.name, event):
        shown = show_result(event.tool, event.response, 0, mark, redact)  # hidden, but whole
    return {"output": shown.value} if shown else {}

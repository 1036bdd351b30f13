"""Hooks of the Claude Agent SDK around the compactions of its program.

    options = ClaudeAgentOptions(hooks=foldaway_hooks())

A compaction is told which facts to keep, and the model after it those that its summary left out.
"""

# The SDK is not installed when this is checked.
# pyright: reportMissingImports=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from typing import Any

from claude_agent_sdk import HookMatcher

from foldaway.agents.hooks import HookOptions, dropped_facts, framed_facts, session_facts
from foldaway.integrations.host_sessions import HostSessions

__all__ = ["foldaway_hooks"]

_SESSIONS = HostSessions("claude-agent-sdk")


def foldaway_hooks(facts_tokens: int = HookOptions().facts_tokens) -> Any:
    """Return the hooks of a run; `facts_tokens` is the most that each of them says."""

    async def before(given: Any, *more: Any) -> dict[str, Any]:
        path, focus = given["transcript_path"], given.get("custom_instructions") or ""
        facts = await _read(lambda: session_facts(path, facts_tokens, focus))
        return {"systemMessage": framed_facts(facts, is_after=False)} if facts else {}

    async def after(given: Any, *more: Any) -> dict[str, Any]:
        path, name = given["transcript_path"], given["hook_event_name"]
        facts = await _read(lambda: dropped_facts(path, facts_tokens, is_new=True))
        said = {"hookEventName": name, "additionalContext": framed_facts(facts, is_after=True)}
        return {"hookSpecificOutput": said} if facts else {}

    return {"PreCompact": [HookMatcher(None, [before])],
            "SessionStart": [HookMatcher("compact", [after])]}  # fmt: skip


async def _read(facts: Any) -> str:
    return await asyncio.to_thread(_SESSIONS.guard, facts, "")

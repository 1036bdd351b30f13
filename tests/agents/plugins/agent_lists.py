"""Lists as agents hand them over."""

from __future__ import annotations

from typing import Any

RULE = "Never edit secret.txt."


def pi_list(steps: int, *, words: int = 300, calls: int = 2) -> list[dict[str, Any]]:
    """A list of Pi: a request, and steps with calls whose results are long."""
    found: list[dict[str, Any]] = [
        {"role": "user", "content": f"Fix the tests. {RULE}", "timestamp": 1},
        {"role": "bashExecution", "command": "ls", "output": "x", "excludeFromContext": True},
    ]
    for step in range(steps):
        ids = [f"c{step}-{one}" for one in range(calls)]
        found.append({
            "role": "assistant", "api": "a", "provider": "p", "model": "m", "timestamp": 2,
            "stopReason": "toolUse", "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
                {"type": "text", "text": f"Step {step}.", "textSignature": "t"},
                *({"type": "toolCall", "id": one, "name": "bash", "thoughtSignature": "s",
                   "arguments": {"command": f"cat file{step}.py"}} for one in ids),
            ],
        })  # fmt: skip
        found += [
            {"role": "toolResult", "toolCallId": one, "toolName": "bash", "isError": False,
             "details": {"exit": 0},
             "content": [{"type": "text", "text": f"line of {one} " * words}], "timestamp": 3}
            for one in ids
        ]  # fmt: skip
    return found


def opencode_list(steps: int, *, words: int = 300, calls: int = 2) -> list[dict[str, Any]]:
    """The same as OpenCode writes it."""
    model = {"providerID": "p", "modelID": "m"}
    found: list[dict[str, Any]] = [{
        "info": {"id": "msg_0", "sessionID": "s", "role": "user", "model": model},
        "parts": [{"id": "p", "type": "text", "text": f"Fix the tests. {RULE}"}],
    }]  # fmt: skip
    for step in range(steps):
        tools = [
            {"id": f"t{one}", "type": "tool", "callID": f"c{step}-{one}", "tool": "bash", "state": {
                "status": "completed", "input": {"command": f"cat file{step}.py"}, "title": "t",
                "output": f"line of c{step}-{one} " * words, "time": {"start": 1, "end": 2},
            }}
            for one in range(calls)
        ]  # fmt: skip
        found.append({
            "info": {"id": f"msg_{step + 1}", "sessionID": "s", "role": "assistant"},
            "parts": [
                {"id": "a", "type": "step-start"},
                {"id": "r", "type": "reasoning", "text": "hm", "metadata": {"signature": "x"}},
                {"id": "b", "type": "text", "text": f"Step {step}."},
                *tools,
                {"id": "f", "type": "step-finish", "tokens": {}},
            ],
        })  # fmt: skip
    return found


LISTS = {"pi": pi_list, "opencode": opencode_list}

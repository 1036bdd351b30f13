"""Subagents: what was asked, of whom, what they said last."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "Task",
        {"description": "Find slow tests", "prompt": "Investigate…", "subagent_type": "Explore"},
        (
            "Here is my report:\n\n## Findings\n- 147 tests\n\n"
            "The binary is built for every test.\nagentId: a81ed44 (for resuming to "
            "continue this agent's work if needed)\n<usage>total_tokens: 88785\n"
            "tool_uses: 27</usage>"
        ),
        (
            "Task asked 'Find slow tests' of Explore: agent a81ed44, 9 lines; last: The "
            "binary is built for every test."
        ),
    ),
    (
        "Agent",
        {"description": "Review L1", "prompt": "x"},
        (
            "Async agent launched successfully.\nagentId: a779898eba8233bc5 (internal ID)\n"
            "The agent is working in the background."
        ),
        "Agent asked 'Review L1': agent a779898eba8233bc5, launched in the background",
    ),
    (
        "spawn_agent",
        {"agent_type": "explorer", "message": "Review the latest changes"},
        '{"agent_id":"019d7e30","nickname":"Carson"}',
        (
            "spawn_agent asked 'Review the latest changes' of explorer: agent_id=019d7e30, "
            "nickname=Carson"
        ),
    ),
    (
        "wait_agent",
        {"targets": ["019d7d09"], "timeout_ms": 300000},
        (
            '{"status":{"019d7d09":{"completed":"**Overview**\\nA small repo.\\n\\nThe '
            'tests are weakest at the edges."}},"timed_out":false}'
        ),
        "wait_agent of 019d7d09: 019d7d09 completed: The tests are weakest at the edges.",
    ),
    (
        "close_agent",
        {"target": "019d7e2f"},
        '{"previous_status":{"completed":"Findings\\n1. The lock is never released."}}',
        "close_agent of 019d7e2f: completed: 1. The lock is never released.",
    ),
    (
        "delegate_task",
        {"goal": "refactor auth module"},
        "Error: subagent timed out after 600 s",
        (
            "delegate_task asked 'refactor auth module': failed: Error: subagent timed out "
            "after 600 s"
        ),
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_a_delegation_keeps_the_task_and_the_last_words(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """And the id by which the agent can be asked again."""
    assert digest(tool, arguments, output) == line

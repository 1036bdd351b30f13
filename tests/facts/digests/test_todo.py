"""Todo lists and plans: counts by state, the item in progress."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "TodoWrite",
        {
            "todos": [
                {"content": "Read", "status": "completed"},
                {"content": "Add tests", "status": "in_progress"},
                {"content": "Lint", "status": "pending"},
            ]
        },
        "Todos have been modified successfully.",
        (
            "TodoWrite: 3 items: 1 done, 1 in progress, 1 pending; in progress: 'Add "
            "tests'; next: 'Lint'"
        ),
    ),
    (
        "update_todo_list",
        {"todos": "[x] Read\n[-] Add tests\n[ ] Lint\n[ ] Push"},
        "Todo list updated successfully.",
        (
            "update_todo_list: 4 items: 1 done, 1 in progress, 2 pending; in progress: "
            "'Add tests'; next: 'Lint'"
        ),
    ),
    (
        "TaskList",
        {},
        "#1 [completed] Read\n#2 [pending] Add tests\n#3 [pending] Lint",
        "TaskList: 3 items: 1 done, 2 pending; next: 'Add tests'",
    ),
    (
        "TaskUpdate",
        {"taskId": "2", "status": "in_progress"},
        "Updated task #2 status",
        "TaskUpdate task 2 -> in_progress: Updated task #2 status",
    ),
    (
        "TaskCreate",
        {"subject": "Run the linter", "description": "Run it."},
        "Task #6 created successfully: Run the linter",
        "TaskCreate 'Run the linter': Task #6 created successfully: Run the linter",
    ),
    (
        "todo",
        {},
        "[]",
        "todo(): an empty list",
    ),
    (
        "update_plan",
        {
            "plan": [
                {"step": "Read", "status": "completed"},
                {"step": "Write", "status": "pending"},
            ],
            "explanation": "x",
        },
        "Plan updated",
        "update_plan: 2 items: 1 done, 1 pending; next: 'Write'",
    ),
    (
        "ExitPlanMode",
        {"plan": "# Plan: keep unknown hooks\n\n## Problem\n…"},
        "User has approved your plan. You can now start coding.\n\n# Plan: keep unknown hooks",
        (
            "ExitPlanMode '# Plan: keep unknown hooks': User has approved your plan. You "
            "can now start coding."
        ),
    ),
    (
        "ExitPlanMode",
        {"plan": "# Plan: x"},
        (
            "The user doesn't want to proceed with this tool use. To tell you how to "
            "proceed, the user said:\nwe don't need the test"
        ),
        "ExitPlanMode failed: rejected by the user: we don't need the test",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_a_list_keeps_its_counts_and_where_it_stands(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """From the arguments, otherwise from the output."""
    assert digest(tool, arguments, output) == line

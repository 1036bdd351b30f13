"""Changing files: which ones, where, how much."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "Edit",
        {"file_path": "a.go", "old_string": "a\nb\nc", "new_string": "a\nb", "replace_all": False},
        (
            "The file a.go has been updated. Here's the result of running `cat -n` on a "
            "snippet of the edited file:\n    57→\tx\n    58→\ty\n"
            "    59→}\n"
        ),
        "Edit changed a.go lines 57-59 (3 -> 2 lines)",
    ),
    (
        "edit",
        {"path": "a.ts", "oldText": "x", "newText": "y\nz"},
        "Successfully replaced text in a.ts.",
        "edit changed a.ts (1 -> 2 lines)",
    ),
    (
        "Edit",
        {"file_path": "a.go", "old_string": "a", "new_string": "b", "replace_all": True},
        "The file a.go has been updated. All occurrences were successfully replaced.",
        "Edit changed a.go (1 -> 1 line, everywhere)",
    ),
    (
        "Edit",
        {"file_path": "a.go", "old_string": "a", "new_string": "b"},
        "<tool_use_error>String to replace not found in file.\nString: a</tool_use_error>",
        "Edit did not change a.go: String to replace not found in file.",
    ),
    (
        "MultiEdit",
        {"file_path": "a.go", "edits": [{"old_string": "a"}, {"old_string": "b"}]},
        "Applied 2 edits to a.go",
        "MultiEdit changed a.go (2 edits)",
    ),
    (
        "apply_patch",
        {
            "input": (
                "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n+z\n*** Add File: b.go\n"
                "+package b\n*** Delete File: c.go\n*** End Patch"
            )
        },
        "Success. Updated the following files:\nA b.go\nM a.go\nD c.go",
        "apply_patch changed a.go (+2 -1), added b.go (+1 -0), deleted c.go",
    ),
    (
        "apply_patch",
        {
            "patchText": (
                "*** Begin Patch\n*** Update File: a.go\n*** Move to: d.go\n"
                "@@\n-x\n+y\n*** End Patch"
            )
        },
        "Success.",
        "apply_patch changed a.go and moved it to d.go (+1 -1)",
    ),
    (
        "apply_patch",
        {"input": "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n*** End Patch"},
        "apply_patch verification failed: Failed to find expected lines in a.go:\nx",
        (
            "apply_patch failed: apply_patch verification failed: Failed to find expected "
            "lines in a.go; it would have changed a.go (+0 -1)"
        ),
    ),
    (
        "patch",
        {"diff": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"},
        "patched",
        "patch changed a.py",
    ),
    (
        "str_replace_editor",
        {"command": "insert", "path": "/w/a.py", "insert_line": 5, "insert_text": "x = 1\n"},
        "The file /w/a.py has been edited.",
        "str_replace_editor changed /w/a.py line 5 (0 -> 1 line)",
    ),
    (
        "edit",
        {"search": "a", "replace": "b"},
        "Text replaced.",
        "edit(search=a, replace=b): 14 characters; begins 'Text replaced.'",
    ),
    (
        "delete_file",
        {"target_file": "old.py"},
        "Deleted.",
        "delete_file deleted old.py",
    ),
    (
        "move_file",
        {"source": "a.py", "destination": "lib/a.py"},
        "Successfully moved a.py to lib/a.py",
        "move_file moved a.py to lib/a.py",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_an_edit_keeps_what_was_changed(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """Every file of a patch with its lines; moved and deleted files as such."""
    assert digest(tool, arguments, output) == line

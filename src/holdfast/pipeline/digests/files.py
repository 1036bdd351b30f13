"""File tools: which file, which lines, how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.pipeline.digests.line import clip, error_line, first_of, size_of

READ_TOOLS = ("read", "read_file", "view", "open_file", "cat", "str_replace_based_edit_tool",
              "str_replace_editor", "notebookread", "open")  # fmt: skip
WRITE_TOOLS = ("write", "write_file", "create_file", "write_to_file", "create", "notebookedit")
EDIT_TOOLS = ("edit", "edit_file", "multiedit", "multi_edit", "patch", "apply_patch",
              "replace_in_file", "str_replace", "apply_diff", "insert")  # fmt: skip
_PATHS = ("file_path", "path", "filePath", "filename", "file", "target_file", "notebook_path")


def digest_read(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Read read src/app.py from line 40: 120 lines"."""
    start = arguments.get("offset", arguments.get("start_line", arguments.get("line_start")))
    where = f" from line {start}" if isinstance(start, int) and start > 1 else ""
    return f"{name} read {_path(arguments)}{where}: {size_of(output)}{_failure(output)}"


def digest_write(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Write wrote src/app.py"."""
    content = first_of(arguments, "content", "contents", "file_text", "text", "new_source")
    return f"{name} wrote {_path(arguments)} ({size_of(content)}){_failure(output)}"


def digest_edit(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Edit changed src/app.py"."""
    return f"{name} changed {_path(arguments)}: {size_of(output)}{_failure(output)}"


def _path(arguments: Mapping[str, Any]) -> str:
    return clip(first_of(arguments, *_PATHS)) or "a file"


def _failure(output: str) -> str:
    error = error_line(output[:2000]) if len(output) < 4000 else ""
    return f"; {error}" if error else ""

"""Finished runs, for tests of batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def run_record(number: int, pairs: int) -> dict[str, Any]:
    """Return a finished run in OpenAI's dialect: an ask, calls with their results, an answer."""
    turns: list[dict[str, Any]] = [{"role": "user", "content": f"Run {number}."}]
    for at in range(pairs):
        call = {"name": "bash", "arguments": json.dumps({"command": f"cat {number}/{at}.py"})}
        turns += [
            {"role": "assistant", "content": None,
             "tool_calls": [{"id": f"c{at}", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": f"line {at} of {number}\n" * 20},
        ]  # fmt: skip
    return {"id": number, "messages": [*turns, {"role": "assistant", "content": "Done."}]}


def folder_files(folder: Path) -> dict[str, bytes]:
    """Return the content of all files below a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }

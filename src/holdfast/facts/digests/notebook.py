"""Notebooks and pieces of code: which cell, what ran, how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.facts.digests.ending import ending_of
from holdfast.facts.digests.failure import failure_in
from holdfast.facts.digests.line import clip, first_of, path_of, size_of, words_of

_CODE = ("code", "new_source", "source", "script", "cell_source", "input", "newCode", "command")
_CELLS = ("cell_id", "cellId", "cell_number", "cell_idx", "cell_index")
_MODES = ("edit_mode", "editType", "mode")


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "execute_code ran `import os` (12 lines): exit 1, 8 lines; NameError: …"."""
    code = first_of(arguments, *_CODE)
    size = f" ({size_of(code)})" if "\n" in code.strip() else ""
    cell = next((words for key in _CELLS if (words := words_of(arguments.get(key), 40))), "")
    path = path_of(arguments)
    if not path:
        place = f" cell {cell}" if cell else ""
        return f"{name}{place} ran `{clip(_first_code(code), 100)}`{size}: {ending_of(output)}"
    mode = clip(first_of(arguments, *_MODES), 20)
    where = f"{path}{f' cell {cell}' if cell else ''}{f' ({mode})' if mode else ''}"
    failed = failure_in(output)
    if failed:
        return f"{name} failed on {where}: {failed}"
    return f"{name} {'changed' if code else 'used'} {where}{size}: {ending_of(output)}"


def _first_code(code: str) -> str:
    """Return the first line that is not an import or a remark, the first at all otherwise."""
    lines = [line for line in code[:4_000].split("\n") if line.strip()]
    told = (line for line in lines if not line.startswith(("import ", "from ", "#", "//", "%")))
    return next(told, lines[0] if lines else "").strip()

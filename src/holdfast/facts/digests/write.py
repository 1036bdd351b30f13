"""Writing whole files: which one, how much, whether it was new."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holdfast.facts.digests import other
from holdfast.facts.digests.failure import failure_in
from holdfast.facts.digests.line import first_of, path_of, shorten, size_of

_CONTENTS = ("content", "contents", "file_text", "text", "new_source", "code", "CodeContent")
_SAID_CHARS = 200
_TOLD = re.compile(
    r"\s{0,8}(?:The file |File created successfully at: |Successfully \w{1,20} (?:to )?(?:file: )?"
    r"|Wrote |Created )([^\s]{1,400}?)(?: has been |\s|\Z)"
)


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Write created src/app.py (120 lines)"."""
    path = path_of(arguments) or told_path(output)
    if not path:
        return other.digest(name, arguments, output)
    content = first_of(arguments, *_CONTENTS)
    size = f" ({size_of(content)})" if content else ""
    failed = failure_in(output)
    if failed:
        return f"{name} did not write {path}{size}: {failed}"
    said = output[:_SAID_CHARS].lower()
    verb = "created" if "created" in said else "overwrote" if "overw" in said else "wrote"
    return f"{name} {verb} {path}{size}"


def told_path(output: str) -> str:
    """Return the file that the output says it wrote, for a call whose arguments are lost."""
    found = _TOLD.match(output)
    return shorten(found[1]) if found else ""

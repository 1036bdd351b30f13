"""Any other tool: its name, its shortest arguments, the size, the first error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.pipeline.digests.line import clip, error_line, size_of

_SHOWN_ARGUMENTS = 3


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "get_user(id=17): 1,204 characters; begins {"name"…"."""
    shown = [
        f"{key}={clip(str(value), 40)}"
        for key, value in arguments.items()
        if isinstance(value, (str, int, float, bool)) and len(str(value)) <= 80
    ][:_SHOWN_ARGUMENTS]
    error = error_line(output)
    rest = f"; {error}" if error else f"; begins {clip(output[:100], 80)}"
    return f"{name}({', '.join(shown)}): {size_of(output)}{rest}"

"""Browsers and screens: what was done to what, which page it is now."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holdfast.facts.digests.failure import failure_in
from holdfast.facts.digests.fields import fields_of
from holdfast.facts.digests.line import clip, first_of, size_of, words_of

_TARGETS = ("url", "element", "selector", "ref", "text", "value", "key", "function", "script",
            "code", "query", "question", "prompt", "id")  # fmt: skip
_PAGE_URL = re.compile(r"(?:Page URL|[Cc]urrent URL|\nURL): {0,4}(\S{1,300})")
_PAGE_TITLE = re.compile(r"(?:Page Title|\nTitle): {0,4}([^\n]{1,200})")
_HEAD_CHARS = 8_000


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "browser_click 'Sign in': at https://… 'Home', 80 lines"."""
    action = first_of(arguments, "action")
    done = f"{name} {clip(action, 40)}" if action else name
    target = first_of(arguments, *_TARGETS) or _place(arguments)
    said = failure_in(output) or fields_of(output, arguments) or _page(output)
    return f"{done}{f' {clip(target, 100)!r}' if target else ''}: {said}"


def _place(arguments: Mapping[str, Any]) -> str:
    place = arguments.get("coordinate")
    if isinstance(place, (list, str)):
        return first_of(arguments, "coordinate")
    across, down = words_of(arguments.get("x"), 10), words_of(arguments.get("y"), 10)
    return f"{across}, {down}" if across and down else ""


def _page(output: str) -> str:
    head = output[:_HEAD_CHARS]
    address, title = _PAGE_URL.search(head), _PAGE_TITLE.search(head)
    pieces = [f"at {clip(address[1], 100)}"] if address else []
    pieces += [f"{clip(title[1], 60)!r}"] if title else []
    return ", ".join([*pieces, size_of(output)])

"""The web: what was searched for, fetched, or done in a browser."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from foldaway.facts.digests.fields import fields_of
from foldaway.facts.digests.line import (
    clip,
    failure_in,
    first_line,
    first_of,
    plural,
    size_of,
    words_of,
)
from foldaway.facts.tools import ARGUMENTS
from foldaway.regex import Regex

_QUERIES = ARGUMENTS["queries"]
_URLS = ARGUMENTS["urls"]
_HEAD_CHARS = 8_000
"""Of a page or a list of results; title and first hits are in it. Chosen."""
_URL = Regex(r"https?://[^\s)\]}\"'<>\\]{3,300}")
_TITLE = Regex(r'"title"\s{0,3}:\s{0,3}"((?:[^"\\\n]|\\.){1,200})"')
_LINK = Regex(r"\[([^\]\n]{3,200})\]\(https?://")
_PAGE_TITLE = Regex(r"<title[^>]{0,100}>([^<]{1,300})", re.I)
_HEADING = Regex(r"(?:^|\n)(?:# |Title: )([^\n]{1,300})")
_STATUS = Regex(r"(?:status(?:[ _]code)?\"?|HTTP/[\d.]{1,3})\W{1,4}([1-5]\d\d)\b", re.I)


def digest_web_search(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "WebSearch looked for 'x': 10 results; first 'Title' https://…"."""
    wanted = clip(first_of(arguments, *_QUERIES), 100)
    failed = failure_in(output)
    if failed:
        return f"{name} looked for {wanted!r}: failed: {failed}"
    return f"{name} looked for {wanted!r}: {_results(output)}"


def digest_fetch(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "WebFetch fetched https://…: status 200, 'Title', 120 lines"."""
    address = clip(first_of(arguments, *_URLS), 120) or "a page"
    failed = failure_in(output)
    if failed:
        return f"{name} did not fetch {address}: {failed}"
    fields = fields_of(output, arguments)
    if fields:
        return f"{name} fetched {address}: {fields}"
    head = output[:_HEAD_CHARS]
    found = _STATUS.search(head[:600])
    status = f"status {found[1]}, " if found else ""
    return f"{name} fetched {address}: {status}{_title(head)}{size_of(output)}"


def _results(output: str) -> str:
    head = output[:_HEAD_CHARS]
    title = _TITLE.search(head) or _LINK.search(head)
    urls = list(dict.fromkeys(_URL.findall(head)))
    if not urls:
        return f"{size_of(output)}; begins {first_line(output)!r}"
    count = output.count('"url"') or output.count("\nURL: ") or len(urls)
    named = f"{clip(title[1], 70)!r} " if title else ""
    return f"{plural(count, 'result')}; first {named}{clip(urls[0], 90)}"


def _title(head: str) -> str:
    found = _PAGE_TITLE.search(head) if "<" in head[:200] else _HEADING.search(head)
    return f"{clip(found[1].strip(), 80)!r}, " if found else ""


_TARGETS = ARGUMENTS["page_targets"]
_PAGE_URL = Regex(r"(?:Page URL|[Cc]urrent URL|\nURL): {0,4}(\S{1,300})")
_BROWSER_TITLE = Regex(r"(?:Page Title|\nTitle): {0,4}([^\n]{1,200})")


def digest_browser(name: str, arguments: Mapping[str, Any], output: str) -> str:
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
    address, title = _PAGE_URL.search(head), _BROWSER_TITLE.search(head)
    pieces = [f"at {clip(address[1], 100)}"] if address else []
    pieces += [f"{clip(title[1], 60)!r}"] if title else []
    return ", ".join([*pieces, size_of(output)])

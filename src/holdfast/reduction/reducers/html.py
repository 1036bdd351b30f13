"""HTML: the text of the page, headings and lists as Markdown, ranked as prose."""

from __future__ import annotations

import re
from html import unescape
from typing import Final

from holdfast.reduction.reduced import ReductionRequest, Render
from holdfast.reduction.reducers.prose import reduce_prose

__all__ = ["html_text", "reduce_html"]

_MOST_CHARS: Final = 8_000_000
"""Of a longer page the rest is not read."""

_HIDDEN = re.compile(r"<(script|style|noscript|svg|template|head)(?=[\s>/])", re.I)
_CLOSES = {
    name: re.compile(f"</{name}", re.I)
    for name in ("script", "style", "noscript", "svg", "template", "head")
}
_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,500})</title", re.I)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,20})[^<>]*>")
_REST = re.compile(r"<[!?/a-zA-Z][^<>]*>")
_BLOCKS = frozenset({
    "p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "table", "tr",
    "ul", "ol", "dl", "dt", "dd", "blockquote", "pre", "form", "figure", "figcaption", "br", "hr",
    "tbody", "thead", "body", "html", "details", "summary", "option", "select", "button", "label",
})  # fmt: skip


def reduce_html(text: str, ask: ReductionRequest) -> Render:
    """Read a page; the result is plain text."""
    return reduce_prose(html_text(text), ask)


def html_text(text: str) -> str:
    """Return what a reader sees of a page: headings marked `#`, list items `-`, cells `|`."""
    text = text[:_MOST_CHARS]
    title = _TITLE.search(text, 0, 100_000)
    text = _without_comments(_without_hidden(text))
    shown = _REST.sub("", _TAG.sub(_mark, text))
    lines = [" ".join(line.split()) for line in unescape(shown).split("\n")]
    body = "\n".join(line for line in lines if line and line not in "-|#")
    return f"# {unescape(title[1]).strip()}\n{body}" if title else body


def _mark(tag: re.Match[str]) -> str:
    name = tag[2].lower()
    if len(name) == 2 and name[0] == "h" and name[1] in "123456":
        return "\n" if tag[1] else f"\n{'#' * int(name[1])} "
    if name == "li":
        return "\n" if tag[1] else "\n- "
    if name in ("td", "th"):
        return " | " if tag[1] else ""
    return "\n" if name in _BLOCKS else ""


def _without_hidden(text: str) -> str:
    """Return the text without elements that nobody reads; one that is never closed stays."""
    parts: list[str] = []
    at = 0
    found = _HIDDEN.search(text)
    unclosed: set[str] = set()
    while found:
        name = found[1].lower()
        close = None if name in unclosed else _CLOSES[name].search(text, found.end())
        if close is None:
            unclosed.add(name)
            found = _HIDDEN.search(text, found.end())
            continue
        parts.append(text[at : found.start()])
        end = text.find(">", close.end())
        at = len(text) if end < 0 else end + 1
        found = _HIDDEN.search(text, at)
    parts.append(text[at:])
    return "".join(parts)


def _without_comments(text: str) -> str:
    parts: list[str] = []
    at = 0
    start = text.find("<!--")
    while start >= 0:
        stop = text.find("-->", start)
        if stop < 0:
            break
        parts.append(text[at:start])
        at = stop + 3
        start = text.find("<!--", at)
    parts.append(text[at:])
    return "".join(parts)

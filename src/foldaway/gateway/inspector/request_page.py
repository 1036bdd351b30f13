"""The page of one request: its prompt as it was sent, what of it was cached, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request

from foldaway.agents.known import find_agent
from foldaway.gateway import NotThere
from foldaway.gateway.inspector.conversation import fold_system, prompt_rows
from foldaway.gateway.inspector.message_fates import Fates, count_places, count_shared, fates
from foldaway.gateway.inspector.session_page import CHUNK, MOST_EXPORTED, about
from foldaway.gateway.inspector.session_sources import OpenedSession
from foldaway.gateway.inspector.site import Answer, HtmlPage, Inspector, is_export, number
from foldaway.gateway.inspector.timeline import Timeline
from foldaway.sessions import add_frame, frame_of
from foldaway.usage import RequestRow

_SLACK = 0.01
"""Of a prompt, what may be missing in the cache before a message counts as missing; chosen, larger
than what estimates of the newest messages are off by."""
_AS_SENT = (
    "As it was sent: the messages as they came, and what compactions put in their place, from "
    "Foldaway's log. Tools, settings and cache marks are not kept."
)
_REBUILT = "Reconstructed from the file of {}: the messages by then. It does not have the request."


def request_page(inspector: Inspector, request: Request) -> Answer:
    """Return the page of a request, by its number from 1."""
    opened = inspector.shelf.open(str(request.path_params["id"]))
    found, wanted = inspector.timelines.find(opened.store, opened.info), number(request, "name", 1)
    if not 0 < wanted <= len(found.requests):
        raise NotThere(f"the session has {len(found.requests)} requests, and no number {wanted}")
    which, one, whole = wanted - 1, found.requests[wanted - 1], sum(found.held[wanted - 1])
    prompt, length = _prompt(opened, found, which), found.lengths[which]
    shared = count_shared(_prompt(opened, found, which - 1), prompt) if which else 0
    read = one.cache_read_tokens
    cached = min(_count_cached(opened, prompt, read, whole), shared) if read else 0
    at, chunk = min(shared, max(prompt.shown - 1, 0)), CHUNK
    if is_export(request):
        at, chunk = 0, MOST_EXPORTED
    start = at // chunk * chunk
    rows = prompt_rows(opened, prompt, (cached, shared), start, min(start + chunk, prompt.shown))
    system = add_frame(opened.info).system
    values: dict[str, Any] = {
        **about(opened),
        "number": wanted,
        "count": len(found.requests),
        "one": one,
        "whole": whole,
        "seconds": found.seconds[which],
        "is_measured": found.source == "measured" and one.input_tokens > 0,
        "origin": list(_describe_origin(opened, found, one, prompt)),
        "system": system and fold_system(opened, system),
        "prompt": prompt,
        "new": prompt.shown - shared,
        "length": length,
        "rows_address": f"{opened.address}/rows?view={prompt.view}&length={prompt.length}"
        f"&cached={cached}&shared={shared}&",
        "at": at,
        "chunk": chunk,
        "start": start,
        "rows": list(rows),
        "has_answer": length < opened.info.length,
    }
    return HtmlPage("request.html.j2", values)


def _prompt(opened: OpenedSession, found: Timeline, at: int) -> Fates:
    """Return what became of the log in the prompt of a request."""
    store, info, view = opened.store, opened.info, found.requests[at].view
    is_there = view and store.view(info.id, view, lean=True) is not None
    return fates(store, info, view if is_there else 0, found.lengths[at])


def _count_cached(opened: OpenedSession, prompt: Fates, cached: int, whole: int) -> int:
    """Return about how many messages came out of the cache: the provider counts tokens, and what
    no message explains comes first.
    """
    tokens = count_places(opened.store, opened.info, prompt)
    known = sum(tokens)
    left = cached - max(whole - known, 0) + _SLACK * whole
    for place, size in enumerate(tokens):
        left -= size * min(whole / max(known, 1), 1.0)
        if left < 0:
            return place
    return len(tokens)


def _describe_origin(
    opened: OpenedSession, found: Timeline, one: RequestRow, prompt: Fates
) -> Iterator[str]:
    """Yield where the prompt comes from, and what of it is not known."""
    store, info = opened.store, opened.info
    arrival = frame_of(info).get("arrival")
    if found.source != "measured":
        yield "No request was recorded: one is assumed before each answer."
    if arrival is not None and one.position > arrival.get("start", 0):
        yield _AS_SENT
        return
    yield _REBUILT.format(info.source or "the agent")
    if not (prompt.view or find_agent(info.source).compaction.keeps_summary_alone) and any(
        one.generated for one in store.sums(info.id, [(0, prompt.length)])
    ):
        yield "The agent had compacted by itself. Its file does not say what it kept beside that."

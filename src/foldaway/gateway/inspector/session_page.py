"""The page of a session: its window over time, and beside it the conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, convert
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse

from foldaway.caching import PriceList
from foldaway.dialects import parse
from foldaway.errors import UnknownPosition, UnknownReference
from foldaway.gateway import ROOT as API
from foldaway.gateway.inspector.conversation import log_rows, prompt_rows, seen_rows
from foldaway.gateway.inspector.message_fates import Fates, fates
from foldaway.gateway.inspector.safe_text import UNTITLED
from foldaway.gateway.inspector.session_sources import COPIES, DEMO, OpenedSession
from foldaway.gateway.inspector.site import (
    HEADERS,
    Answer,
    HtmlPage,
    Inspector,
    NotAllowed,
    body_of,
    is_export,
    number,
    plural,
)
from foldaway.gateway.inspector.timeline import ContextStep, Timeline, columns
from foldaway.redaction import RedactionPolicy, Redactor, Vault
from foldaway.sessions import (
    PLACEHOLDER,
    add_frame,
    decode_rows,
    name_in_words,
    reveal_text,
    short_title,
)
from foldaway.stores import SessionInfo
from foldaway.usage import otherwise, short

CHUNK = 40
"""Messages that are drawn at once: a few screens."""
MOST_EXPORTED = 2_000
"""Messages of a page that is one file: about 10 MB, which browsers open at once."""
_LOWER = (
    ("paid", "tokens not from the cache"),
    ("cost", "cost in dollars"),
    ("seconds", "seconds to the answer"),
)
"""What is drawn below the prompts, one at a time: a column of the timeline, and its name."""
_RELATIONS = {
    "": "",
    "compression": "goes on",
    "branch": "branch",
    "delegation": "subagent",
    "reset": "new start",
}


def session_page(inspector: Inspector, request: Request) -> Answer:
    """Return the page of a session; `at` is a message to show, `show=view` what the model sees."""
    opened = inspector.shelf.open(str(request.path_params["id"]))
    info, store = opened.info, opened.store
    found, fate = inspector.timelines.find(store, info), fates(store, info)
    shows_view = _shows_view(request)
    total = fate.shown if shows_view else info.length
    at, chunk = min(number(request, "at", 0), max(total - 1, 0)), CHUNK
    if is_export(request):
        at, chunk, total = 0, MOST_EXPORTED, min(total, MOST_EXPORTED)
    start, drawn = at // chunk * chunk, columns(found)
    values: dict[str, Any] = {
        **about(opened),
        "is_demo": info.root_id == DEMO,
        "timeline": found,
        "told": _describe_timeline(found),
        "drawn": drawn,
        "has_times": len(drawn.time) > 1 and None not in drawn.time,
        "lower": [one for one in _LOWER if any(getattr(drawn, one[0]))] if drawn.cost else [],
        "steps": [(step, name_of(step)) for step in found.steps],
        "shows_view": shows_view,
        "total": total,
        "at": at,
        "chunk": chunk,
        "start": start,
        "rows": _rows(opened, fate, start, min(start + chunk, total), shows_view=shows_view),
        "counts": _counts(fate),
        "tree": list(_tree(opened)),
    }
    return HtmlPage("session.html.j2", values)


def rows_part(inspector: Inspector, request: Request) -> Answer:
    """Return messages of a session, without the page around them."""
    opened = inspector.shelf.open(str(request.path_params["id"]))
    is_prompt = "length" in request.query_params  # of a request, with its view
    view, length = (number(request, name, 0) for name in ("view", "length"))
    fate = fates(opened.store, opened.info, *((view, length) if is_prompt else ()))
    shows_view = _shows_view(request)
    total = fate.shown if shows_view or is_prompt else opened.info.length
    start = number(request, "start", 0, most=total)
    stop = number(request, "stop", start + CHUNK, most=min(start + CHUNK, total))
    if is_prompt:
        known = number(request, "cached", 0), number(request, "shared", 0)
        rows = list(prompt_rows(opened, fate, known, start, stop))
    else:
        rows = _rows(opened, fate, start, stop, shows_view=shows_view)
    inner = "inner" in request.query_params
    return HtmlPage("rows.html.j2", {**about(opened), "rows": rows, "is_inner": inner})


def message_text(inspector: Inspector, request: Request) -> Answer:
    """Return one message as plain text, all of it, without its secrets."""
    opened = inspector.shelf.open(str(request.path_params["id"]))
    position = number(request, "position", 0)
    rows = opened.store.read(opened.info.id, position, position + 1)
    if not rows:
        raise UnknownPosition(opened.info.id, position, opened.info.length - 1)
    (message,) = decode_rows(rows, opened.info.dialect)
    text = reveal_text(message, opened.api.show).encode("utf-8", "replace")
    return PlainTextResponse(text, headers=HEADERS)


def otherwise_part(inspector: Inspector, request: Request) -> Answer:
    """Return what a session would have cost in other ways; it is replayed now."""
    opened = inspector.shelf.open(str(request.path_params["id"]))
    found = otherwise(opened.store, opened.info, PriceList())
    return HtmlPage("otherwise.html.j2", {"found": found})


def reference_page(inspector: Inspector, request: Request) -> Answer:
    """Go to the first message behind a reference."""
    opened = inspector.shelf.open(str(request.path_params["id"]))
    reference = str(request.path_params["reference"])
    place = next(iter(opened.store.places(reference, session_id=opened.info.id)), None)
    if place is None:
        raise UnknownReference(reference)
    first = place.reference.start
    return RedirectResponse(f"{opened.address}?at={first}#m{first}", 303, headers=HEADERS)


def about(opened: OpenedSession) -> dict[str, Any]:
    """Return what every page of a session says about it."""
    info, show = opened.info, opened.api.show
    return {
        "opened": opened,
        "info": info,
        "address": opened.address,
        "folder": show(info.cwd),
        "title": title_of(opened, info),
        "api": COPIES if opened.is_copy else API,
    }


def title_of(opened: OpenedSession, info: SessionInfo) -> str:
    """Return what a session is called, as in the list."""
    return short_title(opened.api.show(name_in_words(info))) or UNTITLED


def name_of(step: ContextStep) -> tuple[str, str]:
    """Return the name of a compaction in addresses, and what it is called."""
    if step.reason == "agent":
        return f"own-{step.position}", "by the agent itself"
    what = {
        "undo": "undone",
        "rotation": "compaction, in a new session",
        "erasure": "words were erased",
    }
    return str(step.view), what.get(step.reason, "compaction")


def _shows_view(request: Request) -> bool:
    return request.query_params.get("show") == "view"


def _rows(
    opened: OpenedSession, fate: Fates, start: int, stop: int, *, shows_view: bool
) -> list[Any]:
    rows = seen_rows if shows_view else log_rows
    return list(rows(opened, fate, start, stop))


def _describe_timeline(found: Timeline) -> str:
    """Return the timeline in a sentence, for those who do not see it."""
    if not found.requests:
        return "Nothing was sent to a model."
    prompts = [sum(held) for held in found.held]
    return (
        f"Size of the prompt over {plural(len(prompts), 'request')}: from {short(prompts[0])} "
        f"tokens, at most {short(max(prompts))}, {short(prompts[-1])} at the end; the window is "
        f"{short(found.window_tokens)} tokens; {plural(len(found.steps), 'compaction')}."
    )


def _counts(fate: Fates) -> str:
    """Return what became of the messages, in a sentence."""
    count = {"kept": 0, "rewritten": 0, "folded": 0}
    for one in fate.items:
        count[one.kind] += one.stop - one.start
    if not count["folded"] and not count["rewritten"]:
        return f"The model sees all of the {plural(fate.length, 'message')}."
    return (
        f"Of {plural(fate.length, 'message')} the model sees {count['kept']:,} as they are, "
        f"{count['rewritten']:,} shorter, and a summary instead of {count['folded']:,}."
    )


def _relation(info: SessionInfo) -> str:
    """Return how a session comes from its parent, and from which message a branch departs."""
    departs = f" from #{info.forked_at}" if info.descent == "branch" else ""
    return _RELATIONS[info.descent] + departs


def _tree(opened: OpenedSession) -> Iterator[dict[str, Any]]:
    """Yield the sessions of a lineage, each below the one that it comes from."""
    found = opened.store.lineage(opened.info.id)
    children: dict[str, list[SessionInfo]] = {}
    known = {info.id for info in found}
    for info in found:
        parent = info.parent_id if info.parent_id in known else ""
        children.setdefault(parent, []).append(info)
    waiting = [(info, 0) for info in reversed(children.get("", []))]
    while waiting:
        info, depth = waiting.pop()
        title = title_of(opened, info)
        yield {
            "id": info.id,
            "title": title,
            "depth": depth,
            "length": info.length,
            "relation": _relation(info),
            "is_here": info.id == opened.info.id,
        }
        waiting += [(one, depth + 1) for one in reversed(children.get(info.id, []))]


class SecretAsked(Struct, frozen=True, forbid_unknown_fields=True):
    """Which secret: a message, or -1 for the system prompt beside them, and its placeholder."""

    position: int
    mark: str


class SecretShown(Struct, frozen=True):
    """What stood there."""

    secret: str


def show_secret(inspector: Inspector, request: Request) -> Answer:
    """Return the secret behind a placeholder of a message."""
    asked = convert(parse(body_of(request)), SecretAsked)
    opened = inspector.shelf.open(str(request.path_params["id"]))
    message, at = add_frame(opened.info).system if asked.position == -1 else None, asked.position
    rows = opened.store.read(opened.info.id, at, at + 1) if at >= 0 else []
    message = next(iter(decode_rows(rows, opened.info.dialect)), message)
    if message is None or not PLACEHOLDER.fullmatch(asked.mark):
        raise UnknownPosition(opened.info.id, asked.position, opened.info.length)
    vault = Vault()
    policy = RedactionPolicy(key=opened.store.redaction_key())
    reveal_text(message, Redactor(policy, vault=vault))
    found = vault.restore(asked.mark)
    if found == asked.mark:
        said = "this was hidden as a whole and cannot be shown by itself"
        raise NotAllowed(f"{said}; export the session with `foldaway sessions export`")
    return SecretShown(found)

"""The page of a compaction: before and after, what it kept and lost, and what another would do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import HTMLResponse

from foldaway.caching import PriceList
from foldaway.compaction import message_tokens
from foldaway.gateway import NotThere
from foldaway.gateway.inspector.agent_steps import agent_step
from foldaway.gateway.inspector.code import word_diff
from foldaway.gateway.inspector.compaction_steps import CompactionStep, StepPlace, StepTools, step
from foldaway.gateway.inspector.conversation import draw_body, read_messages
from foldaway.gateway.inspector.rendering import one_line, render_message
from foldaway.gateway.inspector.safe_text import Rendering
from foldaway.gateway.inspector.session_page import MOST_EXPORTED, about
from foldaway.gateway.inspector.session_sources import OpenedSession
from foldaway.gateway.inspector.site import (
    HEADERS,
    Answer,
    HtmlPage,
    Inspector,
    is_export,
    number,
    plural,
    whole_number,
)
from foldaway.gateway.inspector.summary_entries import PRESENT, SummarySection
from foldaway.sessions import as_it_is, reveal_text
from foldaway.transcript import Estimator, Message, Text

LINES = 100
"""Lines of a side that are drawn at once."""
_OWN = "own-"
_SHOWN_FACTS = 12
"""Facts that are shown before somebody asks for the rest."""


class PlaceLine(Struct, frozen=True, kw_only=True):
    """One message that the model saw, in a line."""

    at: int
    """Among the messages of its side."""
    start: int
    """In the log: the first message that it stands for."""
    position: int | None = None
    """In the log; None for a summary."""
    role: str = "summary"
    text: str = ""
    tokens: int
    fate: str
    is_pinned: bool = False
    body: str = ""
    """What it opens to, if nothing can be asked for later."""


def compaction_page(inspector: Inspector, request: Request) -> Answer:
    """Return the page of one compaction, by the number of its view or `own-` and its position."""
    whole = is_export(request)
    opened, found = _asked(inspector, request, facts=whole)
    sides = {"before": _pack(found.before), "after": _pack(found.after)}
    values: dict[str, Any] = {
        **about(opened),
        "name": request.path_params["name"],
        "step": found,
        "sides": sides,
        "counts": Counter(place.fate for place in found.before),
        "lines": LINES,
        "is_current": found.view is not None and found.view.current,
        "record": _record(found),
        "say": partial(_say, opened),
    }
    if whole:
        values |= {
            **_facts(found),
            "written": {
                side: list(_with_bodies(opened, found, side, MOST_EXPORTED)) for side in sides
            },
        }
    return HtmlPage("compaction.html.j2", values)


def trial_page(inspector: Inspector, request: Request) -> Answer:
    """Return the page on which a compaction of the session as it stands can be tried and made."""
    opened = inspector.shelf.open(str(request.path_params["id"]))
    return HtmlPage("trial.html.j2", {**about(opened), "name": ""})


def lines_part(inspector: Inspector, request: Request) -> Answer:
    """Return lines of one side of a compaction: `side` is before or after."""
    opened, found = _asked(inspector, request, facts=False)
    side = "after" if request.query_params.get("side") == "after" else "before"
    places = found.after if side == "after" else found.before
    start = number(request, "start", 0, most=len(places))
    lines = list(_lines(opened, places[start : start + LINES], start))
    values = {"lines": lines, "name": request.path_params["name"], "side": side}
    return HtmlPage("lines.html.j2", {**about(opened), **values})


def message_part(inspector: Inspector, request: Request) -> Answer:
    """Return a message as it stood on one side of a compaction, or what was rewritten in it."""
    opened, found = _asked(inspector, request, facts=False)
    at = number(request, "at", 0)
    places = found.after if request.query_params.get("side") == "after" else found.before
    if at >= len(places):
        raise NotThere(f"there is no message {at} on this side of the compaction")
    return HTMLResponse(_body(opened, found, places[at]), headers=HEADERS)


def _body(opened: OpenedSession, found: CompactionStep, place: StepPlace) -> str:
    """Return what a line opens to."""
    _, logged, calls = next(read_messages(opened, place.start, place.start + 1))
    more = f"{opened.address}/message/{place.start}"
    if place.fate != "rewritten":
        return draw_body(opened, place.message or logged, calls, "" if place.is_written else more)
    both = [
        next(one for one in side if one.start == place.start and not one.is_written)
        for side in (found.before, found.after)
    ]
    rendering = Rendering(as_it_is, opened.reference_address, more)
    messages = [one.message or logged for one in both]
    was, now = (message_tokens(one, Estimator()) for one in messages)
    old, new = (rendering.take(reveal_text(one, opened.api.show)) for one in messages)
    html = f'<p class="dim">About {was:,} → {plural(now, "token")}</p>'
    html += word_diff(old.text, new.text, rendering)
    return html + rendering.rest(max(old.left_chars, new.left_chars))


def facts_part(inspector: Inspector, request: Request) -> Answer:
    """Return the facts that were used after a compaction, and whether it had kept them."""
    opened, found = _asked(inspector, request, facts=True)
    return HtmlPage("facts.html.j2", {**about(opened), **_facts(found)})


def _facts(step: CompactionStep) -> dict[str, Any]:
    found = step.used_later
    order = {"lost": 0, "recallable": 1, "kept": 2}
    facts = sorted(found.facts, key=lambda fact: (order[fact.state], fact.used_at))
    return {"found": found, "facts": facts, "shown": _SHOWN_FACTS}


def _asked(
    inspector: Inspector, request: Request, *, facts: bool
) -> tuple[OpenedSession, CompactionStep]:
    """Return the session and the compaction that an address names."""
    opened = inspector.shelf.open(str(request.path_params["id"]))
    name, api = str(request.path_params["name"]), opened.api
    tools = StepTools(show=api.show, prices=PriceList(), window=api.options.context_length)
    make = agent_step if name.startswith(_OWN) else step
    at = whole_number(name.removeprefix(_OWN))
    return opened, make(opened.store, opened.info, at, tools, facts=facts)


def _pack(places: Sequence[StepPlace]) -> list[tuple[int, str]]:
    """Return runs of the same fate, for a picture of thousands of messages."""
    found: list[tuple[int, str]] = []
    for place in places:
        fate = "summary" if place.is_written else place.fate
        if found and found[-1][1] == fate and fate != "summary":
            found[-1] = (found[-1][0] + 1, fate)
        else:
            found.append((1, fate))
    return found


def _lines(
    opened: OpenedSession, places: Sequence[StepPlace], first: int = 0
) -> Iterator[PlaceLine]:
    """Yield messages in a line each; `first` is the number of the first one on its side."""
    pins = {pin.position for pin in opened.store.pins(opened.info.id)}
    real = [place.start for place in places if not place.is_written]
    rows = read_messages(opened, min(real), max(real) + 1) if real else ()
    read = {row.position: (row, message) for row, message, _ in rows}
    for at, place in enumerate(places, first):
        tokens = message_tokens(place.message, Estimator()) if place.message else 0
        line = PlaceLine(at=at, start=place.start, fate=place.fate, tokens=tokens)
        if place.is_written:
            count = place.stop - place.start
            text = f"Summary of #{place.start} to #{place.stop - 1}, {count:,} messages"
            if count == 1:  # one folded message, or the one in which the agent wrote its summary
                text = f"Summary, at #{place.start}"
            yield replace(line, text=text)
            continue
        row, message = read[place.start]
        yield replace(
            line,
            position=place.start,
            role=row.role,
            text=one_line(place.message or message, opened.api.show),
            is_pinned=place.start in pins,
            tokens=tokens or row.tokens,
        )


def _with_bodies(
    opened: OpenedSession, found: CompactionStep, side: str, most: int
) -> Iterator[PlaceLine]:
    places = (found.after if side == "after" else found.before)[:most]
    for line, place in zip(_lines(opened, places), places, strict=True):
        yield replace(line, body=Markup(_body(opened, found, place)))


def _say(opened: OpenedSession, text: str) -> Markup:
    """Return a text of the record, which has no secrets, as Markdown."""
    message = Message("assistant", (Text(text),))
    return render_message(message, show=as_it_is, address=opened.reference_address)


def _record(found: CompactionStep) -> list[tuple[str, list[SummarySection]]]:
    """Return the sections of the summary: the present state, and apart from it what happened."""
    sections = found.summary.sections if found.summary else ()
    groups = (
        ("The present state", [one for one in sections if one.name in PRESENT]),
        ("What happened", [one for one in sections if one.name not in PRESENT]),
    )
    return [group for group in groups if group[1]]

"""The page of a compaction: before and after, what it kept and lost, and what another would do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from starlette.requests import Request

from foldaway.caching import PriceList
from foldaway.gateway.inspector.agent_steps import agent_step
from foldaway.gateway.inspector.compaction_steps import CompactionStep, StepPlace, StepTools, step
from foldaway.gateway.inspector.rendering import one_line
from foldaway.gateway.inspector.session_page import MOST_EXPORTED, about
from foldaway.gateway.inspector.session_sources import OpenedSession
from foldaway.gateway.inspector.site import (
    Answer,
    HtmlPage,
    Inspector,
    is_export,
    number,
    whole_number,
)
from foldaway.sessions import decode_rows

LINES = 100
"""Lines of a side that are drawn at once."""
_OWN = "own-"
_SHOWN_FACTS = 40
"""Facts that are shown before somebody asks for the rest."""


class PlaceLine(Struct, frozen=True, kw_only=True):
    """One message that the model saw, in a line."""

    position: int | None
    """In the log; None for a summary."""
    role: str
    text: str
    tokens: int
    fate: str
    is_pinned: bool = False


def compaction_page(inspector: Inspector, request: Request) -> Answer:
    """Return the page of one compaction, by the number of its view or `own-` and its position."""
    opened = inspector.shelf.open(str(request.path_params["id"]))
    whole = is_export(request)
    found = _step(opened, str(request.path_params["name"]), facts=whole)
    sides = {"before": _pack(found.before), "after": _pack(found.after)}
    values: dict[str, Any] = {
        **about(opened),
        "name": request.path_params["name"],
        "step": found,
        "sides": sides,
        "counts": Counter(place.fate for place in found.before),
        "lines": LINES,
        "is_current": found.view is not None and found.view.current,
    }
    if whole:
        values |= {
            **_facts(found),
            "written": {
                "before": list(_lines(opened, found.before[:MOST_EXPORTED])),
                "after": list(_lines(opened, found.after[:MOST_EXPORTED], is_after=True)),
            },
        }
    return HtmlPage("compaction.html.j2", values)


def trial_page(inspector: Inspector, request: Request) -> Answer:
    """Return the page on which a compaction of the session as it stands can be tried and made."""
    opened = inspector.shelf.open(str(request.path_params["id"]))
    return HtmlPage("trial.html.j2", {**about(opened), "name": ""})


def lines_part(inspector: Inspector, request: Request) -> Answer:
    """Return lines of one side of a compaction: `side` is before or after."""
    opened = inspector.shelf.open(str(request.path_params["id"]))
    found = _step(opened, str(request.path_params["name"]), facts=False)
    is_after = request.query_params.get("side") == "after"
    places = found.after if is_after else found.before
    start = number(request, "start", 0, most=len(places))
    lines = list(_lines(opened, places[start : start + LINES], is_after=is_after))
    return HtmlPage("lines.html.j2", {**about(opened), "lines": lines})


def facts_part(inspector: Inspector, request: Request) -> Answer:
    """Return the facts that were used after a compaction, and whether it had kept them."""
    opened = inspector.shelf.open(str(request.path_params["id"]))
    found = _step(opened, str(request.path_params["name"]), facts=True)
    return HtmlPage("facts.html.j2", {**about(opened), **_facts(found)})


def _facts(step: CompactionStep) -> dict[str, Any]:
    found = step.used_later
    order = {"lost": 0, "recallable": 1, "kept": 2}
    facts = sorted(found.facts, key=lambda fact: (order[fact.state], fact.used_at))
    return {"found": found, "facts": facts, "shown": _SHOWN_FACTS}


def _step(opened: OpenedSession, name: str, *, facts: bool) -> CompactionStep:
    tools = StepTools(
        show=opened.api.show, prices=PriceList(), window=opened.api.options.context_length
    )
    if name.startswith(_OWN):
        at = whole_number(name.removeprefix(_OWN))
        return agent_step(opened.store, opened.info, at, tools, facts=facts)
    return step(opened.store, opened.info, whole_number(name), tools, facts=facts)


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
    opened: OpenedSession, places: Sequence[StepPlace], *, is_after: bool = False
) -> Iterator[PlaceLine]:
    """Yield messages in a line each; those that follow each other are read at once. The log has no
    size of what a compaction rewrote, so after it there is none.
    """
    info, show = opened.info, opened.api.show
    pins = {pin.position for pin in opened.store.pins(info.id)}
    real = [place.start for place in places if not place.is_written]
    rows = opened.store.read(info.id, min(real), max(real) + 1) if real else []
    wanted = set(real)
    read = {
        row.position: (row, message)
        for row, message in zip(rows, decode_rows(rows, info.dialect), strict=True)
        if row.position in wanted
    }
    for place in places:
        if place.is_written:
            count = place.stop - place.start
            text = f"Summary of #{place.start} to #{place.stop - 1}, {count:,} messages"
            if count == 1:  # one folded message, or the one in which the agent wrote its summary
                text = f"Summary, at #{place.start}"
            yield PlaceLine(position=None, role="summary", text=text, tokens=0, fate=place.fate)
            continue
        row, message = read[place.start]
        yield PlaceLine(
            position=place.start,
            role=row.role,
            text=one_line(message, show),
            fate=place.fate,
            is_pinned=place.start in pins,
            tokens=0 if is_after and place.fate == "rewritten" else row.tokens,
        )

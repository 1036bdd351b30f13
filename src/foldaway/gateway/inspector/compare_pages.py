"""Two sessions beside each other, strategies on one session, and the reports of the lab."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from foldaway.gateway import NotThere
from foldaway.gateway.inspector.addresses import Choice
from foldaway.gateway.inspector.session_list import list_sessions
from foldaway.gateway.inspector.session_page import title_of
from foldaway.gateway.inspector.session_sources import OpenedSession
from foldaway.gateway.inspector.site import HEADERS, Answer, HtmlPage, Inspector, percent, when
from foldaway.gateway.inspector.strategy_trials import TrialState
from foldaway.lab import (
    SessionTrial,
    find_report,
    list_runs,
    needed_for_trials,
    report_script,
    trial_columns,
)
from foldaway.usage import SessionDetails, full, money, session_details, short, short_paths

_RECENT = 8
"""Sessions of which two are chosen; any others are chosen in the list of all."""
_MOST_CHOICES = 50
"""Sessions in the menu for a trial; a page of any other has a link to here."""
_MOST_TOOLS = 3
"""Tools that are named; the page of a session has all."""
_WIDTH, _HEIGHT, _EDGE = 640, 300, 46
"""Of the picture, in its own units: its letters are as large as those of the page at this width."""
_LINE = 17
"""Units between two names in the picture, so that they can be read."""
_NAME_UNITS = 110
"""About the width of the longest name of a strategy in the picture."""
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_POLICY = (
    "default-src 'none'; {scripts} style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts allow-popups"
)
"""A report is a page of its own, without an origin and without the network: what is in it can ask
nobody. It draws with inline styles; of scripts only the one that this version writes runs."""


class PlotPoint(Struct, frozen=True, kw_only=True):
    """A strategy in the picture: how much it keeps, and what the rest of the session costs."""

    name: str
    x: float
    y: float
    label_y: float
    is_left: bool
    """Whether its name is drawn to its left, because there is no room to its right."""
    is_ours: bool


def compare(inspector: Inspector, request: Request) -> Answer:
    """Return the page: what can be compared, and what was asked for."""
    inspector.spending.start()
    asked = {name: request.query_params.get(name, "") for name in ("a", "b", "session")}
    spending = inspector.spending.spending
    listed = list_sessions(inspector.shelf, spending, Choice(), most=_MOST_CHOICES).rows
    recent = listed[:_RECENT]
    chosen = [asked["a"], asked["b"]] if asked["a"] and asked["b"] else [r.name for r in recent[:2]]
    values: dict[str, Any] = {
        **asked,
        "choices": listed,
        "recent": recent,
        "chosen": chosen,
        "projects": short_paths({row.project for row in recent}),
        "missing": needed_for_trials(),
        "runs": list_runs(inspector.lab_places),
        "pair": None,
        "trial": None,
    }
    if asked["a"] and asked["b"]:
        pair = [inspector.shelf.open(asked[name]) for name in ("a", "b")]
        values["pair"] = _pair(*pair)
    if asked["session"]:
        values["trial"] = _trial(inspector, inspector.shelf.open(asked["session"]))
    return HtmlPage("compare.html.j2", values)


def trial_state(inspector: Inspector, request: Request) -> Answer:
    """Return how far the trial of a session is; a POST begins it."""
    session = inspector.shelf.open(str(request.path_params["id"]))
    if request.method == "POST":
        window = inspector.timelines.find(session.store, session.info).window_tokens
        return inspector.trials.start(session.store, session.info, window)
    return inspector.trials.state(session.info)


# Two sessions


def _pair(a: OpenedSession, b: OpenedSession) -> dict[str, object]:
    details = [session_details(one.store, one.info) for one in (a, b)]
    left, right = _facts(a, details[0]), _facts(b, details[1])
    titles = [title_of(one, one.info) for one in (a, b)]
    sizes = [[turn.input_tokens for turn in one.turns] for one in details]
    return {
        "titles": titles,
        "ids": [a.info.id, b.info.id],
        "facts": [(name, left[name], right[name]) for name in left],
        "chart": dict(zip("ab", sizes, strict=True)),
        "steps": [one.steps for one in details],
    }


def _facts(session: OpenedSession, details: SessionDetails) -> dict[str, str]:
    """Return what is known of a session, by what it is called."""
    info, totals = session.info, details.totals
    folded = sum(one.tokens_before - one.tokens_after for one in details.steps if not one.undone)
    tools = ", ".join(
        f"{name} {count:,}" for name, count in list(details.tools.items())[:_MOST_TOOLS]
    )
    largest = max((turn.input_tokens for turn in details.turns), default=0)
    return {
        "Agent": info.source or "foldaway",
        "Model": info.model or next((turn.model for turn in details.turns if turn.model), ""),
        "Started": when(info.started),
        "Messages": full(info.length),
        "Tokens of all messages": short(info.tokens),
        "Most used tools": tools,
        "Requests": full(totals.requests),
        "Tokens sent in all requests": short(totals.input_tokens),
        "Read from the cache": percent(totals.cache_hit_rate) if totals.requests else "",
        "Cache misses": full(totals.cache_misses) if totals.requests else "",
        "Tokens written by the model": short(totals.output_tokens),
        "Largest prompt": short(largest) if largest else "",
        "Cost": "not known" if totals.cost is None else money(totals.cost),
        "Compactions by Foldaway": full(sum(not one.undone for one in details.steps)),
        "Tokens that they folded": short(folded),
        "Messages by the agent's own compaction": full(details.generated),
    }


# Strategies


def _trial(inspector: Inspector, session: OpenedSession) -> dict[str, object]:
    state: TrialState = inspector.trials.state(session.info)
    result = inspector.trials.result(session.info)
    return {
        "id": session.info.id,
        "state": state,
        "result": result,
        "title": title_of(session, session.info),
        "tokens": session.info.tokens,
        "columns": trial_columns(),
        "points": picture(result) if result else (),
        "plot": (_WIDTH, _HEIGHT, _EDGE),
    }


def picture(trial: SessionTrial) -> list[PlotPoint]:
    """Return where each strategy stands: what is kept upward, the cost of the rest to the right."""
    known = trial.points
    if not known:
        return []
    costs = [one.cost for one in known]
    low, high = min(*costs, 1.0), max(*costs, 1.0)
    places: list[tuple[float, float, str]] = []
    for one in sorted(known, key=lambda one: -one.kept):
        share = (one.cost - low) / (high - low) if high > low else 0.5
        x = _EDGE + share * (_WIDTH - 2 * _EDGE)
        y = _EDGE / 2 + (1 - one.kept) * (_HEIGHT - 1.5 * _EDGE)
        places.append((x, y, one.strategy))
    ours = {one.strategy for one in known if one.is_ours}
    lowest, found = {True: float(-_LINE), False: float(-_LINE)}, list[PlotPoint]()
    for x, y, name in places:
        is_left = _is_left(x, y, places)
        label_y = lowest[is_left] = max(y + 4, lowest[is_left] + _LINE)
        found.append(
            PlotPoint(
                name=name,
                x=round(x, 1),
                y=round(y, 1),
                label_y=round(label_y, 1),
                is_left=is_left,
                is_ours=name in ours,
            )
        )
    return found


def _is_left(x: float, y: float, places: Sequence[tuple[float, float, str]]) -> bool:
    """Return whether a name has no room to the right of its point, and has some to the left."""
    if x + _NAME_UNITS > _WIDTH:
        return True
    if x < _EDGE + _NAME_UNITS:
        return False
    return any(0 < other - x < _NAME_UNITS and abs(at - y) < _LINE for other, at, _ in places)


# Reports of the lab


def lab_report(inspector: Inspector, request: Request) -> Answer:
    """Return the report of a run, as a page that can do nothing outside itself."""
    name = str(request.path_params["name"])
    page = find_report(inspector.lab_places, name)
    if page is None:
        raise NotThere(
            f"no run of the lab is called {name!r}; the list of runs has their addresses"
        )
    headers = {**HEADERS, "content-security-policy": policy_for(page)}
    return Response(page, headers=headers, media_type="text/html; charset=utf-8")


def policy_for(page: bytes) -> str:
    """Return what a browser may do with a report: run our own script in it, and no other."""
    ours = [one for one in _SCRIPT.findall(page) if one.strip() == report_script()]
    marks = [base64.b64encode(hashlib.sha256(one).digest()).decode() for one in ours]
    allowed = " ".join(f"'sha256-{mark}'" for mark in marks)
    return _POLICY.format(scripts=f"script-src {allowed};" if allowed else "script-src 'none';")

"""The first page: what was spent, where it went, and the newest sessions."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from starlette.requests import Request

from foldaway.gateway.inspector.addresses import Choice, choice_of
from foldaway.gateway.inspector.live_board import LiveNotice
from foldaway.gateway.inspector.session_list import list_sessions
from foldaway.gateway.inspector.site import ROOT, Answer, HtmlPage, Inspector, number, render
from foldaway.gateway.inspector.spending_totals import totals_of
from foldaway.usage import OwnCompaction, kind_in_prompts, short_paths

NEWEST = 10
"""Sessions on the first page: as many as fit below the figures."""
PERIODS = ((7, "7 days"), (30, "30 days"), (0, "All"))
_WAIT_SECONDS = 1.0
"""How long a question for the state waits for a change: the progress is drawn again once a
second."""


def home(inspector: Inspector, request: Request) -> Answer:
    """Return the first page."""
    inspector.spending.start(with_store=True)
    choice = choice_of(request.query_params)
    shelf, spending = inspector.shelf, inspector.spending.whole
    listed = list_sessions(shelf, spending, choice, most=NEWEST)
    totals = totals_of(spending, choice, shelf.show) if spending else None
    state = inspector.spending.progress.state
    is_empty = choice.is_empty and not listed.rows and state.step in ("replaying", "ready")
    return HtmlPage(
        "home.html.j2",
        {
            "choice": choice,
            "list": listed,
            "state": state,
            "totals": totals,
            "saved_sum": OwnCompaction.add_up(totals.own if totals else ()),
            "periods": PERIODS,
            "is_empty": is_empty,
            "kind_of": kind_in_prompts,
            "chips": chips(choice, ROOT),
            "projects": short_paths({row.project for row in listed.rows}),
            "all": choice.address(f"{ROOT}/sessions"),
        },
    )


def reading(inspector: Inspector, request: Request) -> Answer:
    """Return how far the reading of files is, for the script of a page that waits for it."""
    inspector.spending.start()
    known = request.query_params.get("known", "")
    seconds = min(number(request, "wait", 1), 1) * _WAIT_SECONDS
    return inspector.spending.progress.wait(known, seconds)


def chips(choice: Choice, path: str) -> list[tuple[str, str]]:
    """Return what a page is narrowed to, each with the address of the page without it."""
    found: list[tuple[str, str]] = []
    if choice.since or choice.until:
        same = choice.since == choice.until
        span = choice.since if same else f"{choice.since or '…'} to {choice.until or '…'}"
        found.append((span, choice.address(path, since="", until="")))
    for name in ("project", "agent", "model", "text"):
        value = getattr(choice, name)
        if value:
            found.append((f"{name} {value}", choice.address(path, **{name: ""})))
    return found


class LiveAnswer(Struct, frozen=True):
    """What the script of the page gets."""

    html: str
    notices: Sequence[LiveNotice]


def live(inspector: Inspector, request: Request) -> Answer:
    """Return the page with the state of now."""
    view = inspector.live.look()
    return HtmlPage("live.html.j2", {"view": view, "is_live": inspector.is_live})


def live_state(inspector: Inspector, request: Request) -> Answer:
    """Return the part of the page that changes, and what to notify of."""
    view = inspector.live.look()
    page = HtmlPage("live_state.html.j2", {"view": view, "is_live": inspector.is_live})
    return LiveAnswer(render(inspector, page), view.notices)

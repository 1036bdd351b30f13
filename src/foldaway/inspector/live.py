"""The page of what runs now; its script asks for the state again when something happened."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from starlette.requests import Request

from foldaway.inspector.live_board import LiveNotice
from foldaway.inspector.site import Answer, HtmlPage, Inspector, rendered


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
    return LiveAnswer(rendered(inspector, page), view.notices)

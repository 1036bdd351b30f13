"""The first page: what was spent, where it went, and the newest sessions."""

from __future__ import annotations

from starlette.requests import Request

from holdfast.inspector.site import Answer, Inspector, Page
from holdfast.stores.values import SessionFilter


def home(inspector: Inspector, request: Request) -> Answer:
    """Return the first page."""
    api = inspector.shelf.api
    rows = api.store.sessions(SessionFilter(), most=30).sessions if api else ()
    return Page("home.html.j2", {"rows": rows, "files": inspector.shelf.files})

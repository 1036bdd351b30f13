"""The list of all sessions, and what is done with several of them at once."""

from __future__ import annotations

import io
import zipfile
from typing import Final

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from foldaway.gateway import SessionChanged
from foldaway.gateway.inspector.addresses import choice_of
from foldaway.gateway.inspector.overview_pages import chips
from foldaway.gateway.inspector.session_list import count_sessions, list_names, list_sessions
from foldaway.gateway.inspector.session_page import session_page
from foldaway.gateway.inspector.site import (
    HEADERS,
    ROOT,
    Answer,
    HtmlPage,
    Inspector,
    NotAllowed,
    body_of,
    to_file,
)
from foldaway.usage import short_paths

AT_ONCE = 50
"""Sessions on a page of the list, and so the most that are chosen at once."""
ORDERS: Final = {
    "": "last used",
    "cost": "cost",
    "used_tokens": "tokens",
    "compactions": "compactions",
    "cwd": "project",
    "model": "model",
    "source": "agent",
}
"""What the list is sorted by, and what it is called."""


class ChosenSessions(Struct, frozen=True):
    """Sessions that somebody chose, by their names."""

    sessions: tuple[str, ...]


def sessions(inspector: Inspector, request: Request) -> Answer:
    """Return a page of the list of all sessions."""
    inspector.spending.start()
    choice = choice_of(request.query_params)
    after = request.query_params.get("after", "")
    shelf, spending = inspector.shelf, inspector.spending.spending
    listed = list_sessions(shelf, spending, choice, most=AT_ONCE, after=after)
    names, path = list_names(shelf, spending), f"{ROOT}/sessions"
    return HtmlPage(
        "sessions.html.j2",
        {
            "choice": choice,
            "list": listed,
            "state": inspector.spending.progress.state,
            "after": after,
            "chips": chips(choice, path),
            "names": names,
            "orders": ORDERS,
            "count": count_sessions(shelf, spending, choice),
            "projects": short_paths({row.project for row in listed.rows} | {*names.projects}),
            "next": choice.address(path, after=listed.next) if listed.next else "",
            "first": choice.address(path),
            "other": choice.address(path, subagents=not choice.subagents),
        },
    )


def delete_chosen(inspector: Inspector, request: Request) -> Answer:
    """Delete sessions of the store for good, all or none; return what is gone."""
    asked = msgspec.json.decode(body_of(request), type=ChosenSessions)
    api = inspector.shelf.api
    if api is None or any(name in inspector.shelf.list_files() for name in asked.sessions):
        raise NotAllowed("A session in the file of an agent is not deleted here. Delete its file.")
    ids = [api.store.session(name).id for name in asked.sessions]
    erased = api.store.erase(ids)
    for name in ids:
        api.look_again(name)
        api.events.publish(SessionChanged(what="delete_session", session=name))
    return erased


def export_chosen(inspector: Inspector, request: Request) -> Answer:
    """Return the pages of sessions, each as one file, in an archive."""
    names = list(dict.fromkeys(request.query_params.getlist("id")))[:AT_ONCE]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            scope = {**request.scope, "path_params": {"id": name}, "query_string": b"export=1"}
            page = session_page(inspector, Request(scope))
            if isinstance(page, HtmlPage):
                archive.writestr(f"foldaway-session-{name}.html", to_file(inspector, page))
    headers = {**HEADERS, "content-disposition": 'attachment; filename="foldaway-sessions.zip"'}
    return Response(packed.getvalue(), headers=headers, media_type="application/zip")

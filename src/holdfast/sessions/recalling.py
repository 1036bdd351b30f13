"""What past sessions say about a text: the port through which memory recalls them."""

from __future__ import annotations

import time
from collections.abc import Callable

from holdfast.search.values import Filters
from holdfast.sessions.finding import Show, discover
from holdfast.sessions.hiding import redactor_of
from holdfast.sessions.leaving import SPEAKERS
from holdfast.stores.store import Store

_MOST = 3
_SAID = Filters(roles=SPEAKERS)


def recall_from(store: Store, *, show: Show | None = None) -> Callable[[str, str], str]:
    """Return what finds the best places of past sessions; a line each, without secrets.

    It takes a text and the id of the session that asks, of which only what was folded is found.
    Without `show`, placeholders are made by the key of the store, which may be used by another
    thread at the same time.
    """
    hide = show or redactor_of(store)

    def recall(text: str, session_id: str) -> str:
        hits = discover(
            store, text, filters=_SAID, current=session_id, most=_MOST, around=0, show=hide
        )
        return "\n".join(
            f"- {_day(hit.time)}, {hit.role}, session {hit.session}: {hit.snippet}" for hit in hits
        )

    return recall


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))

"""Requests of a session: sent, and once more where the provider says that they were too big."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from holdfast.errors import InvalidSetting
from holdfast.sessions.kept import KeptConversation
from holdfast.sessions.too_long import refusal_of

T = TypeVar("T")
_SMALLER = 0.98
"""What a request must come to beside the one that was refused, to be worth another try."""


def send(session: KeptConversation, call: Callable[[list[Any]], T]) -> T:
    """Compact where it is due, and hand what the model should see to `call`; again as long as the
    provider says that it was too big, and it can be made smaller.
    """
    session.compact()
    while True:
        try:
            return call(session.messages)
        except Exception as error:
            if not recovered(session, error):
                raise


async def asend(session: KeptConversation, call: Callable[[list[Any]], Awaitable[T]]) -> T:
    """Do what `send` does, for hosts that await."""
    await session.acompact()
    while True:
        try:
            return await call(session.messages)
        except Exception as error:
            if not recovered(session, error):
                raise


def recovered(session: KeptConversation, error: BaseException) -> bool:
    """Return whether an error said that a request was too big, and it is smaller now.

    The window is what the error names, or half of what was sent: so a window that nobody names is
    found in a few steps.
    """
    refusal = refusal_of(error)
    if refusal is None:
        return False
    engine, before = session.engine, session.engine.estimate()
    lighter = False
    if refusal.means == "payload":
        lighter = session.lighten().status == "compacted"
    else:
        window = engine.settings.context_length
        limit = refusal.limit if refusal.limit and refusal.limit < window else before // 2
        if limit < window:
            try:
                engine.use_model(session.info.model, limit)
            except InvalidSetting:
                return False
    is_smaller = session.compact(force=True).status == "compacted"
    return lighter or (is_smaller and session.engine.estimate() < _SMALLER * before)

"""Requests of a session: sent, and once more where the provider says that they were too big."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from holdfast.engine.compressor import Compressor
from holdfast.errors import InvalidSetting
from holdfast.report import Report
from holdfast.sessions.too_long import refusal_of
from holdfast.stores.values import SessionInfo

T = TypeVar("T")
_SMALLER = 0.98
"""What a request must come to beside the one that was refused, to be worth another try."""


class RequestSession(Protocol):
    """What a request needs of a session."""

    @property
    def messages(self) -> list[Any]:
        """What the model should see now."""
        ...

    @property
    def engine(self) -> Compressor:
        """The compressor that holds the conversation."""
        ...

    @property
    def info(self) -> SessionInfo:
        """The session as the store had it last."""
        ...

    def compact(self, *, force: bool = False) -> Report:
        """Compact where it is due."""
        ...

    async def acompact(self) -> Report:
        """Do the same for hosts that await."""
        ...

    def lighten(self) -> Report:
        """Show older media as placeholders."""
        ...


def send(session: RequestSession, call: Callable[[list[Any]], T]) -> T:
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


async def asend(session: RequestSession, call: Callable[[list[Any]], Awaitable[T]]) -> T:
    """Do what `send` does, for hosts that await."""
    await session.acompact()
    while True:
        try:
            return await call(session.messages)
        except Exception as error:
            if not recovered(session, error):
                raise


def recovered(session: RequestSession, error: BaseException) -> bool:
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

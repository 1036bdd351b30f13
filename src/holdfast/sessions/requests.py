"""Requests of a session: sent, and once more where the provider says that they were too big."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from holdfast.engine.compressor import Compressor
from holdfast.report import Report
from holdfast.sessions.too_long import refusal_of
from holdfast.stores.values import SessionInfo

T = TypeVar("T")


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
    """Compact where it is due, and hand what the model should see to `call`; once more where the
    provider says that it was too big, and it could be made smaller.
    """
    session.compact()
    try:
        return call(session.messages)
    except Exception as error:
        if not recovered(session, error):
            raise
    return call(session.messages)


async def asend(session: RequestSession, call: Callable[[list[Any]], Awaitable[T]]) -> T:
    """Do what `send` does, for hosts that await."""
    await session.acompact()
    try:
        return await call(session.messages)
    except Exception as error:
        if not recovered(session, error):
            raise
    return await call(session.messages)


def recovered(session: RequestSession, error: BaseException) -> bool:
    """Return whether an error said that a request was too big, and it is smaller now."""
    refusal = refusal_of(error)
    if refusal is None:
        return False
    lighter = False
    if refusal.means == "payload":
        lighter = session.lighten().status == "compacted"
    elif refusal.limit and refusal.limit < session.engine.settings.context_length:
        session.engine.use_model(session.info.model, refusal.limit)
    return session.compact(force=True).status == "compacted" or lighter

"""Which call a Gemini function response answers, where ids are missing."""

from __future__ import annotations

from typing import Any

from holdfast.transcript import Role


class Waiting:
    """The calls of the latest model turn that have no response yet, in order."""

    __slots__ = ("_after_user", "_calls")

    def __init__(self) -> None:
        """Start with none."""
        self._calls: dict[str, str] = {}
        self._after_user = False

    def enter(self, role: Role) -> None:
        """Begin a message; the first of a new model turn ends the wait of the turn before."""
        if role != "assistant":
            self._after_user = True
        elif self._after_user:
            self._after_user = False
            self._calls = {}

    def call(self, own_id: str, name: str) -> None:
        """Note a call."""
        self._calls[own_id] = name

    def answer(self, given: Any, name: Any, fallback: str) -> tuple[str, str]:
        """Return the id and the name of the call that a response answers.

        By the id that is `given`; otherwise the first waiting call of that name (of any name where
        the response has none), only among calls without an id where the response has one. Where
        no call waits, the id that is given, or `fallback`.
        """
        has_id = type(given) is str and given != ""
        if has_id and given in self._calls:
            return given, self._calls.pop(given)
        named = type(name) is str and name != ""
        for own_id, called in self._calls.items():
            if (not named or called == name) and (not has_id or own_id.startswith("~")):
                del self._calls[own_id]
                return own_id, called
        return (given if has_id else fallback), "unknown_tool"

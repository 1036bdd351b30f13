"""What the model sees of a session, repaired if its provider would refuse it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from foldaway._core import log_event
from foldaway.dialects import check, has_only_results, repair
from foldaway.engine import Compressor
from foldaway.errors import CannotRepair
from foldaway.stores import SessionInfo, Store
from foldaway.transcript import Message, ToolCall


class MendedView(Struct, frozen=True):
    """Messages as their provider takes them, and the rules that they broke."""

    messages: list[Any]
    rules: tuple[str, ...] = ()


class Repairs:
    """Whether a session that was taken up needs a repair, and the last one that was made."""

    def __init__(self) -> None:
        self._needed: Literal["unknown", "no", "yes"] = "unknown"
        self._last: tuple[tuple[str, int, int], MendedView] | None = None

    def look_again(self) -> None:
        """Check again whether one is needed; what needed one once needs it for ever."""
        if self._needed == "no":
            self._needed = "unknown"

    def view(self, store: Store, info: SessionInfo, engine: Compressor) -> MendedView:
        """Return what the model sees, as its provider takes it."""
        shown = engine.messages
        if self._needed == "unknown":
            self._needed = "yes" if _is_broken(store, info, shown) else "no"
        if self._needed == "no":
            return MendedView(shown)
        place = (info.id, info.view, engine.length)
        if self._last is None or self._last[0] != place:
            self._last = (place, repaired_view(shown, engine.dialect))
        return self._last[1]


def _is_broken(store: Store, info: SessionInfo, messages: Sequence[Any]) -> bool:
    """Return whether messages need a repair before their provider takes them: for any reason if
    another agent wrote the beginning of the log, and otherwise if the user went on while a call had
    no result, as after a crash.
    """
    found = check(list(messages), dialect=info.dialect) if messages else []
    is_foreign = bool(found) and bool(info.source or store.session(info.root_id).source)
    return any(is_foreign or one.rule == "call-answered" for one in found)


def has_open_calls(log: Sequence[Message]) -> bool:
    """Return whether the last step of a log has more calls than results."""
    at, results, calls = len(log), 0, 0
    while at and has_only_results(log[at - 1]):
        at -= 1
        results += len(log[at].parts)
    while at and log[at - 1].role == "assistant":
        at -= 1
        calls += sum(isinstance(one, ToolCall) and one.kind != "server" for one in log[at].parts)
    return calls > results


def repaired_view(messages: list[Any], dialect: str) -> MendedView:
    """Return messages repaired; as they are where a repair would have to invent something."""
    try:
        done = repair(messages, dialect=dialect)
    except CannotRepair as error:
        log_event("repair.failed", violations=len(error.violations), dialect=dialect)
        return MendedView(messages)
    log_event("repair.done", repairs=len(done.actions), dialect=dialect)
    return MendedView(list(done.messages), tuple(dict.fromkeys(each.rule for each in done.actions)))

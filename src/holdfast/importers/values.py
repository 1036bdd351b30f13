"""Whose document a JSON value is, and the sessions in it."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from holdfast.dialects.registry import LIST_KEYS
from holdfast.errors import NotReadable
from holdfast.importers import hermes, opencode, openhands, plain, swe_agent, tau_bench, valued
from holdfast.importers.draft import record_name
from holdfast.importers.imported import ImportedSession, Note
from holdfast.importers.loose import fields
from holdfast.transcript import Payload

_LOOKED_AT = 8


def read_value(value: Any, path: str, source_id: str = "") -> Iterator[ImportedSession]:
    """Yield the sessions of a document; raises `NotReadable` where it is nobody's."""
    if type(value) is list:
        yield from _read_list(value, path)
    elif type(value) is dict:
        yield from _read_object(value, path, source_id)
    else:
        raise NotReadable(
            "holds no transcript", where=path, remedy="expected a JSON list or object of messages"
        )


def read_records(
    found: Iterable[tuple[str, Any]], path: str, notes: list[Note]
) -> Iterator[ImportedSession]:
    """Yield the conversation of each value with its place; one that holds none is noted."""
    for number, (place, value) in enumerate(found, 1):
        if not is_record(fields(value)):
            notes.append(Note("left out", place, "holds no conversation"))
            continue
        try:
            yield from read_value(value, path, record_name(path, number))
        except NotReadable as error:
            notes.append(Note("left out", place, error.what))


def with_notes(found: Iterator[ImportedSession], notes: list[Note]) -> Iterator[ImportedSession]:
    """Yield the sessions, the notes on the file with the one that was read when they came up."""
    held: ImportedSession | None = None
    for session in found:
        if held is not None:
            yield held
        held = replace(session, notes=(*notes, *session.notes)) if notes else session
        notes.clear()
    if held is not None:
        yield replace(held, notes=(*held.notes, *notes)) if notes else held


def is_record(value: Payload) -> bool:
    """Return whether an object holds a conversation, and is not a message of one."""
    return (
        opencode.is_export(value)
        or swe_agent.is_trajectory(value)
        or tau_bench.is_run(value)
        or tau_bench.is_simulations(value)
        or ("role" not in value and any(type(value.get(key)) is list for key in LIST_KEYS))
    )


def _read_list(found: list[Any], path: str) -> Iterator[ImportedSession]:
    sample = [fields(element) for element in found[:_LOOKED_AT]]
    if sample and all(tau_bench.is_run(element) for element in sample):
        yield from tau_bench.read_runs(found, path)
    elif sample and all(openhands.is_event(element) for element in sample):
        yield from openhands.read_events(found, path)
    elif sample and all(is_record(element) for element in sample):
        notes: list[Note] = []
        placed = ((f"$[{index}]", element) for index, element in enumerate(found))
        yield from with_notes(read_records(placed, path, notes), notes)
    else:
        yield from _plain(found, path, "")


def _read_object(value: Payload, path: str, source_id: str) -> Iterator[ImportedSession]:
    if opencode.is_export(value):
        yield from opencode.read(value, path)
    elif tau_bench.is_simulations(value):
        yield from tau_bench.read_simulations(value, path)
    elif tau_bench.is_run(value):
        yield from tau_bench.read_runs([value], path)
    elif openhands.is_log(value):
        yield from openhands.read_log(value, path)
    elif openhands.is_event(value):
        yield from openhands.read_events([value], path)
    elif swe_agent.is_trajectory(value):
        yield from swe_agent.read(value, path)
    elif hermes.is_export(value):
        yield from hermes.read_export(value, path)
    elif valued.is_record(value):
        yield from valued.read(value, path, plain.record_id(value) or source_id)
    elif plain.is_message(value):
        yield from _plain([value], path, source_id)
    else:
        yield from _plain(value, path, source_id)


def _plain(value: Any, path: str, source_id: str) -> Iterator[ImportedSession]:
    try:
        yield from plain.read(value, path, source_id)
    except NotReadable as error:
        raise error.at(path) from None

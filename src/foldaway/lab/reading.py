"""Sessions for the lab: from sets of them, and from the files of the agents themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from foldaway.agents.importers import ImportedSession, sessions_in
from foldaway.dialects import Limits, convert_transcript, unpack_stream
from foldaway.errors import FoldawayError, NotReadable
from foldaway.lab.scoring.session import LabSession, Message, OwnSummary, content_text, render_all
from foldaway.transcript import estimate_text


def read_sessions(paths: Sequence[Path]) -> Iterator[LabSession | NotReadable]:
    """Yield the sessions of files and folders, in the order of their names.

    A set is JSON lines, a session a line: `id`, `messages` (OpenAI chat) and if there are any
    `family` or `format`, `project` or `source`, `meta` with `tokens_o200k` and `compactions`.
    Everything else is read as `foldaway import` reads it. What is none of these is yielded as its
    `NotReadable`.
    """
    for path in paths:
        sets = sorted(filter(_is_set, path.rglob("*.jsonl*") if path.is_dir() else [path]))
        for one in sets:
            yield from _set(one)
        if path not in sets:
            yield from map(lab_session, _require_whole(sessions_in(path, without=frozenset(sets))))


def _is_set(path: Path) -> bool:
    """Return whether the first line of a file is a session."""
    try:
        if not path.is_file():  # a pipe would be waited for
            return False
        with path.open("rb") as file:
            return _is_record(json.loads(next(Limits().read_lines(unpack_stream(file)), b"")))
    except (OSError, EOFError, ValueError, RecursionError):
        return False


def _is_record(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    record = cast("dict[str, Any]", value)
    rows: Any = record.get("messages")
    return isinstance(record.get("id"), str) and isinstance(rows, list) and rows != []


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(cast("dict[str, Any]", value).get("role"), str)


def _set(path: Path) -> Iterator[LabSession | NotReadable]:
    skipped: dict[int, str] = {}
    try:
        with path.open("rb") as file:
            lines = Limits().read_lines(unpack_stream(file), skipped.__setitem__)
            for number, line in enumerate(lines, 1):
                where = f"{path} line {number}"
                if number in skipped:
                    yield NotReadable(skipped[number], where=where)
                else:
                    yield _record(where, line)
    except (OSError, EOFError) as error:
        yield NotReadable(
            f"ends early ({type(error).__name__})", where=str(path), remedy="check the file"
        )


def _record(where: str, line: bytes) -> LabSession | NotReadable:
    try:
        value: Any = json.loads(line)
    except ValueError:
        return NotReadable("is not JSON", where=where, remedy="mend or delete the line")
    if not _is_record(value):
        return NotReadable(
            "is not a session", where=where, remedy="each line needs `id` and `messages`"
        )
    record = cast("dict[str, Any]", value)
    messages = cast("list[Message]", record["messages"])
    if not all(map(_is_message, messages)):
        return NotReadable(
            "holds something that is no message", where=where, remedy="each needs a `role`"
        )
    meta = cast("dict[str, Any]", record.get("meta") or {})
    return LabSession(
        id=record["id"],
        family=str(record.get("family") or record.get("format") or "sessions"),
        project=str(record.get("project") or _repository(str(record.get("source") or ""))),
        messages=messages,
        tokens=int(meta.get("tokens_o200k") or estimate_text(render_all(messages))),
        own=read_own_summaries(meta),
    )


def read_own_summaries(meta: Mapping[str, Any]) -> tuple[OwnSummary, ...]:
    """Return the compactions that the notes on a session name."""
    rows = cast("list[dict[str, Any]]", meta.get("compactions") or [])
    return tuple(OwnSummary(int(row["at"]), str(row.get("summary") or "")) for row in rows)


def _repository(source: str) -> str:
    """Return the repository of a source such as `github:owner/name:branch:path`."""
    parts = source.split(":")
    return parts[1] if len(parts) > 1 else source


def _require_whole(
    found: Iterator[ImportedSession | NotReadable],
) -> Iterator[ImportedSession | NotReadable]:
    for one in found:
        if isinstance(one, NotReadable) or not one.is_partial:
            yield one


def lab_session(found: ImportedSession | NotReadable) -> LabSession | NotReadable:
    """Return a session of another agent as the lab reads it; `NotReadable` if it cannot be."""
    if isinstance(found, NotReadable):
        return found
    try:
        made = convert_transcript(found.transcript, "openai-chat").messages
    except FoldawayError as error:
        return NotReadable(str(error), where=found.path, remedy="see `foldaway check`")
    messages = cast("list[Message]", made if isinstance(made, list) else made["messages"])
    same = len(messages) == len(found.transcript.messages)
    own = [OwnSummary(at, content_text(messages[at])) for at in found.summaries] if same else []
    return LabSession(
        id=f"{found.agent}/{found.source_id}",
        family=found.agent,
        project=found.cwd or str(Path(found.path).parent),
        messages=messages,
        tokens=estimate_text(render_all(messages)),
        own=tuple(own),
    )
